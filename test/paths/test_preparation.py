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


def test_compiler_takes_them(monkeypatch):
    """What is prepared needs no other process."""
    kernels = PathKernels(arm('ur5e'))
    kernels.warm_up()
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    compiling.Compiler(pytest.fail).prepare(kernels)


PROGRAM = """
import gc, sys
import numpy as np
from numba.core.dispatcher import Dispatcher
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.paths import preparation
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings, JumpThresholds
from ik_service.paths.timing.timing import time_path

def kernels():
    found = [item for item in gc.get_objects() if isinstance(item, Dispatcher)]
    return {(item.py_func.__qualname__, key) for item in found for key in item.overloads}

home = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
options = iks.PathOptions(timeout=600.0)

def PathKernels():
    # To a given end by a limit, so that ways are looked for from both sides; and out of reach.
    targets = np.tile(chain.forward(home), (60, 1, 1))
    targets[:, 2, 3] += np.linspace(0.0, 0.5, 60)
    iks.solve_path(chain, targets, options=options)
    iks.solve_path(chain, targets[:20], home, options, end=home)

def CartesianPathKernels():
    ends = np.repeat(chain.forward(home)[None], 2, axis=0)
    ends[0, 1, 3] += 0.1
    settings = CartesianSettings(0.01, JumpThresholds(), options, np.eye(4), chain.velocity)
    path = cartesian_path(chain, home, ends, settings)
    assert path.fraction == 1.0
    time_path(chain, path.q, targets=path.poses, cartesian_speed=0.1, link='panda_link5')
    time_path(chain, path.q, targets=path.poses, jerk=50.0)

getattr(preparation, sys.argv[1])(chain).warm_up()
before = kernels()
globals()[sys.argv[1]]()
print(len(before), sorted(name for name, _ in kernels() - before))
"""


@pytest.mark.parametrize('kernels', ['PathKernels', 'CartesianPathKernels'])
def test_nothing_is_left_to_compile(kernels):
    run = subprocess.run(
        [sys.executable, '-c', PROGRAM, kernels], check=True, capture_output=True, text=True
    )
    count, _, others = run.stdout.partition(' ')
    assert int(count) > 8
    assert others.strip() == '[]'
