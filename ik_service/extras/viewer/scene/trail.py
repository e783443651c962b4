"""Trail of the tip."""

from __future__ import annotations

from collections import deque

import numpy as np


class Trail:
    """
    Past positions of the tip, as a chain of line segments.

    :param length: largest number of segments; the oldest are dropped.
    :param step: distance after which a new segment begins [m].
    """

    def __init__(self, length: int = 300, step: float = 0.004) -> None:
        self._points: deque[np.ndarray] = deque(maxlen=length + 1)
        self._step = step

    def add(self, point: np.ndarray) -> bool:
        """
        Add a position.

        :param point: (3,) [m].
        :returns: whether the trail has changed.
        """
        if self._points and np.linalg.norm(point - self._points[-1]) < self._step:
            return False
        self._points.append(np.array(point, dtype=np.float32))
        return True

    def clear(self) -> None:
        """Remove all positions."""
        self._points.clear()

    def segments(self) -> np.ndarray:
        """Return (N, 2, 3) starts and ends of the segments, the oldest first [m]."""
        points = np.array(self._points, dtype=np.float32).reshape(-1, 3)
        return np.stack([points[:-1], points[1:]], axis=1)

    def colors(self, newest: tuple[int, int, int], oldest: tuple[int, int, int]) -> np.ndarray:
        """
        Return the colours of both ends of the segments.

        :param newest: red, green and blue where the tip is, 0 to 255.
        :param oldest: red, green and blue at the other end, 0 to 255.
        :returns: (N, 2, 3), 0 to 255.
        """
        count = max(len(self._points), 1)
        share = np.linspace(0.0, 1.0, count)[:, None]
        ends = np.array(oldest) + share * (np.array(newest) - np.array(oldest))
        ends = ends.astype(np.uint8)
        return np.stack([ends[:-1], ends[1:]], axis=1)
