"""Triangles of solids of revolution, for viewers that draw no cones or capsules."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

_SIDES = 24  # corners of a circle
_RINGS = 6  # of half a ball


def cone_surface(radius: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the surface of a cone about z, its tip up, the origin at half height.

    :param radius: [m].
    :param height: [m].
    :returns: vertices (V, 3) [m], and triangles (M, 3) that face outwards.
    """
    return _revolved([(0.0, -height / 2), (radius, -height / 2), (0.0, height / 2)])


def cylinder_surface(
    radius: float, height: float, sides: int = _SIDES
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of a cylinder about z and the origin."""
    half = height / 2
    return _revolved([(0.0, -half), (radius, -half), (radius, half), (0.0, half)], sides)


def capsule_surface(
    radius: float, length: float, sides: int = _SIDES, rings: int = _RINGS, parts: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the surface of a capsule about z and the origin.

    :param radius: [m].
    :param length: that of its cylinder [m].
    :param sides: corners of a circle.
    :param rings: of half a ball.
    :param parts: of the cylinder.
    :returns: vertices (V, 3) [m], and triangles (M, 3) that face outwards.
    """
    angles = np.linspace(0.0, math.pi / 2, rings + 1)
    upper = np.column_stack([radius * np.cos(angles), radius * np.sin(angles) + length / 2])
    upper[-1, 0] = 0.0  # exactly at the axis
    between = np.linspace(-length / 2, length / 2, parts + 1)[1:-1]
    middle = np.column_stack([np.full(parts - 1, radius), between])
    return _revolved(np.vstack([upper[::-1] * [1.0, -1.0], middle, upper]), sides)


def _revolved(profile: ArrayLike, sides: int = _SIDES) -> tuple[np.ndarray, np.ndarray]:
    """Turn points (k, 2), by distance from z and height, from the lowest one to the highest."""
    points = np.asarray(profile, float)
    angles = 2.0 * math.pi * np.arange(sides) / sides
    r, z = (points[1:-1, i, None] for i in range(2))
    rings = np.stack(np.broadcast_arrays(r * np.cos(angles), r * np.sin(angles), z), axis=-1)
    ends = [[0.0, 0.0, points[0, 1]], [0.0, 0.0, points[-1, 1]]]
    vertices = np.vstack([rings.reshape(-1, 3), ends])
    here = np.arange(sides)
    after = (here + 1) % sides
    bottom, top = len(vertices) - 2, len(vertices) - 1
    last = bottom - sides  # first vertex of the highest ring
    triangles = [np.column_stack([after, here, np.full(sides, bottom)])]
    for below in range(0, last, sides):
        above = below + sides
        triangles += [
            np.column_stack([below + here, below + after, above + after]),
            np.column_stack([below + here, above + after, above + here]),
        ]
    triangles.append(np.column_stack([last + here, last + after, np.full(sides, top)]))
    return vertices, np.vstack(triangles)
