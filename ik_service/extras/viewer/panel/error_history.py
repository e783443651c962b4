"""History of pose errors."""

from __future__ import annotations

from collections import deque

import numpy as np

SPAN = 20.0
"""Length of the history [s]."""

FLOOR = 1e-3
"""Value that smaller errors are shown as [mm] and [°]: a logarithmic axis needs an end."""

CEILING = 1e4
"""Value that larger errors are shown as, at the upper end of the axis [mm] and [°]."""

_BELOW = FLOOR / 10.0  # NaN would be drawn
_NUDGE = 1e-6  # [s]


class ErrorHistory:
    """
    Pose errors of the last seconds, for a plot with a logarithmic axis.

    :param period: shortest time between two points [s].
    """

    def __init__(self, period: float = 0.1) -> None:
        self._period = period
        self._rows: deque[tuple[float, float, float]] = deque()
        self._nudge = 0.0

    def add(self, now: float, position: float, orientation: float) -> bool:
        """
        Add a point.

        :param now: on a monotonic clock [s].
        :param position: position error [m].
        :param orientation: orientation error [rad].
        :returns: whether it was added; one that comes too soon is not.
        """
        if self._rows and now - self._rows[-1][0] < self._period:
            return False
        self._rows.append((now, 1e3 * position, float(np.degrees(orientation))))
        while self._rows[0][0] < now - SPAN:
            self._rows.popleft()
        return True

    def clear(self) -> None:
        """Remove all points."""
        self._rows.clear()

    def series(self, now: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the points as columns.

        :param now: on the same clock [s].
        :returns: (K,) times relative to now [s], from -:data:`SPAN` to 0, as the axis of the plot
            goes from the first to the last; and the errors then: (K,) [mm] and (K,) [°], below
            :data:`FLOOR`, where nothing is drawn, before the first point.
        """
        # The page lays the axis of time out anew only when its ends change, and before the panel
        # has a width it would have no labels.
        self._nudge = _NUDGE - self._nudge
        start = -SPAN - self._nudge
        rows = [row for row in self._rows if row[0] > now - SPAN]
        if not rows:
            return np.array([start, 0.0]), np.full(2, _BELOW), np.full(2, _BELOW)
        time, position, orientation = np.array(rows).T
        time = np.minimum(time - now, 0.0)
        return (
            np.concatenate([[start, time[0]], time, [0.0]]),
            _drawn(position),
            _drawn(orientation),
        )


def _drawn(errors: np.ndarray) -> np.ndarray:
    """Return errors (K,) as (K + 3,): nothing before the first of them, the last until now."""
    shown = np.clip(errors, FLOOR, CEILING)
    return np.concatenate([[_BELOW, _BELOW], shown, shown[-1:]])
