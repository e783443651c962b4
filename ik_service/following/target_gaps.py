"""How long targets that move are the newest, and when the next one is overdue."""

from __future__ import annotations

from collections import deque

LONGEST_AHEAD = 0.12
"""Time for which a target is believed to go on, at most [s]."""

_INTERVALS = 2.2
"""
The same, in times between two targets, as long as little is known: one that is lost is bridged.
"""

_LEAST, _REMEMBERED = 4, 100
"""Targets from which is known when the next one is overdue; how many are remembered."""

_ROOM = 0.15
"""Share of the time between two targets by which the next one may be later than all before."""


class TargetGaps:
    """Ages that targets of one motion had reached when the next one arrived."""

    def __init__(self) -> None:
        self._ages: deque[float] = deque(maxlen=_REMEMBERED)
        self._last = -float('inf')

    def update(self, at: float, arrived: float | None) -> None:
        """
        Note that a target has arrived.

        :param at: when the target was there, on a monotonic clock [s].
        :param arrived: when it arrived [s]; None when that is not known.
        """
        age = -1.0 if arrived is None else arrived - self._last
        self._last = at
        if 0.0 <= age <= 2.0 * LONGEST_AHEAD:
            self._ages.append(age)
        else:
            self._ages.clear()

    def longest_ahead(self, interval: float) -> float:
        """
        Return for how long a target is believed to go on without a newer one [s].

        :param interval: usual time between two targets [s].
        """
        ahead = _INTERVALS * interval
        if len(self._ages) >= _LEAST:
            ahead = max(self._ages) + _ROOM * interval
        return min(ahead, LONGEST_AHEAD)
