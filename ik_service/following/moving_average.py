"""Average of a path over a window of time, which moves along with it."""

from __future__ import annotations

import numpy as np

_SPACE = 256
"""Points that are kept before the old ones are dropped."""

AverageState = tuple[np.ndarray, np.ndarray, int]
"""Times and points of the path, and how many they are."""


class MovingAverage:
    """
    Average of the last part of a path that is straight between its points.

    The average lies among the points. Its speed and acceleration are averages of those of the
    path, and so within the same bounds; its jerk is the difference of two accelerations of the
    path, divided by the window: L. Biagiotti and C. Melchiorri, FIR filters for online trajectory
    planning with time- and frequency-domain specifications, Control Engineering Practice 20
    (2012) 1385–1399.

    :ivar window: length of the part [s].
    """

    def __init__(self, q: np.ndarray, window: float) -> None:
        """
        Begin with a path that has rested for long.

        :param q: (n,) where [rad] or [m].
        :param window: length of the part that is averaged [s].
        """
        self.window = window
        self._times = np.zeros(_SPACE)
        self._points = np.zeros((_SPACE, len(q)))
        self._times[0], self._count = -2.0 * window, 2
        self._points[:2] = q

    @property
    def state(self) -> AverageState:
        """All that is known of the path; may be set, to go back to an earlier one."""
        return self._times, self._points, self._count

    @state.setter
    def state(self, state: AverageState) -> None:
        self._times, self._points, self._count = state

    def append(self, q: np.ndarray, dt: float) -> None:
        """
        Go on along a straight line.

        :param q: (n,) to where [rad] or [m].
        :param dt: how long that takes [s].
        """
        if self._count == len(self._times):
            self._drop_old()
        self._times[self._count] = self._times[self._count - 1] + dt
        self._points[self._count] = q
        self._count += 1

    def value(self) -> np.ndarray:
        """Return the average (n,) [rad] or [m]; exactly the last point of a path that rests."""
        first = self._first()
        times = self._times[first : self._count].copy()
        points = self._points[first : self._count] - self._points[self._count - 1]
        begin = times[-1] - self.window
        share = (begin - times[0]) / (times[1] - times[0])
        points[0] += share * (points[1] - points[0])
        times[0] = begin
        half = np.diff(times) / (2.0 * self.window)
        average: np.ndarray = half @ (points[1:] + points[:-1])
        return self._points[self._count - 1] + average

    def contract(self, centre: np.ndarray, share: float) -> None:
        """
        Draw the path together, as if it had been slower; its average moves likewise.

        :param centre: (n,) what stays where it is [rad] or [m].
        :param share: of the distances from there that is left, 0 to 1.
        """
        points = centre + share * (self._points - centre)
        self.state = self._times, points, self._count

    def _first(self) -> int:
        """Return the index of the last point at or before the window."""
        times = self._times[: self._count]
        return int(np.searchsorted(times, times[-1] - self.window, side='right')) - 1

    def _drop_old(self) -> None:
        """Make room, in new arrays: the old ones may be returned to."""
        first = self._first()
        times, points = self._times[first : self._count], self._points[first : self._count]
        size = max(2 * len(times), _SPACE)
        self._times, self._points = np.zeros(size), np.zeros((size, points.shape[1]))
        self._times[: len(times)], self._points[: len(times)] = times - times[-1], points
        self._count = len(times)
