"""
Chain, settings of the loop and workspace of a solve, packed into few arrays.

Every array that a kernel takes costs Python time to hand over, so a problem has few of them.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import varied_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import ChainArrays
from ik_service.solvers.loop.fields import Settings, Workspace
from ik_service.solvers.loop.layout import floats, Layout, per_joint, places


class Problem(NamedTuple):
    """
    Arrays of a problem, as Python passes them to a kernel.

    :ivar floats: all fields of a size that does not depend on the chain.
    :ivar integers: likewise, int64.
    :ivar vectors: (…, n) all fields with a number for each variable [rad] or [m].
    :ivar sixes: (…, 6) all fields with six numbers in a row.
    :ivar joints: (m, 8), see :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :ivar variables: (m,) int64, see :class:`~ik_service.kinematics.kernels.ChainArrays`.
    """

    floats: np.ndarray
    integers: np.ndarray
    vectors: np.ndarray
    sixes: np.ndarray
    joints: np.ndarray
    variables: np.ndarray


_layout = Layout(
    {
        ChainArrays: {
            'base': floats(12),
            'joints': 'problem.joints',
            'variables': 'problem.variables',
            'tip': floats(2),
            'lower': per_joint(),
            'upper': per_joint(),
            'turn': per_joint(),
            'reach': floats(4),
        },
        Settings: places(Settings),
        Workspace: places(Workspace),
    }
)
views: Callable[[Problem], tuple[ChainArrays, Settings, Workspace]] = _layout.function('views')
"""Parts of a problem by name, as arrays that are views of it."""
open_problem = varied_kernel(_layout.function('open_problem', numbers_of=Settings))
"""Kernel that does the same, with single settings as numbers, which are only read."""


def reach_without_limits(joints: np.ndarray, reach: float) -> float:
    """
    Return how far a tip reaches when the limits of the joints are ignored [m].

    :param joints: (m, 8) constants of the joints that move it, see
        :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param reach: how far it reaches within the limits [m], which only slides depend on.
    """
    slides = joints[:, 7].any()
    return math.inf if slides else reach


def allocate(chain: KinematicChain, memory: int = 0, limited: bool = True) -> Problem:
    """
    Allocate a problem, with the chain filled in.

    :param chain: the chain.
    :param memory: rows of n numbers that the method keeps.
    :param limited: whether the limits of the joints count.
    :returns: the problem, for one thread; its settings are to be set yet.
    """
    n, m, size = chain.n, len(chain.arrays.variables), _layout.totals
    problem = Problem(
        floats=np.zeros(size['floats']),
        integers=np.zeros(size['integers'], np.int64),
        vectors=np.zeros((size['vectors'] + memory, n)),
        sixes=np.zeros((size['sixes'] + n + m, 6)),
        joints=np.zeros((m, 8)),
        variables=np.zeros(m, np.int64),
    )
    arrays, _, work = views(problem)
    work.scale[:] = 1.0
    for own, given in zip(arrays, chain.arrays, strict=True):
        own[:] = given
    work.lower[:], work.upper[:] = chain.lower, chain.upper
    if not limited:
        arrays.reach[3] = reach_without_limits(arrays.joints, arrays.reach[3])
    return problem
