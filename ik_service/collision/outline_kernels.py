"""
Compiled comparison of outlines.

Two outlines are apart when the shadows that they cast on some line do not overlap; lines are tried
that separate them most often (Gottschalk, Lin & Manocha, "OBBTree", SIGGRAPH 1996, whose 15 lines
are exact for boxes). What is not proven to be apart is left to Coal.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel

# Gap below which Coal decides, which has a tolerance of its own [m].
_CLOSE = 1e-5
_PARALLEL = 1e-6  # a sine below which two lines have no common perpendicular


@inner_kernel
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


@inner_kernel
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
        return max(0.0, abs(w) - outlines[i, 15])
    u = dx * outlines[i, 0] + dy * outlines[i, 1] + dz * outlines[i, 2]
    v = dx * outlines[i, 3] + dy * outlines[i, 4] + dz * outlines[i, 5]
    w = max(0.0, abs(w) - outlines[i, 14])
    if outlines[i, 16] == 1.0:
        u, v = max(0.0, math.sqrt(u * u + v * v) - outlines[i, 12]), 0.0
    else:
        u, v = max(0.0, abs(u) - outlines[i, 12]), max(0.0, abs(v) - outlines[i, 13])
    return max(0.0, math.sqrt(u * u + v * v + w * w) - outlines[i, 15])


@inner_kernel
def separates(pair, x, y, z):
    """
    Return whether two outlines are apart on a line.

    :param pair: (2, 17) the outlines.
    :param x: vector along the line, of any length; ``y`` and ``z`` likewise.
    """
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < _PARALLEL:
        return False
    x, y, z = x / norm, y / norm, z / norm
    gap = abs(
        x * (pair[1, 9] - pair[0, 9])
        + y * (pair[1, 10] - pair[0, 10])
        + z * (pair[1, 11] - pair[0, 11])
    )
    return gap > half_shadow(pair, 0, x, y, z) + half_shadow(pair, 1, x, y, z) + _CLOSE


@inner_kernel
def separates_along_axes(pair, i):
    """
    Return whether two outlines are apart on an axis of one, or towards the other's origin.

    :param pair: (2, 17) the outlines.
    :param i: which one.
    """
    for k in range(0, 9, 3):
        if separates(pair, pair[i, k], pair[i, k + 1], pair[i, k + 2]):
            return True
    x, y, z = 0.0, 0.0, 0.0
    dx = pair[1 - i, 9] - pair[i, 9]
    dy = pair[1 - i, 10] - pair[i, 10]
    dz = pair[1 - i, 11] - pair[i, 11]
    for axis in range(3):  # from the nearest point of its core
        k = 3 * axis
        along = dx * pair[i, k] + dy * pair[i, k + 1] + dz * pair[i, k + 2]
        half = pair[i, 12 + axis]
        if pair[i, 16] == 1.0 and axis < 2:
            half = 0.0
        along -= min(max(along, -half), half)
        x += along * pair[i, k]
        y += along * pair[i, k + 1]
        z += along * pair[i, k + 2]
    return separates(pair, x, y, z)


@inner_kernel
def apart(pair):
    """
    Return whether two outlines are proven to be apart.

    :param pair: (2, 17) the outlines.
    """
    for i in range(2):
        if pair[i, 16] == 2.0:
            return separates(pair, pair[i, 6], pair[i, 7], pair[i, 8])
    dx, dy, dz = pair[1, 9] - pair[0, 9], pair[1, 10] - pair[0, 10], pair[1, 11] - pair[0, 11]
    if separates(pair, dx, dy, dz):
        return True
    for i in range(2):
        if separates_along_axes(pair, i):
            return True
    for a in range(0, 9, 3):
        for b in range(0, 9, 3):
            x = pair[0, a + 1] * pair[1, b + 2] - pair[0, a + 2] * pair[1, b + 1]
            y = pair[0, a + 2] * pair[1, b] - pair[0, a] * pair[1, b + 2]
            z = pair[0, a] * pair[1, b + 1] - pair[0, a + 1] * pair[1, b]
            if separates(pair, x, y, z):
                return True
    return False
