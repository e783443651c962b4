"""Postures and the times at which a target was there, in one block of memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """
    Some postures of a trail, the oldest first; views that are valid until the next change.

    :ivar times: (k,) when the target was there [s].
    :ivar points: (k, n) the postures [rad] or [m].
    :ivar nears: (k,) distances from straight lines past them, at most [rad] or [m].
    """

    times: np.ndarray
    points: np.ndarray
    nears: np.ndarray


class TimedPostures:
    """
    Postures with times, the first of which have been passed.

    :param most: how many are kept, the newest ones.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._times, self._nears = np.empty(2 * most), np.empty(2 * most)
        self._points = np.empty((0, 0))
        self._first = self._next = self._end = 0

    def __len__(self) -> int:
        return self._end - self._next

    def clear(self) -> None:
        """Forget all."""
        self._first = self._next = self._end = 0

    def extend(self, times: np.ndarray, points: np.ndarray, near: float) -> None:
        """
        Add postures at the end; the oldest ones go when they are too many.

        :param times: (k,) when the target was there [s].
        :param points: (k, n) the postures [rad] or [m].
        :param near: distance from straight lines past them, at most [rad] or [m].
        """
        times, points = times[-self._most :], points[-self._most :]
        if self._points.shape[1] != points.shape[1]:
            self._points = np.empty((2 * self._most, points.shape[1]))
        if self._end + len(times) > 2 * self._most:
            self._move_to_front()
        new = slice(self._end, self._end + len(times))
        self._times[new], self._points[new], self._nears[new] = times, points, near
        self._end = new.stop
        self._first = max(self._first, self._end - self._most)
        self._next = max(self._next, self._first)

    def _move_to_front(self) -> None:
        kept = slice(max(self._first, self._end - self._most), self._end)
        for rows in (self._times, self._points, self._nears):
            rows[: kept.stop - kept.start] = rows[kept].copy()
        self._first, self._next = 0, max(self._next - kept.start, 0)
        self._end = kept.stop - kept.start

    def shift(self, turns: np.ndarray) -> None:
        """
        Add to the positions of all.

        :param turns: (n,) what to add [rad] or [m].
        """
        self._points[self._first : self._end] += turns

    def put_last_at(self, time: float) -> None:
        """
        Change when the target was at the last posture.

        :param time: that time [s].
        """
        self._times[self._end - 1] = time

    def pass_next(self, kept: float) -> None:
        """
        Count the next posture as passed.

        :param kept: time before the one after it for which passed ones are kept [s].
        """
        self._next += 1
        since = self._times[self._next] - kept
        while self._first + 1 < self._next and self._times[self._first + 1] < since:
            self._first += 1

    def ahead(self, most: int) -> Rows:
        """
        Return the next postures that have not been passed.

        :param most: how many at most.
        """
        return self._rows(self._next, min(self._end, self._next + most))

    def around(self, most: int) -> Rows:
        """
        Return the passed ones that are kept, and the next ones.

        :param most: how many of the next ones at most.
        """
        return self._rows(self._first, min(self._end, self._next + most))

    @property
    def next_time(self) -> float:
        """When the target was at the next posture [s]."""
        return float(self._times[self._next])

    @property
    def last_time(self) -> float:
        """When the target was at the last posture [s]."""
        return float(self._times[self._end - 1])

    def last(self) -> np.ndarray:
        """Return a copy of the last posture (n,) [rad] or [m]."""
        return self._points[self._end - 1].copy()

    def _rows(self, first: int, end: int) -> Rows:
        chosen = slice(first, end)
        return Rows(self._times[chosen], self._points[chosen], self._nears[chosen])
