"""
Regions of positions and tolerances of angles, and the derivatives of the excess over them.

With R = R_targetᵀ R_tip and ω the angular velocity of the tip in the target's frame, the rotation
vector φ of R changes as Jl⁻¹(φ) ω, with the inverse of the left Jacobian of SO(3):
I − ½ [φ]× + (1/θ² − 1 / (2 θ tan(θ/2))) [φ]×² (T. D. Barfoot, State Estimation for Robotics, 2017,
equation 7.37). The angles of R = Rx(a) Ry(b) Rz(c) change with the inverse of the matrix whose
columns are the axes of these three rotations.
The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import fill_vector
from ik_service.model.geometry.solids import Box, Sphere
from ik_service.solvers.loop.tree.problem import (
    END,
    EXTENTS,
    KIND,
    ROTATION_VECTOR,
    TARGET,
    TOLERANCES,
    TURNING,
)

_BOX, _SPHERE = Box.number, Sphere.number
# A tolerance has to be so many times the solver's own for the solver to inset it.
_WIDE = 9.0


@inner_kernel
def inset(tolerance, margin):
    """Return the tolerance of the search [m] or [rad]: less the margin where it is wide enough."""
    return tolerance - margin if tolerance >= _WIDE * margin else tolerance


@inner_kernel
def beyond(value, tolerance):
    """Return the signed excess of a value over its tolerance on either side [m] or [rad]."""
    return max(value - tolerance, 0.0) + min(value + tolerance, 0.0)


@inner_kernel
def counts(value, tolerance):
    """Return 1.0 where the derivative of :func:`beyond` is 1, or the tolerance 0, else 0.0."""
    return 1.0 if tolerance == 0.0 or abs(value) > tolerance else 0.0


@inner_kernel
def region_excess(goal, margin, x, y, z):
    """Return the shortest vector from a region to a point (x, y, z) [m], all in its frame."""
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
    """Write the derivative of :func:`region_excess` by the point, a matrix (9,) by rows."""
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


# Cosine of b below which only a sum or a difference of a and c counts, and below which the rates
# of both are no larger than they are there.
_GIMBAL_LOCK = 1e-9
_STEEP = 0.05


@inner_kernel
def angle_excess(frame, goal, margin, twist):
    """
    Return the excess of each of the three angles over its tolerance [rad].

    :param frame: (12,) frame behind the last joint.
    :param twist: (6,) its last three numbers are the rotation vector of R_target R_tipᵀ.
    """
    a, b, c = angles(frame, goal, margin, twist)
    return (
        beyond(a, inset(goal[TOLERANCES], margin)),
        beyond(b, inset(goal[TOLERANCES + 1], margin)),
        beyond(c, inset(goal[TOLERANCES + 2], margin)),
    )


@inner_kernel
def angles(frame, goal, margin, twist):
    """
    Return the three angles that have tolerances [rad].

    :param frame: (12,) frame behind the last joint.
    :param twist: (6,) its last three numbers are the rotation vector of R_target R_tipᵀ.
    """
    if goal[TURNING] == ROTATION_VECTOR:
        return along_axes(goal[TARGET : TARGET + 9], -twist[3], -twist[4], -twist[5])
    return _euler_angles(frame, goal, margin)


@inner_kernel
def along_axes(axes, x, y, z):
    """Return the components of a vector along three axes (9,)."""
    return (
        axes[0] * x + axes[1] * y + axes[2] * z,
        axes[3] * x + axes[4] * y + axes[5] * z,
        axes[6] * x + axes[7] * y + axes[8] * z,
    )


@inner_kernel
def _euler_angles(frame, goal, margin):
    """Return the one of both triples that fits better [rad]."""
    xx, xy, xz = _component(frame, goal, 0, 0), _component(frame, goal, 0, 1), 0.0
    yy, zy = _component(frame, goal, 1, 1), _component(frame, goal, 2, 1)
    yz = zz = 0.0
    for j in range(3):
        xz += goal[TARGET + j] * frame[6 + j]
        yz += goal[TARGET + 3 + j] * frame[6 + j]
        zz += goal[TARGET + 6 + j] * frame[6 + j]
    cosine = math.sqrt(xx * xx + xy * xy)
    b = math.atan2(xz, cosine)
    if cosine < _GIMBAL_LOCK:
        a, c = math.atan2(zy, yy), 0.0
        a2, b2, c2 = 0.0, b, a if b > 0.0 else -a
    else:
        a, c = math.atan2(-yz, zz), math.atan2(-xy, xx)
        b2 = (math.pi if b > 0.0 else -math.pi) - b
        a2, c2 = math.atan2(yz, -zz), math.atan2(xy, -xx)
    if _misfit(goal, margin, a2, b2, c2) < _misfit(goal, margin, a, b, c):
        return a2, b2, c2
    return a, b, c


@inner_kernel
def _component(frame, goal, i, j):
    """Return the component along axis i of the target of the tip's x axis (j = 0) or y axis."""
    c, s = goal[END], goal[END + 1]
    if j == 1:
        c, s = -s, c
    total = 0.0
    for k in range(3):
        total += goal[TARGET + 3 * i + k] * (c * frame[k] + s * frame[3 + k])
    return total


