"""Roots of trigonometric equations of first and second degree, in kernels."""

from __future__ import annotations

import cmath
import math

from ik_service.jit.compile import inner_kernel

# How far beyond its range a cosine may lie, and how far from the unit circle a root: what is that
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

    :param a: coefficient.
    :param b: coefficient.
    :param d: right side.
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

    :param c0: coefficient.
    :param a1: coefficient.
    :param b1: coefficient.
    :param a2: coefficient.
    :param b2: coefficient.
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
