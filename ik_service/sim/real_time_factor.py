"""Measurement of the real-time factor of a simulation."""

from __future__ import annotations


class RealTimeFactor:
    """
    Meter of how fast simulated time runs.

    :param now: on a monotonic clock [s].
    :ivar simulated: total simulated time [s].
    """

    def __init__(self, now: float) -> None:
        self.simulated = 0.0
        self._since = now
        self._before = 0.0
        self._busy = 0.0

    def add(self, simulated: float, busy: float) -> None:
        """
        Add a step of the simulation.

        :param simulated: its length [s].
        :param busy: time that it took to compute [s].
        """
        self.simulated += simulated
        self._busy += busy

    def measure(self, now: float) -> tuple[float, float]:
        """
        Return the real-time factor and the load since the last call.

        :param now: later than at the last call [s].
        :returns: the real-time factor, 1 when simulated time keeps up with the clock; and the
            share of the time that was spent computing.
        """
        passed = now - self._since
        factor, load = (self.simulated - self._before) / passed, self._busy / passed
        self._since, self._before, self._busy = now, self.simulated, 0.0
        return factor, load
