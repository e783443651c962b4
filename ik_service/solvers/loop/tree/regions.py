"""
Regions in kernels: the vector from a region to a point, and its derivative.

The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.loop.tree.goal_row import EXTENTS, KIND
from ik_service.solvers.regions import Box, Sphere

_BOX, _SPHERE = Box.number, Sphere.number
# A tolerance has to be so many times the solver's own for the solver to aim inside it.
_WIDE = 9.0


@inner_kernel
def inset(tolerance, margin):
    """
    Return the tolerance to aim at: less the margin where it is wide enough.

    :param tolerance: [m] or [rad].
    """
    return tolerance - margin if tolerance >= _WIDE * margin else tolerance


@inner_kernel
def beyond(value, tolerance):
    """
    Return what a value is beyond its tolerance on either side, with its sign.

    :param value: [m] or [rad].
    :param tolerance: likewise; may be infinite.
    """
    return max(value - tolerance, 0.0) + min(value + tolerance, 0.0)


@inner_kernel
def counts(value, tolerance):
    """
    Return 1.0 where the derivative of :func:`beyond` is 1, or the tolerance 0, else 0.0.

    :param value: [m] or [rad].
    :param tolerance: likewise.
    """
    return 1.0 if tolerance == 0.0 or abs(value) > tolerance else 0.0


@inner_kernel
def region_excess(goal, margin, x, y, z):
    """
    Return the shortest vector from a region to a point (x, y, z) [m], all in its frame.

    :param x: of the point; ``y`` and ``z`` likewise.
    """
    kind = goal[KIND]
    if kind == _BOX:
        return (
            beyond(x, inset(goal[EXTENTS], margin)),
            beyond(y, inset(goal[EXTENTS + 1], margin)),
            beyond(z, inset(goal[EXTENTS + 2], margin)),
        )
    radius = inset(goal[EXTENTS], margin)
    if kind == _SPHERE:
        share = _share_beyond(x * x + y * y + z * z, radius)
        return share * x, share * y, share * z
    share = _share_beyond(x * x + y * y, radius)
    return share * x, share * y, beyond(z, inset(goal[EXTENTS + 2], margin))


@inner_kernel
def _share_beyond(square, radius):
    """Return the share of a vector of this squared length that is beyond a radius."""
    distance = math.sqrt(square)
    return 1.0 - radius / distance if distance > radius else 0.0


@inner_kernel
def region_derivative(goal, margin, x, y, z, matrix):
    """
    Write the derivative of :func:`region_excess` by the point.

    :param x: of the point; ``y`` and ``z`` likewise.
    :param matrix: (9,) out: 3 × 3, row by row.
    """
    fill_vector(matrix, 0.0)
    kind = goal[KIND]
    if kind == _BOX:
        matrix[0] = counts(x, inset(goal[EXTENTS], margin))
        matrix[4] = counts(y, inset(goal[EXTENTS + 1], margin))
        matrix[8] = counts(z, inset(goal[EXTENTS + 2], margin))
        return
    round_in_z = 1.0 if kind == _SPHERE else 0.0
    square = x * x + y * y + round_in_z * z * z
    radius = inset(goal[EXTENTS], margin)
    if radius == 0.0 or square > radius * radius:
        share = _share_beyond(square, radius) if radius > 0.0 else 1.0
        across = (1.0 - share) / square if square > 0.0 else 0.0
        matrix[0], matrix[1], matrix[2] = share + across * x * x, across * x * y, across * x * z
        matrix[3], matrix[4], matrix[5] = across * y * x, share + across * y * y, across * y * z
        matrix[6], matrix[7], matrix[8] = across * z * x, across * z * y, share + across * z * z
    if kind != _SPHERE:
        matrix[2] = matrix[5] = matrix[6] = matrix[7] = 0.0
        matrix[8] = counts(z, inset(goal[EXTENTS + 2], margin))
