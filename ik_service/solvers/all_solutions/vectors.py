"""Vectors of three floats as tuples, in kernels."""

from __future__ import annotations

import cmath
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
    """Return a vector turned about an axis through the origin (Rodrigues)."""
    c, s = math.cos(angle), math.sin(angle)
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
    """
    Return R v.

    :param frame: (12,) columns of R, then a point.
    """
    return (
        frame[0] * v[0] + frame[3] * v[1] + frame[6] * v[2],
        frame[1] * v[0] + frame[4] * v[1] + frame[7] * v[2],
        frame[2] * v[0] + frame[5] * v[1] + frame[8] * v[2],
    )


@inner_kernel
def rotated_back(frame, v):
    """
    Return Rᵀ v.

    :param frame: (12,) columns of R, then a point.
    """
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


# How far beyond its range a cosine may lie, and how far from the unit circle a root: a value that
# close to a solution is made one, or refused, by the iteration that starts there.
_SLACK = 1e-3
# Share of the largest coefficient below which one counts as zero.
_ZERO = 1e-9
_ITERATIONS = 60
_CONVERGED = 1e-14


@inner_kernel
def first_degree_roots(a, b, d, roots):
    """
    Write the angles with a cos θ + b sin θ = d.

    :param roots: (4,) out [rad].
    :returns: their number: 0 or 2, which can be equal. Where every angle is one, 0 and π.
    """
    length = math.hypot(a, b)
    if not abs(d) <= length * (1.0 + _SLACK) + _ZERO:
        return 0
    middle = math.atan2(b, a)
    half = math.acos(min(max(d / length, -1.0), 1.0)) if length > _ZERO else 0.5 * math.pi
    roots[0] = middle + half
    roots[1] = middle - half
    return 2


@inner_kernel
def second_degree_roots(c0, a1, b1, a2, b2, roots):
    """
    Write the angles with c0 + a1 cos θ + b1 sin θ + a2 cos 2θ + b2 sin 2θ = 0.

    With z = exp(iθ) that is a polynomial of fourth degree. Its roots are found all at once by the
    iteration of Aberth (1973), and those on the unit circle are the angles.

    :param roots: (4,) out [rad].
    :returns: their number, 0 to 4; equal ones are counted as often as they occur.
    """
    largest = max(abs(c0), abs(a1), abs(b1), abs(a2), abs(b2))
    if math.hypot(a2, b2) <= _ZERO * largest:
        return first_degree_roots(a1, b1, -c0, roots)
    p4, p3 = complex(0.5 * a2, -0.5 * b2), complex(0.5 * a1, -0.5 * b1)
    p1, p0 = complex(0.5 * a1, 0.5 * b1), complex(0.5 * a2, 0.5 * b2)
    z0, z1, z2, z3 = complex(0.9, 0.5), complex(-0.6, 1.0), complex(-0.9, -0.6), complex(0.7, -1.0)
    for _ in range(_ITERATIONS):
        d0 = _aberth(p4, p3, c0, p1, p0, z0, z1, z2, z3)
        z0 -= d0
        d1 = _aberth(p4, p3, c0, p1, p0, z1, z0, z2, z3)
        z1 -= d1
        d2 = _aberth(p4, p3, c0, p1, p0, z2, z0, z1, z3)
        z2 -= d2
        d3 = _aberth(p4, p3, c0, p1, p0, z3, z0, z1, z2)
        z3 -= d3
        if max(_size(d0), _size(d1), _size(d2), _size(d3)) < _CONVERGED:
            break
    count = 0
    for z in (z0, z1, z2, z3):
        if abs(_size(z) - 1.0) < _SLACK:
            roots[count] = cmath.phase(z)
            count += 1
    return count


@inner_kernel
def _aberth(p4, p3, p2, p1, p0, z, u, v, w):
    """Return the correction of a root z, given the other three."""
    value = (((p4 * z + p3) * z + p2) * z + p1) * z + p0
    slope = ((4.0 * p4 * z + 3.0 * p3) * z + 2.0 * p2) * z + p1
    others = _inverse(z - u) + _inverse(z - v) + _inverse(z - w)
    return value * _inverse(slope - value * others)


@inner_kernel
def _inverse(z):
    """Return 1 / z, and 0 for 0: equal roots, or a root that is found."""
    square = z.real * z.real + z.imag * z.imag
    if square == 0.0:
        return complex(0.0, 0.0)
    return complex(z.real / square, -z.imag / square)


@inner_kernel
def _size(z):
    """Return the absolute value."""
    return math.hypot(z.real, z.imag)
