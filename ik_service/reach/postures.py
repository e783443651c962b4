"""Measures of postures: distance from the joint limits, manipulability, and both in one number."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.compile import kernel
from ik_service.kinematics.kernels import jacobian_rows, last_frame

LARGEST_MARGIN = 0.5
"""Distance of a joint in mid-range from its limits, as a share of its range."""

_SAMPLE = 2000  # random postures that show the rank, and the largest manipulability
_NEGLIGIBLE = 1e-6  # a singular value below this share of the largest is none
_WIDEST = 1e6  # limits beyond this are as good as none [rad] or [m]


class PostureMeasure:
    """
    Measures of the postures of a chain.

    The rank of its Jacobian and the largest manipulability are those of random postures within
    the limits, the same ones in every process.

    :param chain: the chain.
    :param task_weights: (6,) as in the options of a solve; rows with the weight 0 do not count.
    :ivar largest: the largest manipulability.
    """

    def __init__(self, chain: KinematicChain, task_weights: Sequence[float] = (1.0,) * 6) -> None:
        self._chain = chain
        self._rows = np.flatnonzero(np.asarray(task_weights) > 0.0)
        values = self._singular_values(_random_postures(chain))
        top = values[:, :1].max(initial=0.0)
        self._rank = max(1, int((values.max(axis=0, initial=0.0) > _NEGLIGIBLE * top).sum()))
        self.largest = float(values[:, : self._rank].prod(axis=1).max(initial=0.0))

    def limit_distance(self, q: np.ndarray) -> np.ndarray:
        """
        Return the smallest distance of a joint from its nearer limit, as a share of its range.

        :param q: (N, n) [rad] or [m].
        :returns: (N,) from 0 at a limit to 0.5; joints without limits do not count, and where
            none has any it is 0.5.
        """
        lower, upper = self._chain.lower, self._chain.upper
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
        return self._singular_values(q)[:, : self._rank].prod(axis=1)

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

    def _singular_values(self, q: np.ndarray) -> np.ndarray:
        """Return the singular values (N, k) of the rows that count, the largest first."""
        n = self._chain.n
        transposed = np.empty((len(q), n, 6))
        axes = np.empty((len(self._chain.arrays.variables), 6))
        positions = np.ascontiguousarray(q, dtype=np.float64)
        fill_jacobians(self._chain.arrays, positions, axes, np.empty(12), transposed)
        J = transposed[:, :, self._rows]
        # Of the smaller product: its eigenvalues are the squares, and are found faster.
        J_T = J.swapaxes(1, 2)
        gram = J @ J_T if n <= len(self._rows) else J_T @ J
        return np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, ::-1], 0.0))


@kernel
def fill_jacobians(chain, q, axes, frame, transposed):
    """
    Write the Jacobians of many postures.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param q: (N, n) variables.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param transposed: (N, n, 6) out, linear before angular.
    """
    for i in range(q.shape[0]):
        last_frame(chain, q[i], axes, frame)
        jacobian_rows(chain, axes, frame, transposed[i])


def _random_postures(chain: KinematicChain) -> np.ndarray:
    lower = np.where(chain.lower > -_WIDEST, chain.lower, np.minimum(chain.upper, 0.0) - math.pi)
    upper = np.where(chain.upper < _WIDEST, chain.upper, np.maximum(chain.lower, 0.0) + math.pi)
    return np.random.default_rng(0).uniform(lower, upper, (_SAMPLE, chain.n))
