"""What has been: the errors over the last seconds, and the way of the tip."""

from __future__ import annotations

from collections import deque

import numpy as np

SPAN = 20.0
"""What a plot of the errors goes back [s]."""

FLOOR = 1e-3
"""What smaller errors are shown as [mm] and [°]: a logarithmic axis needs an end."""


class ErrorHistory:
    """
    The errors of the last seconds, for a plot with a logarithmic axis.

    :param period: shortest time between two points [s].
    """

    def __init__(self, period: float = 0.1) -> None:
        self._period = period
        self._rows: deque[tuple[float, float, float]] = deque()

    def add(self, now: float, position: float, orientation: float) -> bool:
        """
        Take in errors.

        :param now: on a monotonic clock [s].
        :param position: [m].
        :param orientation: [rad].
        :returns: whether a point was added; one that comes too soon is not.
        """
        if self._rows and now - self._rows[-1][0] < self._period:
            return False
        self._rows.append((now, 1e3 * position, float(np.degrees(orientation))))
        while self._rows[0][0] < now - SPAN:
            self._rows.popleft()
        return True

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()

    def series(self, now: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return times before now (K,) [s], and the errors then: (K,) [mm] and (K,) [°]."""
        if not self._rows:
            return np.array([-SPAN, 0.0]), *(np.full(2, FLOOR) for _ in range(2))
        time, position, orientation = np.array(self._rows).T
        return time - now, np.maximum(position, FLOOR), np.maximum(orientation, FLOOR)


class Trail:
    """
    The way of the tip, as a chain of line segments.

    :param length: most segments; the oldest are dropped.
    :param step: distance after which a new segment begins [m].
    """

    def __init__(self, length: int = 300, step: float = 0.004) -> None:
        self._points: deque[np.ndarray] = deque(maxlen=length + 1)
        self._step = step

    def add(self, point: np.ndarray) -> bool:
        """Take in where the tip is (3,) [m]; return whether the trail has changed."""
        if self._points and np.linalg.norm(point - self._points[-1]) < self._step:
            return False
        self._points.append(np.array(point, dtype=np.float32))
        return True

    def clear(self) -> None:
        """Forget everything."""
        self._points.clear()

    def segments(self) -> np.ndarray:
        """Return (N, 2, 3) starts and ends of the segments, the oldest first [m]."""
        points = np.array(self._points, dtype=np.float32).reshape(-1, 3)
        return np.stack([points[:-1], points[1:]], axis=1)

    def colors(self, young: tuple[int, int, int], old: tuple[int, int, int]) -> np.ndarray:
        """Return (N, 2, 3) the colours of both ends of the segments, 0 to 255, fading with age."""
        count = max(len(self._points), 1)
        share = np.linspace(0.0, 1.0, count)[:, None]
        ends = (np.array(old) + share * (np.array(young) - np.array(old))).astype(np.uint8)
        return np.stack([ends[:-1], ends[1:]], axis=1)
