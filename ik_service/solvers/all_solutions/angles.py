"""
Angles that solve trigonometric equations, in kernels.

With z = exp(iθ), a trigonometric polynomial of degree n in θ is a polynomial of degree 2n in z,
whose roots on the unit circle are the angles. All roots of one are found at once by the iteration
of O. Aberth, "Iteration methods for finding all zeros of a polynomial simultaneously", 1973.
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from ik_service.jit.compile import inner_kernel

DEGREE = 8  # degree of the trigonometric polynomials of which samples are taken, at most
ROOTS = 2 * DEGREE  # roots that :func:`find_roots` finds
SAMPLES = 20  # number of samples; those beyond 17 show how precise they are
ROUNDING = 2e-14
"""Error of a polynomial that is computed from samples, as a share of its largest coefficient."""
# How far beyond its range a cosine may lie, and how far from the unit circle a root: a value that
# close to a solution is made one, or refused, by the iteration that starts there.
_SLACK = 1e-3
# Share of the largest coefficient below which one counts as zero.
_ZERO = 1e-9
_ITERATIONS = 60
_CONVERGED = 1e-14
# Iterations for the sixteen roots, at most, the largest correction at their end, and the one below
# which those that shrink no more are noise, as they are where roots meet.
_MOST_ITERATIONS = 100
_LEAST_CORRECTION = 1e-10
_NOISE = 1e-6
# What keeps squares that are divided by above zero.
_TINY = 1e-300


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


def fourier_waves(first: float = 0.0) -> np.ndarray:
    """Return (20, 20) ten cosines, ten sines of samples from an angle on, but for the scale."""
    angles = first + 2.0 * math.pi / SAMPLES * np.arange(SAMPLES)
    phases = np.outer(np.arange(DEGREE + 2), angles)
    return np.vstack([np.cos(phases), np.sin(phases)])


@inner_kernel
def write_coefficients(waves, samples, coefficients):
    """
    Write the coefficients in z of a trigonometric polynomial from its samples.

    :param waves: see :func:`fourier_waves`.
    :param samples: (20,).
    :param coefficients: (2, 17) out: real and imaginary parts, of the constant first.
    :returns: the largest of them, and the one beyond the last, which is zero but for rounding.
    """
    largest = noise = 0.0
    for m in range(DEGREE + 2):
        c = s = 0.0
        for lane in range(SAMPLES):
            c += waves[m, lane] * samples[lane]
            s += waves[DEGREE + 2 + m, lane] * samples[lane]
        if m > DEGREE:
            noise = math.hypot(c, s)
        else:
            largest = max(largest, math.hypot(c, s))
            coefficients[0, DEGREE + m], coefficients[1, DEGREE + m] = c, -s
            coefficients[0, DEGREE - m], coefficients[1, DEGREE - m] = c, s
    return largest, noise


@inner_kernel
def find_roots(coefficients, roots):
    """
    Write the roots of a polynomial of degree 16.

    Each loop over the roots does the same for all of them, so that it can be vector code.

    :param coefficients: (2, 17) real and imaginary parts, of the constant first.
    :param roots: (8, 16) out: real and imaginary parts in the first two rows; scratch in the rest.
    """
    for k in range(ROOTS):
        angle = 2.0 * math.pi * k / ROOTS + 0.3
        radius = 0.75 if k % 2 == 0 else 1.0 / 0.75
        roots[0, k], roots[1, k] = radius * math.cos(angle), radius * math.sin(angle)
    before = math.inf
    for _ in range(_MOST_ITERATIONS):
        _write_values(coefficients, roots)
        _write_inverse_distances(roots)
        largest = _move_roots(roots)
        if largest < _LEAST_CORRECTION or before <= largest < _NOISE:
            break
        before = largest


@inner_kernel
def _write_values(coefficients, roots):
    """Write value and slope of the polynomial at each root, by Horner's scheme."""
    re, im, value_re, value_im = roots[0], roots[1], roots[2], roots[3]
    slope_re, slope_im = roots[4], roots[5]
    for k in range(ROOTS):
        value_re[k], value_im[k] = coefficients[0, ROOTS], coefficients[1, ROOTS]
        slope_re[k] = slope_im[k] = 0.0
    for m in range(ROOTS - 1, -1, -1):
        next_re, next_im = coefficients[0, m], coefficients[1, m]
        for k in range(ROOTS):
            x, y, slope, value = re[k], im[k], slope_re[k], value_re[k]
            slope_re[k] = slope * x - slope_im[k] * y + value
            slope_im[k] = slope * y + slope_im[k] * x + value_im[k]
            value_re[k] = value * x - value_im[k] * y + next_re
            value_im[k] = value * y + value_im[k] * x + next_im


@inner_kernel
def _write_inverse_distances(roots):
    """Write the sum of 1 / (z - w) over the other roots w, for each root z."""
    re, im, sum_re, sum_im = roots[0], roots[1], roots[6], roots[7]
    for k in range(ROOTS):
        sum_re[k] = sum_im[k] = 0.0
    for m in range(ROOTS):
        other_re, other_im = re[m], im[m]
        for k in range(ROOTS):
            x, y = re[k] - other_re, im[k] - other_im
            scale = 1.0 / (x * x + y * y + _TINY)
            sum_re[k] += scale * x
            sum_im[k] -= scale * y


@inner_kernel
def _move_roots(roots):
    """Subtract the correction from each root; returns the largest, of 1 / z where |z| > 1."""
    re, im, value_re, value_im = roots[0], roots[1], roots[2], roots[3]
    slope_re, slope_im, sum_re, sum_im = roots[4], roots[5], roots[6], roots[7]
    largest = 0.0
    for k in range(ROOTS):
        a = slope_re[k] - value_re[k] * sum_re[k] + value_im[k] * sum_im[k]
        b = slope_im[k] - value_re[k] * sum_im[k] - value_im[k] * sum_re[k]
        scale = 1.0 / (a * a + b * b + _TINY)
        x = scale * (value_re[k] * a + value_im[k] * b)
        y = scale * (value_im[k] * a - value_re[k] * b)
        re[k] -= x
        im[k] -= y
        square = re[k] * re[k] + im[k] * im[k]
        largest = max(largest, (abs(x) + abs(y)) / max(square, 1.0))
    return largest


@inner_kernel
def root_error(roots, k, error):
    """
    Return how far a root may be off: where two meet, by the square root of the error there.

    :param roots: (8, 16), see :func:`find_roots`.
    :param k: number of the root.
    :param error: of the polynomial.
    """
    nearest = math.inf
    for m in range(ROOTS):
        if m != k:
            x, y = roots[0, k] - roots[0, m], roots[1, k] - roots[1, m]
            nearest = min(nearest, math.hypot(x, y))
    alone = error / (math.hypot(roots[4, k], roots[5, k]) + _TINY)
    return min(alone, math.sqrt(alone * nearest))
