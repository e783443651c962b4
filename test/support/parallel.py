"""
Parallel runs with pytest-xdist: the order of the files, and tests that need the machine alone.

Workers take a file at a time. Files whose tests wait for other processes (``dds``) lie evenly
among those that compute, so that both kinds run at the same time, and none of them is last: a long
file that came last would keep one worker busy while the others have nothing left to do. Files that
need the browser are far from each other: only one of them runs at a time, and the worker of a
second one would wait.

A test marked ``alone`` measures time or load. It holds a lock that all ``dds`` tests of the run
share, so it starts when they have ended, and they wait for it. A second lock, the door, is held
while a test waits for the first one: without it an ``alone`` test would starve while the others
take turns. Files with nothing but such tests come among the first, and before and beside them some
that compute, so that kernels are compiled by then and no worker waits. Tests that compute have a
lower priority, so they disturb nobody; where a process may not get its priority back, they hold
the lock as well. Those marked ``alone(quiet=True)`` keep them out, too, by another pair of locks.
"""

from contextlib import contextmanager, ExitStack, nullcontext, suppress
import fcntl
from functools import cache
import gc
import os
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

_COMPILE = (
    """
import sys
import ik_service as iks
from ik_service.arm.compilation import BatchKernels, CartesianPathKernels
from ik_service.common.resources import urdf_path
chain = iks.Robot.from_urdf(urdf_path('panda')).chain()
compiled = [CartesianPathKernels(chain), BatchKernels(iks.Solver(chain))]
if 'all' in sys.argv:
    compiled += [iks.Solver(chain, name) for name in iks.solver_names()]
    compiled += [BatchKernels(iks.Solver(chain, 'transpose'))]
for kernels in compiled:
    kernels.cached or kernels.warm_up()
""",
    """
from contextlib import suppress
import sys
import ik_service as iks
from ik_service.collision.world import World, WorldObject
from ik_service.common.resources import urdf_path
from ik_service.exceptions import MissingExtraError
from ik_service.kinematics.tree import KinematicTree
from ik_service.motion.servo import velocity_solver
from ik_service.motion.target_follower import TargetFollower
from ik_service.paths.preparation import PathKernels
robot = iks.Robot.from_urdf(urdf_path('panda'))
with suppress(MissingExtraError):
    world = World().with_object(WorldObject('box', iks.Box((1.0, 1.0, 1.0))))
    iks.CollisionChecker(robot, missing_meshes='skip').with_world(world).contacts({})
velocity_solver.warm_up()
chain = robot.chain('panda_link0', 'panda_link8')
tree = KinematicTree.of_chain(chain)
iks.Solver(tree).warm_up()
if 'all' in sys.argv:
    PathKernels(tree).warm_up()
    poses = tree.forward(tree.middle)
    iks.solve_ik_batch(tree, {tip: T[None] for tip, T in poses.items()})
# What this shares with the first program is compiled there by now.
TargetFollower(iks.Solver(chain), rate=100.0)
""",
)
"""
Programs that compile once what several workers and their nodes would compile at once; for a run of
all tests every method. In one process each after the first takes half the time.
"""

_FOLDER = 'folder_of_locks'
_END = 0.8
"""Share of the order behind which no file with ``dds`` tests comes."""
_LOWER = 10
"""By how much the priority of tests that compute is lower (nice)."""

_folder = pytest.StashKey[TemporaryDirectory]()
_compilers = pytest.StashKey[list[subprocess.Popen]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Sort the files; the order inside a file stays."""
    files = {item.path: None for item in items}
    some = {
        marker: {item.path for item in items if item.get_closest_marker(marker)}
        for marker in ('alone', 'browser', 'dds')
    }
    others = {item.path for item in items if not item.get_closest_marker('alone')}
    alone = [path for path in files if path not in others]
    waiting = [path for path in files if path in some['dds'] & others - some['browser']]
    browser = [path for path in files if path in some['browser']]
    computing = [path for path in files if path in others - some['dds'] - some['browser']]
    beside = len(computing) // 3 if alone else 0
    waiting = _spread(waiting, browser)
    first, then = computing[: beside // 2], computing[beside // 2 : beside]
    order = [*first, *alone, *then, *_spread(computing[beside:], waiting, _END)]
    places = {path: place for place, path in enumerate(order)}
    items.sort(key=lambda item: places[item.path])


def _spread(some, others, end=1.0):
    """Return a list of some with the others at even distances up to a share of it."""
    result, count = list(some), len(some) + len(others)
    for number, other in enumerate(others):
        result.insert(int(end * number * count / len(others)), other)
    return result


@contextmanager
def turn(folder, alone, room='room'):
    """
    Wait until a test may run, and keep out those that must not run beside it.

    The locks are in a folder, for each room that tests share; ``alone`` no other test may run.
    """
    with ExitStack() as held:
        with _locked(folder / f'{room} door', fcntl.LOCK_EX):
            held.enter_context(_locked(folder / room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield


@contextmanager
def _locked(path, mode):
    with path.open('ab') as file:
        fcntl.flock(file, mode)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a worker where the locks of this run are; with the first, start to compile kernels."""
    config, stash = node.config, node.config.stash
    if _folder not in stash:
        every = config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword
        words = ['all'] if every else []
        stash[_compilers] = [
            subprocess.Popen([sys.executable, '-c', code, *words], stdout=subprocess.DEVNULL)
            for code in _COMPILE
        ]
        for compiler in stash[_compilers]:
            config.add_cleanup(compiler.kill)
        stash[_folder] = TemporaryDirectory(prefix='ik_service_tests_')
        config.add_cleanup(stash[_folder].cleanup)
    node.workerinput[_FOLDER] = stash[_folder].name


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without looking for garbage among ten thousand tests again and again."""
    folder = getattr(session.config, 'workerinput', {}).get(_FOLDER)
    gc.disable()
    try:
        with _after_the_first(Path(folder)) if folder else nullcontext():
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def _after_the_first(folder):
    """Wait for the worker that collects first: what it makes of the test files is for all."""
    collected = folder / 'collected'
    with _locked(folder / 'collection', fcntl.LOCK_EX):
        if not collected.exists():
            yield
            collected.touch()
            return
    yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node):
    """Wait for the kernels; tests begin when all workers have collected."""
    codes = [compiler.wait() for compiler in node.config.stash[_compilers]]
    assert not any(codes), codes


@contextmanager
def _lower_priority():
    """Let others go first, for the time of a ``with`` block in this thread."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, min(before + _LOWER, 19))
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


@cache
def _may_have_lower_priority():
    """Whether a thread with a lower priority may get its own back."""
    if sys.platform != 'linux':  # there it is that of the process
        return False
    own, allowed = os.getpriority(os.PRIO_PROCESS, 0), []

    def attempt():
        with suppress(PermissionError), _lower_priority():
            pass
        allowed.append(os.getpriority(os.PRIO_PROCESS, 0) == own)

    thread = Thread(target=attempt)
    thread.start()
    thread.join()
    return allowed == [True]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Run a test when its turn has come."""
    folder = getattr(item.config, 'workerinput', {}).get(_FOLDER)
    marks = {mark.name for mark in item.iter_markers()}
    quiet = 'alone' in marks and item.get_closest_marker('alone').kwargs.get('quiet', False)
    if folder is None:  # the only worker
        return (yield)
    if not marks & {'alone', 'dds'} and _may_have_lower_priority():
        with turn(Path(folder), False, 'quiet'), _lower_priority():
            return (yield)
    with turn(Path(folder), 'alone' in marks):
        if not quiet:
            return (yield)
        with turn(Path(folder), True, 'quiet'):
            return (yield)
