"""Shortening of joint paths of straight lines, by shortcuts between random places."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TRIES = 40
"""Shortcuts that are tried, at most."""
PATIENCE = 8
"""Shortcuts in a row that do not help, after which no more are tried."""
_GAIN = 0.98  # length of a shortcut as a share of what it replaces, at most

LineTest = Callable[[np.ndarray, np.ndarray], bool]
"""Returns whether the straight motion from one posture (n,) to another is allowed."""


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
    failures = 0
    for _ in range(TRIES):
        if len(path) <= 2 or failures >= PATIENCE or stopped():
            break
        shorter = _shortcut(path, units, line_is_free, random)
        failures = failures + 1 if shorter is None else 0
        path = path if shorter is None else shorter
    return path


def lengths(path: np.ndarray, units: np.ndarray) -> np.ndarray:
    """
    Return the lengths of the lines of a path, (k−1,).

    :param path: (k, n) corners [rad] or [m].
    :param units: (n,) motion of each joint that counts as 1.
    """
    return np.asarray(np.linalg.norm(np.diff(path, axis=0) / units, axis=1))


def _reduced(path: np.ndarray, line_is_free: LineTest, stopped: Callable[[], bool]) -> np.ndarray:
    """Return a path without the corners that a straight line may leave out."""
    kept, i = [0], 0
    while i < len(path) - 1:
        ahead = len(path) - 1
        while ahead > i + 1 and not stopped() and not line_is_free(path[i], path[ahead]):
            ahead = i + (ahead - i + 1) // 2 if ahead - i > 2 else i + 1
        i = ahead if ahead == i + 1 or not stopped() else i + 1
        kept.append(i)
    return path[kept]


def _shortcut(
    path: np.ndarray, units: np.ndarray, line_is_free: LineTest, random: np.random.Generator
) -> np.ndarray | None:
    """Return a path with a straight line between two random places; None where that is no gain."""
    sizes = lengths(path, units)
    ends = np.concatenate([[0.0], np.cumsum(sizes)])
    a, b = np.sort(random.uniform(0.0, ends[-1], 2)).tolist()
    i, j = (int(np.searchsorted(ends, s, 'right')) - 1 for s in (a, b))
    j = min(j, len(sizes) - 1)
    if i == j:
        return None
    p, q = (
        path[k] + (path[k + 1] - path[k]) * ((s - ends[k]) / sizes[k]) for k, s in ((i, a), (j, b))
    )
    if np.linalg.norm((q - p) / units) > _GAIN * (b - a) or not line_is_free(p, q):
        return None
    return np.concatenate([path[: i + 1], [p, q], path[j + 1 :]])
