"""
Parallel runs with pytest-xdist: the order of the files, and tests that need the machine alone.

Workers take a file at a time. The files whose tests wait for other processes come first: a long
file that came last would keep one worker busy while the others have nothing left to do. Among
them, files that need the browser are far from each other: only one of them runs at a time, and
the worker of a second one would wait.

A test marked ``alone`` measures time or load. It holds a lock that all other tests of the run
share, so it starts when they have ended, and they wait for it. A second lock, the door, is held
while a test waits for the first one: without it an ``alone`` test would starve while the others
take turns.
"""

from __future__ import annotations

from contextlib import contextmanager, ExitStack
import fcntl
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory

import pytest

_COMPILE = (
    """
from ik_service.trajectory import compilation
compilation.main()
""",
    """
from contextlib import suppress
import runpy
import sys
import ik_service as iks
from ik_service.collision.world import World, WorldObject
from ik_service.common.resources import urdf_path
from ik_service.exceptions import MissingExtraError
from ik_service.motion.servo import velocity_solver
from ik_service.motion.target_follower import TargetFollower
robot = iks.Robot.from_urdf(urdf_path('panda'))
with suppress(MissingExtraError):
    world = World().with_object(WorldObject('box', iks.Box((1.0, 1.0, 1.0))))
    iks.CollisionChecker(robot, missing_meshes='skip').with_world(world).contacts({})
velocity_solver.warm_up()
for kind in ('--tree', '--batch'):
    sys.argv = ['', kind, 'levenberg_marquardt']
    runpy.run_module('ik_service.solvers.compilation', run_name='__main__')
# What this shares with the first program is compiled there by now.
TargetFollower(iks.Solver(robot.chain('panda_link0', 'panda_link8')), rate=100.0)
""",
)
"""Programs that compile once what several workers and their nodes would compile at once."""

_FOLDER = 'folder_of_locks'
_folder = pytest.StashKey[TemporaryDirectory]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Bring files with ``dds`` tests to the front; the order inside a file stays."""
    marked = {
        marker: dict.fromkeys(item.path for item in items if item.get_closest_marker(marker))
        for marker in ('dds', 'browser')
    }
    files = [path for path in {item.path: None for item in items} if path not in marked['browser']]
    files.sort(key=lambda path: path not in marked['dds'])
    distance = 1 + len(marked['dds']) // max(len(marked['browser']), 1)
    for number, path in enumerate(marked['browser']):
        files.insert(number * distance, path)
    places = {path: place for place, path in enumerate(files)}
    items.sort(key=lambda item: places[item.path])


@contextmanager
def turn(folder, alone):
    """
    Wait until a test may run, and keep out those that must not run beside it.

    :param folder: where the locks are, the same for all workers of a run.
    :param alone: whether no other test may run meanwhile.
    """
    with ExitStack() as held:
        with _locked(folder / 'door', fcntl.LOCK_EX):
            held.enter_context(_locked(folder / 'room', fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield


@contextmanager
def _locked(path, mode):
    with path.open('ab') as file:
        fcntl.flock(file, mode)
        yield


def _compile():
    """Compile slow kernels, with as many processes as there are programs."""
    quiet = {'stdout': subprocess.DEVNULL}
    compilers = [subprocess.Popen([sys.executable, '-c', code], **quiet) for code in _COMPILE]
    assert [compiler.wait() for compiler in compilers] == [0] * len(compilers)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a worker where the locks of this run are; before the first, compile slow kernels."""
    stash = node.config.stash
    if _folder not in stash:
        _compile()
        stash[_folder] = TemporaryDirectory(prefix='ik_service_tests_')
        node.config.add_cleanup(stash[_folder].cleanup)
    node.workerinput[_FOLDER] = stash[_folder].name


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Run a test when its turn has come."""
    folder = getattr(item.config, 'workerinput', {}).get(_FOLDER)
    if folder is None:  # the only worker
        return (yield)
    with turn(Path(folder), alone=item.get_closest_marker('alone') is not None):
        return (yield)
