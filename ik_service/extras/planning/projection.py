"""Projection of joint vectors onto constraints of links, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.extras.planning.constraints import excess_rows, TaskRows
from ik_service.kinematics.chain import KinematicChain

MARGIN = 2e-3
"""Distance inside a tolerance at which a projection ends, at most half of it [m, rad]."""
_ITERATIONS = 12
_CONVERGED = 1e-7  # excess that is none [m, rad]
_DIFFERENCE = 1e-6  # of a joint, for the Jacobian [rad] or [m]
_DAMPING = 1e-9
_LONGEST_STEP = 0.5  # of a joint in an iteration [rad] or [m]


class Projection:
    """
    Projection of joint vectors onto constraints by Newton's steps of least length.

    D. Berenson, S. Srinivasa, J. Kuffner: Task Space Regions: A framework for pose-constrained
    manipulation planning. IJRR 30 (12), 2011, algorithm 2.

    :param chain: the chain that moves, whose limits are kept.
    :param constraints: the constraints, all of which have to hold.
    """

    def __init__(self, chain: KinematicChain, constraints: Sequence[TaskRows]) -> None:
        self._chain, self._constraints = chain, constraints

    def onto(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the nearest joint vectors found that meet the constraints, and which of them do.

        :param Q: (N, n) [rad] or [m].
        :returns: (N, n) within the limits, and (N,) bool.
        """
        rows = np.clip(Q, self._chain.lower, self._chain.upper)
        held = np.zeros(len(rows), bool)
        left = np.arange(len(rows))
        for iteration in range(_ITERATIONS + 1):
            excess, J = self._linearised(rows[left])
            far = np.abs(excess).max(axis=1, initial=0.0) > _CONVERGED
            held[left[~far]] = True
            left, excess, J = left[far], excess[far], J[far]
            if not len(left) or iteration == _ITERATIONS:
                break
            normal = J @ J.transpose(0, 2, 1) + _DAMPING * np.eye(J.shape[1])
            step = np.einsum('kmn,km->kn', J, np.linalg.solve(normal, excess[:, :, None])[:, :, 0])
            largest = np.abs(step).max(axis=1, keepdims=True)
            step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(largest, 1e-12))
            rows[left] = np.clip(rows[left] - step, self._chain.lower, self._chain.upper)
        return rows, held

    def _linearised(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much each value (N, m) is beyond its bounds, and Jacobians (N, m, n)."""
        n = Q.shape[1]
        beside = Q[:, None, :] + _DIFFERENCE * np.eye(n)
        stacked = np.concatenate([Q[:, None, :], beside], axis=1).reshape(-1, n)
        excesses, jacobians = [], []
        for constraint in self._constraints:
            excess, values = excess_rows(constraint, stacked, n + 1, MARGIN)
            change = (values[:, 1:] - values[:, :1]) / _DIFFERENCE
            active = excess != 0.0
            excesses.append(excess)
            jacobians.append(np.where(active[:, :, None], change.transpose(0, 2, 1), 0.0))
        return np.concatenate(excesses, axis=1), np.concatenate(jacobians, axis=1)
