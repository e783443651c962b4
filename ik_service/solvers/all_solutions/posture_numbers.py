"""
Postures of an arm with a spherical wrist without trigonometric functions, many at once.

The first axes meet and the wrist's are at right angles. For a displacement, cosine and sine of
the first three angles, and inner products of the wrist's directions that say the others, are
p + q y + (r + t y) w: y is the sine of the elbow's angle from where it is stretched, and w the
distance of the wrist from the plane of the first two axes. y² is known, and with y so is w²; their
signs and that of the fifth angle are those of the eight postures.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.solvers.all_solutions.angles import SAMPLES
from ik_service.solvers.all_solutions.closed_forms import elbow_circle, elbow_terms
from ik_service.solvers.all_solutions.vectors import cross, dot, plus, times, vector_at

NUMBERS = 11
"""Numbers of a posture: five inner products, cosines and sines of the first three angles."""
# Error of the squares of cosine and sine, which add up to 1, from which on they are not precise.
_PRECISE = 1e-10
# Squares of y, of w by the wrist's distance, and of the sine in the wrist below which its posture
# may not be there, or is not precise.
_SINGULAR = 1e-6


# Numbers p + q y are pairs (p, q).
@inner_kernel
def _pair_product(a, b, square):
    """Return the product of two numbers with y."""
    return a[0] * b[0] + square * a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@inner_kernel
def _pair_times(a, v, square):
    """Return a number with y times a vector with y."""
    return (
        plus(times(a[0], v[0]), square * a[1], v[1]),
        plus(times(a[0], v[1]), a[1], v[0]),
    )


@inner_kernel
def _pair_dot(direction, v):
    """Return the inner product of a direction with a vector with y."""
    return dot(direction, v[0]), dot(direction, v[1])


@inner_kernel
def _pair_sum(a, b):
    """Return the sum of two vectors with y."""
    return plus(a[0], 1.0, b[0]), plus(a[1], 1.0, b[1])


@inner_kernel
def _pair_inner(v, w, square):
    """Return the inner product of two vectors with y."""
    return dot(v[0], w[0]) + square * dot(v[1], w[1]), dot(v[0], w[1]) + dot(v[1], w[0])


@inner_kernel
def write_numbers(arm, scratch):
    """
    Write the numbers of the postures for all samples of the parameter.

    Those before it are h₄, h₅ and h₄ × h₅ turned by the first three joints, e₁ e₂ e₃, those behind
    it h₆, h₅ and h₆ × h₅ turned by the displacement. The products are h₄ · h₆, h₅ · h₆,
    (h₄ × h₅) · h₆, h₄ · h₅ and h₄ · (h₆ × h₅).

    :param arm: :class:`~ik_service.solvers.all_solutions.critical_angles.Arm`.
    :param scratch: its :class:`~ik_service.solvers.all_solutions.critical_angles.Scratch`, with
        cosines and sines of the parameter.
    """
    form, axes = arm.form, arm.form.axes
    h1, h2, h3 = vector_at(axes[0], 0), vector_at(axes[1], 0), vector_at(axes[2], 0)
    h4, h5 = vector_at(axes[3], 0), vector_at(axes[4], 0)
    _, (d0, dc, ds) = elbow_terms(form)
    length = math.hypot(dc, ds)
    cosine, sine = dc / length, ds / length
    u, v, w = elbow_circle(form)
    between = dot(h1, h2)
    inverse = 1.0 / (1.0 - between * between)
    normal = times(math.sqrt(inverse), cross(h1, h2))
    vectors = scratch.vectors
    for lane in range(SAMPLES):
        c, s = scratch.cosines[lane], scratch.sines[lane]
        wrist = _sample(vectors, 0, c, s)
        k1, distance = dot(h1, wrist), dot(wrist, wrist)
        x = (distance - d0) / length
        y2 = 1.0 - x * x
        cos3, sin3 = (cosine * x, -sine), (sine * x, cosine)
        arm_2 = (
            plus(plus(u, cos3[0], v), sin3[0], w),
            plus(times(cos3[1], v), sin3[1], w),
        )
        k2 = _pair_dot(h2, arm_2)
        alpha = inverse * (k1 - between * k2[0]), -inverse * between * k2[1]
        beta = inverse * (k2[0] - between * k1), inverse * k2[1]
        k2k2, betak2 = _pair_product(k2, k2, y2), _pair_product(beta, k2, y2)
        rho1 = distance - k1 * k1
        rest = distance - k1 * alpha[0] - betak2[0], -k1 * alpha[1] - betak2[1]
        rho2 = distance - k2k2[0], -k2k2[1]
        norm = rho2[0] * rho2[0] - y2 * rho2[1] * rho2[1]
        inverse1, inverse2 = 1.0 / rho1, (rho2[0] / norm, -rho2[1] / norm)
        # cosine and sine of the second angle, then of the first
        forward = _pair_product(alpha, _pair_dot(h1, arm_2), y2)
        forward = forward[0] + betak2[0] - k2k2[0], forward[1] + betak2[1] - k2k2[1]
        cos2 = _pair_product(inverse2, forward, y2)
        sin2 = _pair_product(
            inverse2, _pair_product(alpha, _pair_dot(cross(h1, h2), arm_2), y2), y2
        )
        cos2w = _pair_product(inverse2, _pair_dot(normal, arm_2), y2)
        sin2w = _pair_product(inverse2, _pair_dot(cross(normal, h2), arm_2), y2)
        k12, side = dot(h2, wrist), dot(cross(h1, h2), wrist)
        cos1 = (
            inverse1 * (alpha[0] * k1 + beta[0] * k12 - k1 * k1),
            inverse1 * (alpha[1] * k1 + beta[1] * k12),
        )
        sin1 = inverse1 * side * beta[0], inverse1 * side * beta[1]
        cos1w, sin1w = inverse1 * dot(normal, wrist), inverse1 * dot(cross(h1, normal), wrist)
        turns2 = cos2, sin2, cos2w, sin2w
        turns1 = cos1, sin1, cos1w, sin1w
        before4 = _before(h2, turns2, _third(h3, h4, cos3, sin3), y2)
        before5 = _before(h2, turns2, _third(h3, h5, cos3, sin3), y2)
        before45 = _before(h2, turns2, _third(h3, cross(h4, h5), cos3, sin3), y2)
        behind6 = _behind(h1, turns1, _sample(vectors, 1, c, s))
        behind5 = _behind(h1, turns1, _sample(vectors, 2, c, s))
        behind65 = _behind(h1, turns1, _sample(vectors, 3, c, s))
        numbers = scratch.numbers
        _write_product(numbers[0], lane, before4, behind6, rest, y2)
        _write_product(numbers[1], lane, before5, behind6, rest, y2)
        _write_product(numbers[2], lane, before45, behind6, rest, y2)
        _write_product(numbers[3], lane, before4, behind5, rest, y2)
        _write_product(numbers[4], lane, before4, behind65, rest, y2)
        _write_number(numbers[5], lane, cos1, (cos1w, 0.0))
        _write_number(numbers[6], lane, sin1, (sin1w, 0.0))
        _write_number(numbers[7], lane, cos2, cos2w)
        _write_number(numbers[8], lane, sin2, sin2w)
        _write_number(numbers[9], lane, cos3, (0.0, 0.0))
        _write_number(numbers[10], lane, sin3, (0.0, 0.0))
        scratch.rests[0, lane], scratch.rests[1, lane] = rest
        scratch.squares[lane], scratch.distances[lane] = y2, distance
        scratch.scales[lane] = rho1 * rho1 * norm


@inner_kernel
def _sample(vectors, row, c, s):
    """Return a vector for cosine and sine of the parameter."""
    v = plus(vector_at(vectors[0, row], 0), c, vector_at(vectors[1, row], 0))
    return plus(v, s, vector_at(vectors[2, row], 0))


@inner_kernel
def _third(h3, direction, cos3, sin3):
    """Return a direction turned by the third joint, a vector with y."""
    along = dot(h3, direction)
    ahead, side = plus(direction, -along, h3), cross(h3, direction)
    fixed = plus(times(along, h3), cos3[0], ahead)
    return plus(fixed, sin3[0], side), plus(times(cos3[1], ahead), sin3[1], side)


@inner_kernel
def _before(h2, turns, v, square):
    """Return a vector turned by the second joint: without w, and with it."""
    cos2, sin2, cos2w, sin2w = turns
    along = _pair_dot(h2, v)
    fixed = times(along[0], h2), times(along[1], h2)
    ahead = plus(v[0], -along[0], h2), plus(v[1], -along[1], h2)
    side = cross(h2, v[0]), cross(h2, v[1])
    turned_v = _pair_sum(_pair_times(cos2, ahead, square), _pair_times(sin2, side, square))
    return (
        _pair_sum(fixed, turned_v),
        _pair_sum(_pair_times(cos2w, ahead, square), _pair_times(sin2w, side, square)),
    )


@inner_kernel
def _behind(h1, turns, v):
    """Return a vector turned back by the first joint: without w, and with it."""
    cos1, sin1, cos1w, sin1w = turns
    along = dot(h1, v)
    ahead, side = plus(v, -along, h1), cross(h1, v)
    fixed = plus(times(along, h1), cos1[0], ahead)
    return (
        (plus(fixed, -sin1[0], side), plus(times(cos1[1], ahead), -sin1[1], side)),
        plus(times(cos1w, ahead), -sin1w, side),
    )


@inner_kernel
def _write_product(number, lane, before, behind, rest, square):
    """Write an inner product of vectors with y and w."""
    (a, aw), (b, bw) = before, behind
    fixed = _pair_inner(a, b, square)
    twice = _pair_product(rest, _pair_dot(bw, aw), square)
    once, other = _pair_inner(aw, b, square), _pair_dot(bw, a)
    fixed = fixed[0] + twice[0], fixed[1] + twice[1]
    _write_number(number, lane, fixed, (once[0] + other[0], once[1] + other[1]))


@inner_kernel
def _write_number(number, lane, fixed, varying):
    """Write a number by its pairs without and with w."""
    number[0, lane], number[1, lane] = fixed
    number[2, lane], number[3, lane] = varying


@inner_kernel
def write_margins(arm, scratch):
    """
    Write by how much, in cosines, each posture is within the limits, below zero if it is not.

    It is 0 where that would not be precise: next to singular postures.

    :param arm: see :func:`write_numbers`, which has written those of the postures.
    :param scratch: likewise; its margins (8, 20) are written.
    """
    for row in range(0, scratch.margins.shape[0], 2):
        above, side = (1.0 if row < 4 else -1.0), 1.0 - (row % 4)
        for lane in range(SAMPLES):
            square = scratch.squares[lane]
            y = above * math.sqrt(max(square, 0.0))
            rest = scratch.rests[0, lane] + scratch.rests[1, lane] * y
            w = side * math.sqrt(max(rest, 0.0))
            there = min(square, rest / scratch.distances[lane])
            one, other, error = _margins(arm, scratch.numbers, lane, y, w)
            if not abs(there) > _SINGULAR or (there > 0.0 and not error < _PRECISE):
                one = other = 0.0
            elif there < 0.0:
                one = other = there
            scratch.margins[row, lane], scratch.margins[row + 1, lane] = one, other


@inner_kernel
def _margins(arm, numbers, lane, y, w):
    """Return by how much two postures are within the limits, and an error of the numbers."""
    margin, error = 2.0, 0.0
    for i in range(3):
        c, s = _number(numbers[5 + 2 * i], lane, y, w), _number(numbers[6 + 2 * i], lane, y, w)
        margin, error = min(margin, _margin(arm, i, c, s)), error + abs(c * c + s * s - 1.0)
    cosine = _number(numbers[0], lane, y, w)
    s4, c4 = _number(numbers[1], lane, y, w), -_number(numbers[2], lane, y, w)
    s6, c6 = _number(numbers[3], lane, y, w), _number(numbers[4], lane, y, w)
    square = 1.0 - cosine * cosine
    error += abs(s4 * s4 + c4 * c4 - square) + abs(s6 * s6 + c6 * c6 - square)
    if not square > _SINGULAR:
        return margin, margin, math.inf if margin > 0.0 else error
    sine = math.sqrt(square)
    one = _wrist_margin(arm, (cosine, sine), (c4 / sine, s4 / sine), (c6 / sine, s6 / sine))
    other = _wrist_margin(arm, (cosine, -sine), (-c4 / sine, -s4 / sine), (-c6 / sine, -s6 / sine))
    return min(margin, one), min(margin, other), error


@inner_kernel
def _wrist_margin(arm, between, fourth, sixth):
    """
    Return by how much the wrist is within the limits.

    It is given by cosine and sine of the angles from the fourth axis to the sixth (``between``),
    and of the fourth and sixth joint.
    """
    axes, (cosine, sine) = arm.form.axes, between
    h4, h5, h6 = vector_at(axes[3], 0), vector_at(axes[4], 0), vector_at(axes[5], 0)
    c0, s0 = dot(h4, h6), dot(h4, cross(h6, h5))
    return min(
        _margin(arm, 3, fourth[0], fourth[1]),
        _margin(arm, 4, cosine * c0 + sine * s0, sine * c0 - cosine * s0),
        _margin(arm, 5, sixth[0], sixth[1]),
    )


@inner_kernel
def _number(number, lane, y, w):
    """Return p + q y + (r + t y) w."""
    return number[0, lane] + number[1, lane] * y + (number[2, lane] + number[3, lane] * y) * w


@inner_kernel
def _margin(arm, joint, c, s):
    """Return by how much the cosine of an angle from mid-range exceeds that of the limits."""
    spans = arm.spans
    return c * spans[0, joint] + s * spans[1, joint] - spans[2, joint]
