"""Shortening of joint paths of straight lines, by shortcuts between random places."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.linalg import norm

TRIES = 40
"""Shortcuts that are tried, at most."""
PATIENCE = 8
"""Shortcuts in a row that do not help, after which no more are tried."""
_GAIN = 0.98  # length of a shortcut as a share of what it replaces, at most

LineTest = Callable[[np.ndarray], bool]
"""Returns whether the straight motion from one posture to another, (2, n), is allowed."""


def shortened(
    path: np.ndarray,
    units: np.ndarray,
    line_is_free: LineTest,
    seed: int,
    stopped: Callable[[], bool],
) -> np.ndarray:
    """
    Return a shorter path from the same start to the same end.

    :param path: (k, n) corners [rad] or [m].
    :param units: (n,) motion of each joint that counts as 1, such as its speed.
    :param line_is_free: test of the straight motions of which the path is made.
    :param seed: of the random places.
    :param stopped: returns whether the time is over.
    :returns: (m, n) corners.
    """
    path = _reduced(path, line_is_free, stopped)
    random = np.random.default_rng(seed)
    failures, ends = 0, _places(path, units)
    for _ in range(TRIES):
        if len(path) <= 2 or failures >= PATIENCE or stopped():
            break
        a, b = sorted(random.uniform(0.0, ends[-1], 2).tolist())
        i, j = (bisect_right(ends, s, hi=len(ends) - 1) - 1 for s in (a, b))
        failures += 1
        if i == j:
            continue
        line = np.array([_between(path, ends, k, s) for k, s in ((i, a), (j, b))])
        if norm((line[1] - line[0]) / units) <= _GAIN * (b - a) and line_is_free(line):
            path = np.concatenate([path[: i + 1], line, path[j + 1 :]])
            failures, ends = 0, _places(path, units)
    return path


def lengths(path: np.ndarray, units: np.ndarray) -> np.ndarray:
    """
    Return the lengths of the lines of a path, (k−1,).

    :param path: (k, n) corners [rad] or [m].
    :param units: (n,) motion of each joint that counts as 1.
    """
    return np.asarray(norm(np.diff(path, axis=0) / units, axis=1))


def _reduced(path: np.ndarray, line_is_free: LineTest, stopped: Callable[[], bool]) -> np.ndarray:
    """Return a path without the corners that a straight line may leave out."""
    kept, i = [0], 0
    while i < len(path) - 1:
        ahead = len(path) - 1
        while ahead > i + 1 and not stopped() and not line_is_free(path[[i, ahead]]):
            ahead = i + (ahead - i + 1) // 2 if ahead - i > 2 else i + 1
        i = ahead if ahead == i + 1 or not stopped() else i + 1
        kept.append(i)
    return path[kept]


def _places(path: np.ndarray, units: np.ndarray) -> list[float]:
    """Return how far along a path its corners are."""
    return [0.0, *np.cumsum(lengths(path, units)).tolist()]


def _between(path: np.ndarray, ends: list[float], k: int, s: float) -> np.ndarray:
    """Return the posture at a place, behind corner k of a path."""
    return np.asarray(
        path[k] + (path[k + 1] - path[k]) * ((s - ends[k]) / (ends[k + 1] - ends[k]))
    )
