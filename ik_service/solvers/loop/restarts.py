"""Random starts of the searches after the first."""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inner_kernel, varied_kernel
from ik_service.kinematics.joint_space import FARTHEST_LIMIT, has_lower, has_upper

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / 9007199254740992.0  # 2⁻⁵³
# How far a variable without limits is spread about the seed [rad] or [m].
_SPREAD = math.pi


@inner_kernel
def uniform(state):
    """
    Return the next random number in [0, 1): splitmix64 (Steele, Lea, Flood 2014).

    :param state: (1,) int64, any value; its bits are those of an unsigned number.
    """
    z = np.uint64(state[0]) + _INCREMENT
    state[0] = np.int64(z)
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * _UNIT


@varied_kernel
def random_start(chain, settings, work, radius):
    """
    Write a random posture within the limits to ``work.q``.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param radius: largest distance of each variable from the seed [rad] or [m].
    """
    for i in range(work.q.shape[0]):
        work.q[i] = random_position(chain, work, radius, i)


@inner_kernel
def random_position(chain, work, radius, i):
    """
    Return a random position of a variable within its limits.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param radius: largest distance from the seed [rad] or [m].
    :param i: index of the variable.
    """
    start = work.start[i]
    lower = max(chain.lower[i], start - radius)
    upper = min(chain.upper[i], start + radius)
    if not has_lower(lower):
        lower = max(lower, min(start, upper) - _SPREAD)
    if not has_upper(upper):
        upper = min(upper, max(start, lower) + _SPREAD)
    if upper - lower > 2.0 * FARTHEST_LIMIT:  # one limit only, and a start far from it
        lower = max(lower, start - _SPREAD)
    return lower + uniform(work.random) * (upper - lower)
