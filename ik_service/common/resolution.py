"""Resolution of measured joint positions, learnt from the positions."""

from __future__ import annotations

import numpy as np

_ROUNDING = 1e-6  # difference of positions that is none [rad] or [m]
_ENOUGH = 10  # steps of a joint from which its smallest one is known


class Resolution:
    """
    Smallest steps between successive positions of n joints.

    Coarse encoders, and drivers that round, lead to steps of some size or none. The positions of
    fine ones differ by less and less until they stand.
    """

    def __init__(self, n: int) -> None:
        self._last = np.full(n, np.nan)
        self._smallest, self._count = np.full(n, np.inf), np.zeros(n)

    def update(self, q: np.ndarray) -> None:
        """Take in positions (n,) [rad] or [m], which are kept, and must not change."""
        step = np.abs(q - self._last)
        moved, self._last = step > _ROUNDING, q
        self._count += moved
        np.minimum(self._smallest, step, out=self._smallest, where=moved)

    @property
    def steps(self) -> np.ndarray:
        """Smallest steps (n,) [rad] or [m]; 0 where that is not known yet."""
        return np.where(self._count >= _ENOUGH, self._smallest, 0.0)
