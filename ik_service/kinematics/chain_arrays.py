"""Constants of a kinematic chain as the kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ChainArrays(NamedTuple):
    """
    Constants of a chain as arrays: m joints on the path, moved by n variables.

    Frames are written as 12 numbers: the x, y and z axes, then the origin.

    :ivar base: (12,) the frame in which the first joint moves, in the base frame.
    :ivar joints: (m, 8) for each joint its angle offset [rad], the translation to the next joint
        (3) [m], the cosine and sine of the rotation about x to the next joint, and how far it
        turns [rad] and slides [m] per unit of its variable.
    :ivar variables: (m,) index of the variable that moves each joint.
    :ivar tip: (2,) cosine and sine of the last rotation about z, to the tip frame.
    :ivar lower: (n,) lower limits of the variables.
    :ivar upper: (n,) upper limits.
    :ivar turn: (n,) 2π for variables whose full turns do not change any pose, else 0.
    :ivar reach: (4,) a point of the base frame and the distance from it that the tip cannot
        exceed [m].
    """

    base: np.ndarray
    joints: np.ndarray
    variables: np.ndarray
    tip: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    turn: np.ndarray
    reach: np.ndarray
