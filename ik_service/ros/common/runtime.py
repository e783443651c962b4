"""
Start and end of ROS programs.

The main thread only waits for signals; the program runs in a thread beside it. So SIGINT and
SIGTERM end the process within a second at any moment, also while modules are imported or kernels
are compiled, with exit code 0 and no traceback. This module imports nothing heavy, so that
the signals are caught from the first moment on.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
import gc
from itertools import pairwise
import os
import re
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from ik_service.common.files import file_fault, read_regular, removed_folder
from ik_service.common.resources import NoRosError, require_ros
from ik_service.common.streams import drop_unread_logs, open_closed_streams
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.ros.common.domain import check_domain

if TYPE_CHECKING:
    from rclpy.callback_groups import CallbackGroup
    from rclpy.context import Context
    from rclpy.executors import Executor
    from rclpy.node import Node

    from ik_service.ros.common.stream_executor import StreamExecutor


GRACE = 0.6
"""Time that a program has for its own clean-up after a signal [s], unless it asks for more."""

_POLL_PERIOD = 0.02  # of signals [s]
_AS_PARAMETERS = 'settings are parameters, such as --ros-args -p urdf:=arm.urdf'
_RIGHT = {  # what is right, by what rcl says it cannot read
    'parameter override rule': _AS_PARAMETERS,
    'remap rule': 'a rule is FROM:=TO, such as -r joint_states:=/arm/joint_states or '
    '-r __ns:=/arm; names hold letters, digits and _ between their /, and no digit first',
    'log level': 'it is debug, info, warn, error or fatal',
}
_LOG_FAULT = re.compile(r'log(ging)? directory|\.log for writing')
_LOG_FOLDER = 'has to be a folder that can be written (default: ~/.ros/log)'
_LONGEST_PARAMETERS = 64 * 2**20  # of a parameter file [byte]
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest(threading.Event):
    """
    Event that SIGINT and SIGTERM set.

    :ivar grace: time that the program has for its own clean-up after it is set [s]; may be changed
        while it runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.grace = GRACE


Program = Callable[[StopRequest], 'int | None']


