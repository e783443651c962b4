"""Times at which targets were where their messages say, from stamps and arrivals."""

from __future__ import annotations

from collections import deque

_REMEMBERED = 16
"""Messages whose ways are compared."""

_LONGEST_WAY = 0.1
"""Time that a message is on its way where the clocks of both ends agree, at most [s]."""

_UNSTEADY = 0.25
"""Difference of two ways beyond which stamps are no times [s]."""


class TargetTimes:
    """
    Times of messages on the receiver's clock, unaffected by how long each was on its way.

    Stamps count where they go on. A clock that differs from the receiver's is put right by the
    shortest way of the last messages, which then counts as none. Stamps that are missing, stand
    still or leap are not used: such a message counts from its arrival.
    """

    def __init__(self) -> None:
        self._ways: deque[float] = deque(maxlen=_REMEMBERED)
        self._stamp = 0.0

    def time_of(self, stamp: float | None, arrived: float) -> float:
        """
        Return when a message was true.

        :param stamp: its stamp on the receiver's clock [s], which the sender's may differ from;
            None for a message without one.
        :param arrived: when it arrived [s].
        :returns: on the receiver's clock [s], not after the arrival.
        """
        if stamp is None or stamp == self._stamp:
            self._ways.clear()
            self._stamp = stamp or 0.0
            return arrived
        self._stamp, way = stamp, arrived - stamp
        if any(abs(way - other) > _UNSTEADY for other in self._ways):
            self._ways.clear()
        self._ways.append(way)
        if len(self._ways) < 2:
            return arrived
        shortest = min(self._ways)
        agree = 0.0 <= shortest <= _LONGEST_WAY
        return min(stamp if agree else stamp + shortest, arrived)
