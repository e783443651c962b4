"""Preparation of Cartesian paths: the first one compiles and loads no further kernel."""

from __future__ import annotations

import subprocess
import sys

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