@inner_kernel
def _misfit(goal, margin, a, b, c):
    """Return the squared norm of the excess of three angles over their tolerances."""
    a = beyond(a, inset(goal[TOLERANCES], margin))
    b = beyond(b, inset(goal[TOLERANCES + 1], margin))
    c = beyond(c, inset(goal[TOLERANCES + 2], margin))
    return a * a + b * b + c * c


@inner_kernel
def angle_derivative(goal, margin, a, b, c, matrix):
    """
    Write the derivative of :func:`angle_excess` by the angular velocity in the target's frame.

    :param a: first angle [rad]; ``b`` and ``c`` likewise.
    :param matrix: (9,) out: 3 × 3, row by row.
    """
    if goal[TURNING] == ROTATION_VECTOR:
        _inverse_left_jacobian(a, b, c, matrix)
    else:
        _inverse_euler_rates(a, b, matrix)
    for i in range(3):
        angle = a if i == 0 else b if i == 1 else c
        if counts(angle, inset(goal[TOLERANCES + i], margin)) == 0.0:
            fill_vector(matrix[3 * i : 3 * i + 3], 0.0)


@inner_kernel
def _inverse_left_jacobian(x, y, z, matrix):
    """Write the inverse of the left Jacobian of SO(3) for a rotation vector."""
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    # Towards 0 the exact form loses its digits; the series is good to 1e-12 there.
    share = 1.0 / 12.0 + square / 720.0
    if angle > 0.05:
        share = 1.0 / square - 0.5 / (angle * math.tan(0.5 * angle))
    matrix[0] = 1.0 - share * (y * y + z * z)
    matrix[1] = 0.5 * z + share * x * y
    matrix[2] = -0.5 * y + share * x * z
    matrix[3] = -0.5 * z + share * x * y
    matrix[4] = 1.0 - share * (x * x + z * z)
    matrix[5] = 0.5 * x + share * y * z
    matrix[6] = 0.5 * y + share * x * z
    matrix[7] = -0.5 * x + share * y * z
    matrix[8] = 1.0 - share * (x * x + y * y)


@inner_kernel
def _inverse_euler_rates(a, b, matrix):
    """Write the rates of the angles per angular velocity, bounded near b = ±90°."""
    sa, ca, sb, cb = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
    if abs(cb) < _STEEP:
        cb = _STEEP if cb >= 0.0 else -_STEEP
    matrix[0], matrix[1], matrix[2] = 1.0, sb * sa / cb, -sb * ca / cb
    matrix[3], matrix[4], matrix[5] = 0.0, ca, sa
    matrix[6], matrix[7], matrix[8] = 0.0, -sa / cb, ca / cb