def run(program: Program, name: str = 'ik_service') -> int:
    """
    Run a program until it returns or a signal asks it to end.

    For the main function of a program only, in the main thread: it takes over SIGINT and SIGTERM
    for the rest of the process.

    :param program: called in its own thread with an event that SIGINT and SIGTERM set; it
        returns the exit code (``None`` is 0), soon after the event is set. An
        :class:`~ik_service.exceptions.IkServiceError` is printed as one sentence, with its exit
        code.
    :returns: the exit code. The call does not return when threads that cannot be interrupted are
        still running: the process ends here instead.
    """
    open_closed_streams()
    drop_unread_logs()
    stop = StopRequest()
    finished = threading.Event()
    signals: list[int] = []
    codes: list[int] = []

    def work() -> None:
        codes.append(_guarded(program, stop, name))
        finished.set()

    for number in _SIGNALS:
        # Only this: a handler that takes a lock, as an event does, can meet itself in it.
        signal.signal(number, lambda number, _frame: signals.append(number))
    atexit.register(gc.freeze)  # else Python takes 0.2 s to look for garbage before it ends
    worker = threading.Thread(target=work, name='program', daemon=True)
    worker.start()
    while not finished.wait(_POLL_PERIOD) and not signals:
        pass
    stop.set()
    waited = 0.0
    while (left := stop.grace - waited) > 0.0 and not finished.wait(left):
        waited += left  # more may have been asked for meanwhile
    if not finished.is_set() and stop.grace > GRACE:
        text = f'{name}: ended by force, as its end took longer than {stop.grace:g} s\n'
        with suppress(OSError):  # nobody reads it
            os.write(2, text.encode())
        codes.append(1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # one more must not break the shutdown
    return _leave(codes[0] if codes else 0, worker)


def _guarded(program: Program, stop: StopRequest, name: str) -> int:
    try:
        return program(stop) or 0
    except IkServiceError as error:
        print(f'{name}: {error}', file=sys.stderr)
        return error.exit_code
    except SystemExit as request:  # argparse and friends
        return request.code if isinstance(request.code, int) else int(request.code is not None)
    except BaseException as error:
        if stop.is_set():  # failures during the shutdown are not reported
            return 0
        code, why = _known_cause(error)
        if why:
            print(f'{name}: {why}', file=sys.stderr)
        else:
            traceback.print_exc()
        return code


def _known_cause(error: BaseException) -> tuple[int, str]:
    """Return the exit code, and in one line the cause where the user can help it; else empty."""
    if isinstance(error, ImportError):
        try:
            require_ros()
        except NoRosError as missing:
            return missing.exit_code, str(missing)
    with suppress(ImportError):
        from rclpy.exceptions import ParameterException

        if isinstance(error, ParameterException):  # of a parameter that every ROS node has
            return 2, str(error)
    if _security_enabled() and 'security' in str(error):
        return 1, _refused(error)
    return 1, removed_folder(error)


def _security_enabled() -> bool:
    """Return whether ROS has to protect the messages of this process."""
    return os.environ.get('ROS_SECURITY_ENABLE') == 'true'


def _refused(error: BaseException) -> str:
    """Return the reason of ROS why it cannot protect the process, in one line."""
    reason = ' '.join(str(error).split())
    return f'ROS_SECURITY_ENABLE is true, and without that protection nothing starts: {reason}'


def _leave(code: int, worker: threading.Thread) -> int:
    """Return the code, or end the process here when some thread cannot be interrupted."""
    worker.join(0.05)
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if others:
        # Ending the interpreter under a running compiler thread can crash, and the only thing
        # left to save is the output.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _fault_of(error: Exception, words: Sequence[str]) -> str:
    """Return why ROS cannot read a command line, without the places in its sources."""
    import yaml

    for option, file in pairwise(words):
        if option == '--params-file':
            try:
                yaml.safe_load(read_regular(file, _LONGEST_PARAMETERS).decode())
            except (OSError, ValueError, RecursionError, yaml.YAMLError) as fault:
                return f'{option} {file}: {file_fault(fault)}'
    reason = re.sub(r',? at /\S+:\d+', '', ' '.join(str(error).split()))
    reason = reason.removeprefix('Failed to parse ROS arguments: ')
    if type(error).__name__ == 'UnknownROSArgsError':
        return f'{reason}: no argument of ROS; {_AS_PARAMETERS}'
    for what, right in _RIGHT.items():
        if what in reason:
            return f'{reason.partition(". Error")[0].rstrip(".")}; {right}'
    if 'before ros__parameters' not in reason:
        return reason
    return (  # as most of MoveIt's files
        f"{reason}; a parameter file begins with 'ik_service: {{ros__parameters: …'. Of a MoveIt "
        'configuration the parameters srdf and joint_limits take the files; others are not used'
    )


def name_fault(error: Exception) -> str:
    """Return why rclpy refuses a name: one line, without a place in the sources of ROS."""
    return str(error).splitlines()[0].partition(', at /')[0].rstrip(':')


def begin_ros(words: list[str], context: Context | None = None) -> None:
    """
    Initialise ROS; signals stay as they are.

    :param words: the command line after the program's name.
    :param context: what is initialised; ``None`` for the default.
    :raises ArgumentError: ROS cannot read the command line, or a file that it names; or there is
        something else on it; or ``ROS_DOMAIN_ID`` is no domain; or logs cannot be written.
    """
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    from rclpy.utilities import remove_ros_args

    check_domain()
    try:
        others = remove_ros_args(words)
        if not others:
            no_handlers = SignalHandlerOptions.NO
            rclpy.init(args=words, context=context, signal_handler_options=no_handlers)
    except Exception as error:  # the classes for it are private to rclpy
        if _security_enabled():
            raise IkServiceError(_refused(error)) from error
        if _LOG_FAULT.search(str(error)):
            raise ArgumentError('ROS_LOG_DIR', f'{_LOG_FOLDER}: {name_fault(error)}') from error
        raise ArgumentError('command line', _fault_of(error, words)) from error
    if others:
        raise ArgumentError(
            'command line', f'{others[0]!r} is no argument; {_AS_PARAMETERS}'
        )  # fmt: skip


@contextmanager
def ros(args: list[str] | None = None) -> Iterator[None]:
    """Initialise ROS for a ``with`` block; see :func:`begin_ros`; None stands for ``sys.argv``."""
    import rclpy

    words = sys.argv[1:] if args is None else args
    begin_ros(words)
    try:
        if '--params-file' in words:
            from ik_service.common.shared_parameters import fault_of_files

            if fault := fault_of_files(words):
                raise ArgumentError('command line', fault)
        yield
    finally:
        rclpy.try_shutdown()


@contextmanager
def spinning(*executors: Executor | StreamExecutor) -> Iterator[None]:
    """
    Spin each executor in a thread of its own for the time of a ``with`` block.

    An exception that leaves a callback is printed and the spinning goes on: one bad message must
    not end a node.

    :param executors: the executors; one that is given twice is spun by two threads.
    """
    stopping = threading.Event()
    threads = [
        threading.Thread(target=_spin, args=(executor, stopping), name='spin', daemon=True)
        for executor in executors
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for executor in executors:
            executor.shutdown(timeout_sec=0.1)
        for thread in threads:
            thread.join(0.2)


@contextmanager
def spinning_streams(node: Node, streams: Collection[CallbackGroup]) -> Iterator[StreamExecutor]:
    """
    Spin a node in two threads for the time of a ``with`` block.

    It yields the executor of the streams, which has to be woken for those that come later.

    :param streams: callback groups of subscriptions whose messages come all the time.
    """
    from ik_service.ros.common.partial_executor import partition
    from ik_service.ros.common.stream_executor import StreamExecutor

    listener, (others,) = StreamExecutor(node.context), partition(node, streams)
    others.add_node(node)  # woken by what the node gets later
    with spinning(listener, others), listener.serving(node, streams):
        yield listener


@contextmanager
def spinning_node(node: Node, streams: Collection[CallbackGroup] = ()) -> Iterator[None]:
    """
    Spin a node for the time of a ``with`` block, and destroy it at the end.

    :param streams: callback groups of subscriptions whose messages come all the time; these have a
        thread of their own.
    """
    from ik_service.ros.common.response_retry import retry_dropped_responses

    retry_dropped_responses(node)
    try:
        with spinning_streams(node, streams):
            yield
    finally:
        node.destroy_node()


def know_callers() -> None:
    """
    Tell :mod:`inspect` which file each module is from, so that a first message is logged at once.

    rclpy looks up the file of whoever logs. For the first message ``inspect`` would resolve the
    paths of all modules, which takes 0.05 s.
    """
    import inspect  # rclpy has imported it

    for name, module in sys.modules.copy().items():
        file = getattr(module, '__file__', None)
        if inspect.ismodule(module) and file:
            inspect.modulesbyfile.setdefault(file, name)


def _spin(executor: Executor | StreamExecutor, stopping: threading.Event) -> None:
    while not stopping.is_set():
        try:
            executor.spin()
        except Exception:
            if not stopping.is_set():  # failures during the shutdown are not reported
                traceback.print_exc()
            stopping.wait(0.1)  # a fault that stays must not fill the disk


_TEXT = """usage: {name} [--ros-args [-p PARAMETER:=VALUE] [--params-file FILE] [-r FROM:=TO] …]

{summary}

It runs until Ctrl-C. Its settings are ROS parameters: docs/{page} tells about
them, and while it runs so do ros2 param list and ros2 param describe."""


def shows_help(
    arguments: Sequence[str] | None, name: str, summary: str, page: str = 'node.md'
) -> bool:
    """Print the help of a program if its command line asks for that; return whether it does."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    own = words[: words.index('--ros-args')] if '--ros-args' in words else words
    if not {'-h', '--help'} & {*own}:
        return False
    try:
        print(_TEXT.format(name=name, summary=summary, page=page), flush=True)
    except OSError:  # nobody reads it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True
