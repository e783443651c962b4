"""Vectors of three floats as tuples, in kernels."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel


@inner_kernel
def vector_at(array, first):
    """Return three elements of an array as a vector."""
    return array[first], array[first + 1], array[first + 2]


@inner_kernel
def dot(a, b):
    """Return the inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner_kernel
def cross(a, b):
    """Return the cross product a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inner_kernel
def plus(a, factor, b):
    """Return a + factor · b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@inner_kernel
def times(factor, v):
    """Return factor · v."""
    return factor * v[0], factor * v[1], factor * v[2]


@inner_kernel
def turned(v, axis, angle):
    """Return a vector turned about an axis through the origin."""
    return turned_by(v, axis, math.cos(angle), math.sin(angle))


@inner_kernel
def turned_by(v, axis, c, s):
    """Return a vector turned by an angle of which cosine and sine are given (Rodrigues)."""
    k = cross(axis, v)
    along = (1.0 - c) * dot(axis, v)
    return (
        c * v[0] + s * k[0] + along * axis[0],
        c * v[1] + s * k[1] + along * axis[1],
        c * v[2] + s * k[2] + along * axis[2],
    )


@inner_kernel
def turned_about(p, origin, axis, angle):
    """Return a point turned about an axis."""
    return plus(origin, 1.0, turned(plus(p, -1.0, origin), axis, angle))


@inner_kernel
def angle_about(axis, a, b):
    """
    Return the angle about an axis from one vector to another; 0 where one is parallel to it.

    Subproblem 1 of Paden and Kahan.
    """
    return math.atan2(dot(axis, cross(a, b)), dot(a, b) - dot(axis, a) * dot(axis, b))


@inner_kernel
def rotated(frame, v):
    """Return R v, where the frame is (12,): columns of R, then a point."""
    return (
        frame[0] * v[0] + frame[3] * v[1] + frame[6] * v[2],
        frame[1] * v[0] + frame[4] * v[1] + frame[7] * v[2],
        frame[2] * v[0] + frame[5] * v[1] + frame[8] * v[2],
    )


@inner_kernel
def rotated_back(frame, v):
    """Return Rᵀ v, where the frame is (12,): columns of R, then a point."""
    return (
        frame[0] * v[0] + frame[1] * v[1] + frame[2] * v[2],
        frame[3] * v[0] + frame[4] * v[1] + frame[5] * v[2],
        frame[6] * v[0] + frame[7] * v[1] + frame[8] * v[2],
    )


@inner_kernel
def perpendicular(h):
    """Return a vector that is perpendicular to a unit vector, not of unit length."""
    if abs(h[0]) < 0.7:
        return cross(h, (1.0, 0.0, 0.0))
    return cross(h, (0.0, 1.0, 0.0))
