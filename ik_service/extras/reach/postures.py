"""Measures of postures: distance from the joint limits, manipulability, and both in one number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import linearised

LARGEST_MARGIN = 0.5  # distance of a joint in mid-range from its limits, as a share of its range

_SAMPLE = 2000  # random postures that show the rank, and the largest manipulability
_NEGLIGIBLE = 1e-6  # a singular value below this share of the largest is none


class PostureMeasure:
    """
    Measures of the postures of a chain.

    The rank of its Jacobian in general and the largest manipulability are those of random
    postures within the limits, the same ones in every process.

    :param task_weights: (6,) as in the options of a solve; rows with the weight 0 do not count.
    """

    def __init__(self, chain: KinematicChain, task_weights: Sequence[float] = (1.0,) * 6) -> None:
        self._chain = chain
        self._rows = np.flatnonzero(np.asarray(task_weights) > 0.0)
        postures = chain.random_postures(_SAMPLE)
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(self._products(postures)), 0.0))
        singular = values.max(axis=0) <= _NEGLIGIBLE * values.max(initial=0.0)
        self._rank = max(1, int((~singular).sum()))
        self.largest = float(self.manipulability(postures).max())

    def limit_distance(self, q: np.ndarray) -> np.ndarray:
        """
        Return the smallest distance of a joint from its nearer limit, as a share of its range.

        :param q: (N, n) [rad] or [m].
        :returns: (N,) from 0 at a limit to 0.5; joints without limits do not count, and where
            none has any it is 0.5.
        """
        lower, upper = self._chain.search_limits()
        counts = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
        low, high, value = lower[counts], upper[counts], q[:, counts]
        share = np.minimum(value - low, high - value) / (high - low)
        return np.clip(share.min(axis=1, initial=LARGEST_MARGIN), 0.0, LARGEST_MARGIN)

    def manipulability(self, q: np.ndarray) -> np.ndarray:
        """
        Return the product of the singular values of the Jacobian: 0 in a singular posture.

        There are as many of them as the Jacobian has rank in general; with six rows and n ≥ 6
        joints that is √det(J Jᵀ) (Yoshikawa, "Manipulability of robotic mechanisms", IJRR 4(2),
        1985, eq. 4 and 7). Rows of the position are in metres, those of the orientation in rad.

        :param q: (N, n) [rad] or [m].
        :returns: (N,).
        """
        products = self._products(q)
        if self._rank == products.shape[-1]:
            squared = np.linalg.det(products)
        else:  # of a planar arm, whose Jacobian has rows that are always 0
            squared = np.linalg.eigvalsh(products)[:, -self._rank :].prod(axis=1)
        return np.sqrt(np.maximum(squared, 0.0))

    def quality(self, q: np.ndarray) -> np.ndarray:
        """
        Return √(2 d · w / w_max): d the limit distance, w the manipulability.

        It is 1 for a posture in mid-range that is as manipulable as any, and 0 at a limit and in
        a singular posture. That both have to be good, and so are multiplied, is due to N.
        Vahrenkamp and T. Asfour, "Representing the robot's workspace through constrained
        manipulability analysis", Autonomous Robots 38, 2015.

        :param q: (N, n) [rad] or [m].
        :returns: (N,) 0 to 1.
        """
        margin = self.limit_distance(q) / LARGEST_MARGIN
        share = self.manipulability(q) / self.largest if self.largest > 0.0 else 1.0
        return np.sqrt(margin * np.minimum(share, 1.0))

    def _products(self, q: np.ndarray) -> np.ndarray:
        """Return J Jᵀ or Jᵀ J of the rows that count, whichever is smaller, (N, k, k)."""
        columns = linearised(self._chain, np.array(q, np.float64, order='C'))[1][:, :, self._rows]
        rows = columns.swapaxes(1, 2)
        return rows @ columns if len(self._rows) < self._chain.n else columns @ rows
