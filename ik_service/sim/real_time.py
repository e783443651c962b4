"""How the time of a simulation runs beside that of the clock on the wall."""

from __future__ import annotations


class RealTime:
    """
    Measures how fast simulated time runs.

    :param now: on a monotonic clock [s].
    :ivar simulated: time that was simulated in all [s].
    """

    def __init__(self, now: float) -> None:
        self.simulated = 0.0
        self._since = now
        self._before = 0.0
        self._busy = 0.0

    def add(self, simulated: float, busy: float) -> None:
        """
        Take in a step.

        :param simulated: its length [s].
        :param busy: how long computing it took [s].
        """
        self.simulated += simulated
        self._busy += busy

    def look(self, now: float) -> tuple[float, float]:
        """
        Return what was measured since the last look.

        :param now: later than at the last look [s].
        :returns: the real-time factor, 1 when simulated time keeps up with the clock; and the
            share of the time that was spent computing.
        """
        passed = now - self._since
        factor, load = (self.simulated - self._before) / passed, self._busy / passed
        self._since, self._before, self._busy = now, self.simulated, 0.0
        return factor, load
