"""Arguments of the kernels of servoing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.kinematics.chain import KinematicChain


class JointBounds(NamedTuple):
    """
    Bounds on the joints in one tick.

    :ivar lower: (n,) where each joint stops, with its margin [rad] or [m]; −inf for nowhere.
    :ivar upper: (n,) likewise; inf for nowhere.
    :ivar speed: (n,) highest speeds [rad/s] or [m/s].
    :ivar acceleration: (n,) how fast they can slow down [rad/s²] or [m/s²]; inf for at once.
    :ivar dt: length of the tick [s].
    """

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    dt: float


class SingularZone(NamedTuple):
    """
    Where singularities begin.

    :ivar lower: condition number of the Jacobian from which motions towards them slow down.
    :ivar upper: the one at which they have come to rest.
    :ivar rank: rank that the Jacobian has elsewhere, 6 for most arms.
    """

    lower: float
    upper: float
    rank: int


class ServoScratch(NamedTuple):
    """
    Memory of the kernels, for n joints of which m lie on the path.

    :ivar axes: (m, 6) joint axes.
    :ivar frame: (12,) frame behind the last joint.
    :ivar rows: (n, 6) transpose of the Jacobian.
    :ivar columns: (6, n) right singular vectors, times singular values.
    :ivar basis: (6, 6) left singular vectors, as columns.
    :ivar sizes: (6,) singular values; −1 for those that belong to no motion of the arm.
    :ivar place: (n,) where the Jacobian is taken [rad] or [m].
    :ivar beside: (n,) a place beside that.
    :ivar self_motion: (n,) a joint motion that leaves the tip where it is.
    :ivar free: (2, n) highest speeds downwards and upwards [rad/s] or [m/s].
    """

    axes: np.ndarray
    frame: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    basis: np.ndarray
    sizes: np.ndarray
    place: np.ndarray
    beside: np.ndarray
    self_motion: np.ndarray
    free: np.ndarray


def scratch_for(chain: KinematicChain) -> ServoScratch:
    """
    Return memory for the kernels.

    :param chain: the chain that they are called for.
    """
    n, m = chain.n, len(chain.arrays.variables)
    shapes = ((m, 6), (12,), (n, 6), (6, n), (6, 6), (6,), (n,), (n,), (n,), (2, n))
    return ServoScratch(*(np.zeros(shape) for shape in shapes))
