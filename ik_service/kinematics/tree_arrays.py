"""Constants of a kinematic tree as the kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TreeArrays(NamedTuple):
    """
    Constants of a tree as arrays: t tips, m joints on all their paths, moved by n variables.

    Each tip has the constants of a chain of its own, see
    :class:`~ik_service.kinematics.chain_arrays.ChainArrays`; joints that several tips share come
    once for each of them.

    :ivar base: (t, 12) the frame in which the first joint of each tip moves.
    :ivar joints: (m, 8) the joints of the first tip, then those of the second, and so on.
    :ivar variables: (m,) index of the variable that moves each joint.
    :ivar spans: (t + 1,) row of the first joint of each tip; then m.
    :ivar ends: (t, 6) of each tip the cosine and sine of the last rotation about z, then a point
        of its frame of reference and the distance from it that the tip cannot exceed [m].
    :ivar moves: (t, n) 1 where a variable moves a tip, else 0.
    :ivar lower: (n,) lower limits of the variables.
    :ivar upper: (n,) upper limits.
    :ivar turn: (n,) 2π for variables whose full turns do not change any pose, else 0.
    """

    base: np.ndarray
    joints: np.ndarray
    variables: np.ndarray
    spans: np.ndarray
    ends: np.ndarray
    moves: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    turn: np.ndarray
