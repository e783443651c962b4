"""Errors of measured joint positions, learnt from the positions: steps of encoders, and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ROUNDING = 1e-6  # difference of positions that is none [rad] or [m]
_ENOUGH = 10  # steps of a joint from which its smallest one is known
_FORGETTING = 0.03  # share of the newest position in what is known of the noise
_LARGEST = 0.1  # step beyond which a joint moves, or its driver counts turns anew [rad] or [m]


@dataclass(frozen=True, eq=False)
class JointErrors:
    """
    Errors of the measured positions of n joints.

    :ivar steps: (n,) smallest steps of the encoders [rad] or [m]; 0 where not known yet.
    :ivar noise: (n,) standard deviations of the noise [rad] or [m].
    """

    steps: np.ndarray
    noise: np.ndarray


class MeasurementErrors:
    """
    Learner of the errors of the measured positions of n joints.

    Coarse encoders, and drivers that round, lead to steps of some size or none. The positions of
    fine ones differ by less and less until they stand. Noise makes a step and the next one
    opposite: the mean of their products is minus its variance. In motion both have the same sign.
    """

    def __init__(self, n: int) -> None:
        self._last, self._step = np.full(n, np.nan), np.zeros(n)
        self._smallest, self._count = np.full(n, np.inf), np.zeros(n)
        self._variance = np.zeros(n)

    def update(self, q: np.ndarray, joints: np.ndarray | slice = slice(None)) -> None:
        """
        Take in measured positions; those that are all as before tell nothing.

        :param q: (k,) positions [rad] or [m].
        :param joints: indices (k,) of the joints; all of them if not given.
        """
        step = q - self._last[joints]
        self._last[joints] = q
        size = np.abs(step)
        moved = size > _ROUNDING
        if not moved.any():
            return
        self._count[joints] += moved
        smallest, variance = self._smallest[joints], self._variance[joints]
        self._smallest[joints] = np.minimum(smallest, size, out=smallest, where=moved)
        step[~(size <= _LARGEST)] = 0.0  # so it is where the last position is not known
        variance = variance - _FORGETTING * (step * self._step[joints] + variance)
        self._step[joints], self._variance[joints] = step, np.maximum(variance, 0.0)

    def of(self, joints: np.ndarray | slice = slice(None)) -> JointErrors:
        """Return the errors of joints by their indices (k,); all of them if not given."""
        steps = np.where(self._count >= _ENOUGH, self._smallest, 0.0)
        return JointErrors(steps[joints], np.sqrt(self._variance[joints]))
