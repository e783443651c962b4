"""
Entry points of the console programs, with the error messages and exit codes that they share.

Each takes the command line after its name, that of the process by default, and returns the exit
code: 130 for Ctrl-C, others as its ``--help`` says. A program's own modules take up to two seconds
to import. That happens in :func:`_run`, where Ctrl-C and errors are already handled; this module
imports next to nothing.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
import gc
from importlib import import_module
from io import TextIOWrapper
import os
import signal
import sys
from threading import main_thread, Timer
from types import FrameType

from ik_service.common.files import removed_folder
from ik_service.common.streams import open_closed_streams
from ik_service.exceptions import IkServiceError

_AGAIN = 0.02  # until an interrupt that was dropped is raised again [s]


class _Interrupt(KeyboardInterrupt):
    """
    Interrupt that leaves the exit code to the program.

    Where a plain KeyboardInterrupt has left ``exec`` or ``eval`` of a text, which dataclasses and
    named tuples use, a program run by ``python -m`` ends by SIGINT, although it was handled.
    """


def catch_interrupts() -> None:
    """Let SIGINT, unless it is ignored, and SIGTERM raise a KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    sys.unraisablehook = _report_dropped


def _report_dropped(dropped: sys.UnraisableHookArgs) -> None:
    """
    Report exceptions that Python drops, but raise interrupts again.

    Python prints and forgets an exception that leaves a callback of its own, such as those that
    run while modules are imported.
    """
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        number = signal.SIGTERM if ignored else signal.SIGINT
        # A signal, as that ends what the main thread waits in.
        again = Timer(_AGAIN, signal.pthread_kill, (main_thread().ident, number))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(dropped)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise _Interrupt


_INTERRUPTED = 130  # exit code of a program that SIGINT has ended: 128 + 2
_BROKEN_PIPE = 141  # likewise SIGPIPE: 128 + 13


def _run(
    name: str,
    module: str,
    arguments: Sequence[str] | None = None,
    failure: int = 1,
    hint: bool = False,
) -> int:
    """Call ``main`` of a program's module; turn errors into a message and an exit code."""
    atexit.register(gc.freeze)  # else Python takes 0.1 s to look for garbage before it ends
    catch_interrupts()
    open_closed_streams()
    if isinstance(sys.stdout, TextIOWrapper) and (
        sys.stdout.errors == 'strict' or sys.stdout.encoding != 'utf-8'
    ):
        sys.stdout.reconfigure(errors='backslashreplace')  # as on stderr
    try:
        program = import_module(module)
        code: int = program.main(sys.argv[1:] if arguments is None else arguments)
        print(end='', flush=True)  # also without an output, which may be closed
    except KeyboardInterrupt:
        print('\nstopped', file=sys.stderr)
        return _INTERRUPTED
    except IkServiceError as error:
        more = f'\n({name} --help explains it, with examples)' if hint else ''
        print(f'{name}: {error}{more}', file=sys.stderr)
        return max(failure, error.exit_code)
    except OSError as error:
        with suppress(OSError, AttributeError):  # it is closed; else Python reports it once more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader of the output has gone
            return _BROKEN_PIPE
        print(f'{name}: {removed_folder(error) or error}', file=sys.stderr)
        return failure
    return code


ik_conformance = partial(_run, 'ik_conformance', 'ik_service.extras.conformance.main', failure=2)
"""Checks of any compute_ik and compute_fk server on the ROS graph."""

ik_place = partial(_run, 'ik_place', 'ik_service.extras.reach.place.main', failure=2, hint=True)
"""Places for the base of an arm from which it reaches given poses."""

ik_ros = partial(_run, 'ik_ros', 'ik_service.cli.ros')
"""Calls of ROS 2 from a terminal, in the words of ros2cli."""

ik_solve = partial(_run, 'ik_solve', 'ik_service.cli.solve.main', failure=2, hint=True)
"""The inverse kinematics of one pose, for any arm."""

ik_study = partial(_run, 'ik_study', 'ik_service.extras.studies.program')
"""Figures of the methods, and the numbers behind them."""

ik_train = partial(_run, 'ik_train', 'ik_service.extras.learning.program')
"""Training of learned starting postures for an arm."""


def ik_demo(arguments: Sequence[str] | None = None) -> int:
    """
    Run IK node, simulated arm, page and client in one terminal.

    :returns: the exit code: 0 every target was reached or, without ``--once``, Ctrl-C; 1 a failure
        or a target that was not reached; 2 a wrong command; 130 Ctrl-C before the end of
        ``--once``.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    code = _run('ik_demo', 'ik_service.cli.demo.main', arguments)
    endless = '--once' not in arguments  # until Ctrl-C, which is no failure then
    return 0 if code == _INTERRUPTED and endless else code


def ik_teleop(arguments: Sequence[str] | None = None) -> int:
    """Drive an arm by hand; Ctrl-C, after which the terminal is restored, is no failure."""
    code = _run('ik_teleop', 'ik_service.cli.teleop', arguments)
    return 0 if code == _INTERRUPTED else code


if __name__ == '__main__':  # python -m ik_service.cli.programs ik_solve …
    sys.exit(globals()[sys.argv[1]](sys.argv[2:]))
