"""Preparation of the kernels of paths."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.chains import arm
from support.robots import six_joint_arm

import ik_service.arm.compilation as compiling
from ik_service.kinematics.tree import KinematicTree
from ik_service.paths.preparation import PathKernels

# A path to a given end that comes to a limit, so that ways are looked for from both sides; and
# one that leaves the reach from any start.
PATHS = """
import numpy as np
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.paths.preparation import PathKernels
from ik_service.solvers.all_solutions.exploration import find_all
from ik_service.solvers.loop.search import solve
from ik_service.paths.search.problem import project_rows, row_errors
from ik_service.paths.search.beam import grow
from ik_service.paths.search.smoothing import null_spaces, solve_in_null_spaces
from ik_service.paths.search.beam import join, select
KERNELS = (find_all, solve, project_rows, row_errors, grow, null_spaces, solve_in_null_spaces,
           join, select)
chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
PathKernels(chain).warm_up()
before = [len(kernel.overloads) for kernel in KERNELS]
home = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
targets = np.tile(chain.forward(home), (60, 1, 1))
targets[:, 2, 3] += np.linspace(0.0, 0.5, 60)
iks.solve_path(chain, targets)
iks.solve_path(chain, targets[:20], home, end=home)
print(before, [len(kernel.overloads) for kernel in KERNELS])
"""


@pytest.mark.parametrize('kind', ['chain', 'tree'])
def test_prepared_kernels_are_recognised(kind):
    chain = arm('panda') if kind == 'chain' else KinematicTree.of_chain(arm('panda'))
    kernels = PathKernels(chain)
    kernels.warm_up()
    assert kernels.compiled
    assert kernels.cached


def test_the_elimination_is_compiled_for_arms_that_need_it():
    assert not PathKernels(arm('ur5e')).eliminates
    assert PathKernels(arm('ur5e'), eliminates=True).eliminates
    kernels = PathKernels(six_joint_arm('any'))
    assert kernels.eliminates
    kernels.warm_up()
    assert kernels.compiled
    assert kernels.cached


def test_nothing_is_left_to_compile():
    answer = subprocess.run([sys.executable, '-c', PATHS], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == f'{[1] * 9} {[1] * 9}'


def test_compiler_takes_them(monkeypatch):
    """What is prepared needs no other process."""
    kernels = PathKernels(arm('ur5e'))
    kernels.warm_up()
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    compiling.Compiler(pytest.fail).prepare(kernels)


PROGRAM = """
import gc
import numpy as np
from numba.core.dispatcher import Dispatcher
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.paths.search.path_solver import PathOptions
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings
from ik_service.paths.preparation import CartesianPathKernels
from ik_service.paths.cartesian_path import JumpThresholds
from ik_service.paths.timing.timing import time_path

def kernels():
    found = [item for item in gc.get_objects() if isinstance(item, Dispatcher)]
    return {(item.py_func.__qualname__, key) for item in found for key in item.overloads}

chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
CartesianPathKernels(chain).warm_up()
before = kernels()
home = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
ends = np.repeat(chain.forward(home)[None], 2, axis=0)
ends[0, 1, 3] += 0.1
options = PathOptions(timeout=600.0)
settings = CartesianSettings(0.01, JumpThresholds(), options, np.eye(4), chain.velocity)
path = cartesian_path(chain, home, ends, settings)
assert path.fraction == 1.0
time_path(chain, path.q, targets=path.poses, cartesian_speed=0.1, link='panda_link5')
time_path(chain, path.q, targets=path.poses, jerk=50.0)
print(len(before), sorted(name for name, _ in kernels() - before))
"""


def test_the_first_path_needs_no_further_kernel():
    run = subprocess.run(
        [sys.executable, '-c', PROGRAM], check=True, capture_output=True, text=True, timeout=600.0
    )
    count, _, others = run.stdout.partition(' ')
    assert int(count) > 10
    assert others.strip() == '[]'
