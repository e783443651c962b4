"""Distance by which an arm lags behind its commands."""

from __future__ import annotations

import numpy as np

# Shares of the lag limit, which itself is only approached, at which lagging begins and ends; and
# the one that an arm has to come below within a time after the commands have come to rest [s].
_LAGS, _CAUGHT_UP = 0.9, 0.5
_OFF, _SETTLING_TIME = 0.05, 1.0

_DISPLACED = 2.0
"""Share of the lag limit at which something else must have moved the arm."""


class LagMonitor:
    """
    Monitor of the distance between commands and arm, as the time it takes at full speed.

    :param speeds: (n,) the joints' velocity limits [rad/s] or [m/s].
    :ivar lagging: whether the arm does not keep up.
    """

    def __init__(self, speeds: np.ndarray) -> None:
        self._movable = speeds > 0.0
        self._speeds = speeds[self._movable]
        self.reset()

    def reset(self) -> None:
        """Begin with commands that start where the arm is."""
        self.lagging = False
        self._off_since: float | None = None
        self._lag = 0.0

    @property
    def displaced(self) -> bool:
        """Whether the arm is so far away that something else must have moved it."""
        return self._lag > _DISPLACED

    @property
    def settled(self) -> bool:
        """Whether the arm is where it is commanded."""
        return self._lag <= _OFF

    @property
    def pace(self) -> float:
        """Share of the full speed at which the commands may go on, 0 to 1."""
        return min(max(2.0 - 2.0 * self._lag, 0.0), 1.0)

    def update(
        self, commanded: np.ndarray, measured: np.ndarray, at_rest: bool, limit: float, now: float
    ) -> None:
        """
        Compare a command with the arm.

        :param commanded: (n,) where the arm shall be [rad] or [m].
        :param measured: (n,) where it is [rad] or [m].
        :param at_rest: whether the commands stand still.
        :param limit: the lag limit [s].
        :param now: on a monotonic clock [s].
        """
        distance = np.abs(commanded - measured)[self._movable] / self._speeds
        self._lag = float(distance.max(initial=0.0)) / limit
        if not (at_rest and self._lag > _OFF):
            self._off_since = None
        elif self._off_since is None:
            self._off_since = now
        off = self._off_since is not None and now - self._off_since > _SETTLING_TIME
        self.lagging = off or self._lag > (_CAUGHT_UP if self.lagging else _LAGS)
