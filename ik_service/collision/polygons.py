"""Polygons of mesh files, parted into triangles: fans, and ears where those would leave them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def parted(vertices: np.ndarray, polygons: np.ndarray) -> np.ndarray:
    """
    Return polygons as triangles, n − 2 of each.

    A polygon is seen along its mean normal (of Newell). If all triangles of the fan about its
    first corner have the same sense there, they are its parts. Else ears are cut off, triangles of
    neighbouring corners that hold no other corner (Meisters, "Polygons have ears", 1975). Where a
    polygon crosses itself, and none is left, the rest becomes a fan.

    :param vertices: (k, 3).
    :param polygons: (m, n) indices of the corners of each.
    :returns: (m · (n − 2), 3) indices of the corners of each triangle.
    """
    count = polygons.shape[1]
    if count == 3:
        return polygons
    middle = np.arange(1, count - 1)
    fans = np.stack([np.broadcast_to(polygons[:, :1], (len(polygons), count - 2)),
                     polygons[:, middle], polygons[:, middle + 1]], axis=2)  # fmt: skip
    a, b, c = (vertices[fans[:, :, i]] for i in range(3))
    areas = np.cross(b - a, c - a)  # (m, n − 2, 3), doubled
    normals = areas.sum(axis=1)
    for row in np.flatnonzero(((areas @ normals[:, :, None])[:, :, 0] < 0.0).any(axis=1)):
        fans[row] = polygons[row][[*_ears(vertices[polygons[row]], normals[row])]]
    return fans.reshape(-1, 3)


def _ears(corners: np.ndarray, normal: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield the triangles of one polygon as indices of its corners (n, 3)."""
    axis = int(np.argmax(np.abs(normal)))
    points = np.delete(corners, axis, axis=1)
    if (normal[axis] < 0.0) != (axis == 1):  # clockwise as it is seen here
        points = points * [1.0, -1.0]
    ring = np.arange(len(points))
    while len(ring) > 3:
        for _ in range(len(ring)):
            if _is_ear(points[ring]):
                break
            ring = np.roll(ring, -1)
        yield ring[0], ring[1], ring[2]
        ring = np.roll(np.delete(ring, 1), 1)  # the next ear is likely beside it
    yield ring[0], ring[1], ring[2]


_ROUNDING = 1e-10  # area that may be none, as part of the square around a polygon


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _is_ear(points: np.ndarray) -> bool:
    """Return whether the first three points of a ring make a triangle without the others."""
    corners, others = points[:3], points[3:]
    sides = np.roll(corners, -1, axis=0) - corners
    bent, nothing = _cross(sides[0], sides[1]), _ROUNDING * np.ptp(points, axis=0).max() ** 2
    if abs(bent) <= nothing:
        return True  # three in a row, whatever else is there
    away = others[:, None] - corners  # (k, 3, 2)
    inside = _cross(sides, away) >= -nothing
    same = (others[:, None] == corners).all(axis=2).any(axis=1)  # of a ring that touches itself
    return bool(bent > 0.0) and not (inside.all(axis=1) & ~same).any()
