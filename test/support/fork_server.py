"""
Programs that are forked from a process which has imported what they import.

Importing takes a node longer than all else until it is ready, and hundreds of nodes are started in
a run of the tests. A forked program is like any other: it has a session, an environment and a
command line of its own, and its module runs as ``__main__``.
"""

from __future__ import annotations

from contextlib import suppress
import ctypes
import gc
from importlib import import_module
from importlib.util import find_spec
import json
import os
from pathlib import Path
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

from ik_service.common.child_process import ChildProcess

_IMPORTED = (
    'ik_service.ros.node.ik_node',
    'ik_service.ros.sim.simulated_arm_node',
    'ik_service.extras.planning.ros.capability',
    'coal',
    'ompl',
    'tf2_msgs.msg',
)
_LARGEST = 1_000_000
"""Largest request: a module, its arguments, its environment and its folder [bytes]."""
_READING = 0.9
"""Time until what a process has written is read [s], unless processes that it started live on."""
_SET_PDEATHSIG = 1
_servers: list[_Server] = []


class ForkedProcess(ChildProcess):
    """As its base, but forked from a server, of which each process of the tests has one."""

    def _started(self, module, arguments, environment):
        if not _servers:
            _servers.append(_Server())
        return _servers[0].start(module, [*arguments], {**environment})


class _Forked:
    """What a child process uses of ``subprocess.Popen``."""

    def __init__(self, pid):
        self.pid, self.stdout, self.code = pid, None, None
        self.ended, self.ended_at = threading.Event(), 0.0

    @property
    def returncode(self):
        """The exit code once the output has been read."""
        read = self.stdout.closed or time.monotonic() > self.ended_at + _READING
        return self.code if self.ended.is_set() and read else None

    def wait(self, timeout=None):
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self.code


class _Server:
    """The process that forks, as its parent sees it."""

    def __init__(self):
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn, self._news = threading.Lock(), threading.Condition()
        self._last, self._running = None, {}
        with theirs:
            words = [sys.executable, __file__, str(theirs.fileno()), str(os.getpid())]
            environment = {**os.environ, 'PYTHONUNBUFFERED': '1'}
            self._process = subprocess.Popen(
                words,
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        threading.Thread(target=self._read, name='fork server', daemon=True).start()

    def start(self, module, arguments, environment):
        request = json.dumps([module, arguments, environment, os.getcwd()]).encode()
        ours, theirs = os.pipe()
        with self._turn, self._news:
            self._last = None
            socket.send_fds(self._requests, [request], [theirs])
            os.close(theirs)
            assert self._news.wait_for(lambda: self._last, 120.0), 'nothing was forked'
            self._last.stdout = os.fdopen(ours, encoding='utf-8', errors='replace')
            return self._last

    def _read(self):
        while text := self._requests.recv(_LARGEST):
            pid, code = json.loads(text)
            with self._news:
                if code is None:
                    self._last = self._running[pid] = _Forked(pid)
                    self._news.notify_all()
                else:
                    ended = self._running.pop(pid)
                    ended.code, ended.ended_at = code, time.monotonic()
                    ended.ended.set()


def _serve(requests):
    """Fork for each request; return it in the process that was forked."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            woken.recv(1000)
            _tell_ends(requests)
        if requests in ready:
            text, (output,), _, _ = socket.recv_fds(requests, _LARGEST, 1)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for end in (woken, waking, requests):
                    end.close()
                return json.loads(text), output
            os.close(output)
            requests.send(json.dumps([pid, None]).encode())


def _tell_ends(requests):
    """Report the exit codes of all that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        requests.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())


def _die_with(parent):
    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit()


def _become(arguments, environment, folder, output):
    """Make this process what it were had it been started."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments


def _run(module):
    """Run a module; return the exit code."""
    try:
        runpy.run_module(module, run_name='__main__', alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _load_interfaces():
    """Load the libraries of all types of messages that have been imported."""
    from rosidl_generator_py import import_type_support

    kinds = ('_msgs.msg', '_srvs.srv', '_msgs.srv', '_msgs.action', '_interfaces.msg')
    for name in [name for name in sys.modules if name.endswith(kinds)]:
        import_type_support(name.partition('.')[0])


def _load_kernels():
    """Load the kernels with which a node begins, where they are compiled."""
    from ik_service.arm.compilation import BatchKernels, CartesianPathKernels, Compiler
    from ik_service.collision.checker import CollisionChecker
    from ik_service.common.resources import urdf_path
    from ik_service.exceptions import MissingExtraError
    from ik_service.kinematics.tree import KinematicTree
    from ik_service.motion import target_follower
    from ik_service.motion.servo import velocity_solver
    from ik_service.paths.timing import clock_rates
    from ik_service.robot import Robot
    from ik_service.ros.common.runtime import know_callers
    from ik_service.solvers.solver import Solver

    robot = Robot.from_urdf(urdf_path('panda'))
    chain = robot.chain('panda_link0', 'panda_hand_tcp')
    solver, several = Solver(chain), Solver(KinematicTree.of_chain(chain))
    prepared = solver, several, BatchKernels(solver), CartesianPathKernels(chain)
    if all(kernels.cached for kernels in prepared):
        for kernels in prepared:
            kernels.warm_up()
        velocity_solver.warm_up()
        target_follower.warm_up()
        clock_rates.warm_up()
        assert robot.groups  # reads those that are known
        Compiler(print).begin(solver.name)  # finds that nothing is to be compiled
        know_callers()
        with suppress(MissingExtraError):
            CollisionChecker(robot)
    gc.freeze()


if __name__ == '__main__':
    _die_with(int(sys.argv[2]))
    sys.path[0] = os.getcwd()  # as with python -m
    sys.path.append(str(Path(__file__).parents[1]))  # for programs of the tests
    if find_spec('rclpy'):
        for name in _IMPORTED:
            with suppress(ImportError):  # of an extra
                import_module(name)
        _load_interfaces()
        _load_kernels()
    server = os.getpid()
    (module, *request), output = _serve(socket.socket(fileno=int(sys.argv[1])))
    _die_with(server)
    _become(*request, output)
    code = _run(module)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)  # ROS's libraries, imported before a fork, crash as they are unloaded behind it
