"""Duration of collision checks."""

from __future__ import annotations

from threading import Lock


class CheckStatistics:
    """Number and duration of checks. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._sum = 0.0
        self._longest = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        """
        Count checks.

        :param seconds: how long they took together.
        :param count: how many they were.
        """
        each = seconds / count
        with self._lock:
            self._count += count
            self._sum += seconds
            if each > self._longest:
                self._longest = each

    @property
    def count(self) -> int:
        """Number of checks."""
        return self._count

    @property
    def mean(self) -> float:
        """Their mean duration [s]; 0 before the first one."""
        with self._lock:
            return self._sum / self._count if self._count else 0.0

    @property
    def longest(self) -> float:
        """The longest one [s]; of postures that are checked together their mean counts."""
        return self._longest
