"""Choice of some from many that lie apart: of places, and of poses."""

from __future__ import annotations

import numpy as np

_RADIUS = 0.3  # of a tool: a point so far from the tip tells how orientations differ [m]


def apart(places: np.ndarray, order: np.ndarray, distance: float, count: int) -> np.ndarray:
    """
    Choose places that lie apart, the best first.

    :param places: (C, 4) x, y, z [m] and yaw [rad].
    :param order: (C,) their numbers, the best first.
    :param distance: of any two that are chosen, at least [m].
    :param count: how many, at most.
    :returns: numbers of those chosen, in the order.
    """
    chosen: list[int] = []
    left = order
    while len(left) and len(chosen) < count:
        number = int(left[0])
        chosen.append(number)
        away = np.linalg.norm(places[left, :3] - places[number, :3], axis=1)
        away[0] = 0.0
        left = left[(away >= distance) & (away > 0.0)]
    return np.array(chosen, int)


def spread_poses(poses: np.ndarray, count: int) -> np.ndarray:
    """
    Choose poses that differ as much as possible, in position and orientation.

    Each is the one that is farthest from all chosen before it, so that the outermost come first
    (T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985).

    :param poses: (K, 4, 4).
    :param count: how many, at most.
    :returns: their numbers, sorted.
    """
    if len(poses) <= count:
        return np.arange(len(poses))
    axes = _RADIUS * poses[:, :3, :3].reshape(-1, 9)
    points = np.hstack([poses[:, :3, 3], axes])
    chosen = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    away = np.linalg.norm(points - points[chosen[0]], axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.sort(np.array(chosen))
