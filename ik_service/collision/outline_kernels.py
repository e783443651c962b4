"""
Compiled comparison of outlines.

Two outlines are apart when the shadows that they cast on some line do not overlap; lines are tried
that separate them most often (Gottschalk, Lin & Manocha, "OBBTree", SIGGRAPH 1996, whose 15 lines
are exact for boxes). What is not proven to be apart is left to Coal.
"""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inlined_kernel, inner_kernel

# Gap below which Coal decides, which has a tolerance of its own [m].
_CLOSE = 1e-5
_PARALLEL = 1e-6  # a sine below which two lines have no common perpendicular


@inlined_kernel
def half_shadow(outlines, i, x, y, z):
    """
    Return half the length of the shadow that an outline casts on a line.

    :param outlines: (k, 17) outlines.
    :param i: row.
    :param x: unit vector along the line; ``y`` and ``z`` likewise.
    """
    a = x * outlines[i, 6] + y * outlines[i, 7] + z * outlines[i, 8]
    if outlines[i, 16] == 1.0:
        return outlines[i, 14] * abs(a) + outlines[i, 12] * math.sqrt(max(0.0, 1.0 - a * a))
    b = x * outlines[i, 0] + y * outlines[i, 1] + z * outlines[i, 2]
    c = x * outlines[i, 3] + y * outlines[i, 4] + z * outlines[i, 5]
    return (
        outlines[i, 12] * abs(b)
        + outlines[i, 13] * abs(c)
        + outlines[i, 14] * abs(a)
        + outlines[i, 15]
    )


@inlined_kernel
def point_distance(outlines, i, x, y, z):
    """
    Return the distance of a point from an outline; 0 inside.

    :param outlines: (k, 17) outlines.
    :param i: row.
    :param x: the point [m]; ``y`` and ``z`` likewise.
    """
    dx, dy, dz = x - outlines[i, 9], y - outlines[i, 10], z - outlines[i, 11]
    w = dx * outlines[i, 6] + dy * outlines[i, 7] + dz * outlines[i, 8]
    if outlines[i, 16] == 2.0:
        return abs(w)
    u = dx * outlines[i, 0] + dy * outlines[i, 1] + dz * outlines[i, 2]
    v = dx * outlines[i, 3] + dy * outlines[i, 4] + dz * outlines[i, 5]
    w = max(0.0, abs(w) - outlines[i, 14])
    if outlines[i, 16] == 1.0:
        u, v = max(0.0, math.sqrt(u * u + v * v) - outlines[i, 12]), 0.0
    else:
        u, v = max(0.0, abs(u) - outlines[i, 12]), max(0.0, abs(v) - outlines[i, 13])
    return max(0.0, math.sqrt(u * u + v * v + w * w) - outlines[i, 15])


@inner_kernel
def separates(first, i, second, j, x, y, z):
    """
    Return whether two outlines are apart on a line.

    :param first: (k, 17) outlines.
    :param i: row of one.
    :param second: (k, 17) outlines.
    :param j: row of the other.
    :param x: vector along the line, of any length; ``y`` and ``z`` likewise.
    """
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < _PARALLEL:
        return False
    x, y, z = x / norm, y / norm, z / norm
    gap = abs(
        x * (second[j, 9] - first[i, 9])
        + y * (second[j, 10] - first[i, 10])
        + z * (second[j, 11] - first[i, 11])
    )
    return gap > half_shadow(first, i, x, y, z) + half_shadow(second, j, x, y, z) + _CLOSE


@inner_kernel
def separates_along_axes(first, i, second, j):
    """
    Return whether two outlines are apart on an axis of the first, or towards the second's origin.

    :param first: (k, 17) outlines.
    :param i: row of the first.
    :param second: (k, 17) outlines.
    :param j: row of the second.
    """
    for axis in range(3):
        k = 3 * axis
        if separates(first, i, second, j, first[i, k], first[i, k + 1], first[i, k + 2]):
            return True
    x, y, z = 0.0, 0.0, 0.0
    dx = second[j, 9] - first[i, 9]
    dy = second[j, 10] - first[i, 10]
    dz = second[j, 11] - first[i, 11]
    for axis in range(3):  # from the nearest point of the first one's core
        k = 3 * axis
        along = dx * first[i, k] + dy * first[i, k + 1] + dz * first[i, k + 2]
        half = first[i, 12 + axis]
        if first[i, 16] == 1.0 and axis < 2:
            half = 0.0
        along -= min(max(along, -half), half)
        x += along * first[i, k]
        y += along * first[i, k + 1]
        z += along * first[i, k + 2]
    return separates(first, i, second, j, x, y, z)


@inner_kernel
def apart(first, i, second, j):
    """
    Return whether two outlines are proven to be apart.

    :param first: (k, 17) outlines.
    :param i: row of one.
    :param second: (k, 17) outlines.
    :param j: row of the other.
    """
    if first[i, 16] == 2.0:
        return separates(first, i, second, j, first[i, 6], first[i, 7], first[i, 8])
    if second[j, 16] == 2.0:
        return separates(first, i, second, j, second[j, 6], second[j, 7], second[j, 8])
    dx = second[j, 9] - first[i, 9]
    dy = second[j, 10] - first[i, 10]
    dz = second[j, 11] - first[i, 11]
    if separates(first, i, second, j, dx, dy, dz):
        return True
    if separates_along_axes(first, i, second, j) or separates_along_axes(second, j, first, i):
        return True
    for a in range(0, 9, 3):
        for b in range(0, 9, 3):
            x = first[i, a + 1] * second[j, b + 2] - first[i, a + 2] * second[j, b + 1]
            y = first[i, a + 2] * second[j, b] - first[i, a] * second[j, b + 2]
            z = first[i, a] * second[j, b + 1] - first[i, a + 1] * second[j, b]
            if separates(first, i, second, j, x, y, z):
                return True
    return False
