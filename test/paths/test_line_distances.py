"""How far timed motions are from their lines, beside a fine sample of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.chains import arm, snake

from ik_service.paths.cartesian_path import (
    cartesian_path,
    CartesianSettings,
    distance_beside_lines,
    JumpThresholds,
)
from ik_service.paths.search.path_solver import PathOptions
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import timing_limits

CHAINS = {
    'panda': lambda: arm('panda'),
    'ur5e': lambda: arm('ur5e'),
    'snake': lambda: snake(7, 1),
}


@pytest.mark.parametrize('name', CHAINS)
def test_no_fine_sample_is_farther_from_the_lines_than_is_told(name):
    chain = CHAINS[name]()
    told = [beside for beside in (compared(chain, k) for k in range(4)) if beside > 0.0]
    assert told


def compared(chain, seed):
    """Compare both for a path with two corners; returns what is told [m]."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(np.maximum(chain.lower, -2.0), np.minimum(chain.upper, 2.0))
    ends = np.repeat(chain.forward(q)[None], 2, axis=0)
    ends[:, :3, 3] += np.cumsum(rng.uniform(-0.1, 0.1, (2, 3)), axis=0)
    speeds, point = timing_limits(chain, None).velocity, np.eye(4)
    point[2, 3] = 0.05
    options = PathOptions(timeout=60.0)
    settings = CartesianSettings(0.05, JumpThresholds(), options, point, speeds)
    path = cartesian_path(chain, q, ends @ point, settings)
    if len(path.q) < 2:
        return 0.0
    trajectory = time_path(chain, path.q, targets=path.poses)
    told = distance_beside_lines(chain, trajectory, point)
    times = np.linspace(0.0, trajectory.duration, 20 * len(trajectory))
    postures = [trajectory.at(t)[0] for t in times]
    there = np.array([(chain.forward(posture) @ point)[:3, 3] for posture in postures])
    corners = (path.poses @ point)[:, :3, 3]
    least = np.full(len(there), np.inf)
    for a, b in pairwise(corners):
        part = np.clip((there - a) @ (b - a) / max((b - a) @ (b - a), 1e-24), 0.0, 1.0)
        least = np.minimum(least, np.linalg.norm(there - a - part[:, None] * (b - a), axis=1))
    assert least.max() <= 1.05 * told + 1e-6
    return told
