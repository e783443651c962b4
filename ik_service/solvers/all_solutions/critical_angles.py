"""
Angles of one joint of an arm with seven at which a posture of the others can begin or end.

With that joint locked the others have a closed form, whose postures move continuously with its
angle θ. Those of an arm with a spherical wrist, and with first axes that meet, end

* where a joint meets a limit. For the elbow and the two joints before it these angles solve a
  trigonometric equation of degree 1 or 2. Of a joint of the wrist, the product of its equation's
  left side over the four postures of the arm, times denominators that they have in common, is a
  trigonometric polynomial of degree 8 in θ, computed without their square roots;
* or where two postures meet. Those of the arm do where the elbow is stretched, and where a
  polynomial of degree 4 vanishes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import inner_kernel, vector_kernel
from ik_service.solvers.all_solutions.angles import (
    DEGREE,
    ROOTS,
    ROUNDING,
    SAMPLES,
    write_coefficients,
)
from ik_service.solvers.all_solutions.closed_forms import (
    ClosedForm,
    displacement,
    elbow_circle,
    elbow_terms,
    reverse_joints,
    third_angles,
    wanted_wrist,
    write_pair,
)
from ik_service.solvers.all_solutions.real_roots import (
    Cells,
    MOST_ROOTS,
    new_cells,
    write_real_roots,
)
from ik_service.solvers.all_solutions.vectors import (
    cross,
    dot,
    plus,
    rotated,
    times,
    turned,
    vector_at,
)

SHEETS = 8
"""Postures for each angle of the parameter, one for each choice of signs in the closed form."""
MOST_ANGLES = 2 + 2 * 4 + (2 * 2 + 1 + 3 * 2) * MOST_ROOTS  # number of angles, at most
FIRST_SAMPLE = 0.1
"""Angle of the first sample [rad]: those that people choose, such as 0, are not among them."""
# Distance of angles that are one: roots that meet are that precise [rad].
_SAME = 1e-7
# How far beyond a limit a joint is still on it, and is looked at; how far roots may be off [rad].
_ON_LIMIT, _COARSE, _ROOM = 1e-9, 1e-4, 1e-3
# Iterations of Newton's method on a root, at most, the distance from a limit at which it ends, and
# the step for its slopes [rad].
_IMPROVEMENTS = 4
_PRECISE = 1e-11
_STEP = 1e-6
# Error of a root from which on it is not precise, which does not matter where no posture has its
# joint that near to the limit [rad].
_IMPRECISE = 1e-6
_NEAR_LIMIT = 1e-2
# Share of the largest coefficient that the one beyond the last, zero but for rounding, may have;
# error of the values, as a multiple of that one, and as a share of the largest one, at least.
_NOISE = 1e-7
_NOISES, _LEAST_ERROR = 10.0, 2e-16
# Amplitude of a squared distance, relative to its mean, below which it does not vary.
_CONSTANT = 1e-9


class Arm(NamedTuple):
    """
    Arm of seven joints as the kernels take it.

    :ivar form: closed form with the parameter locked at 0.
    :ivar parameter: number of the joint that is the parameter.
    :ivar lower: (6,) lower limits of the joints of the form, in its order and sign [rad].
    :ivar upper: (6,) upper limits [rad].
    :ivar first: first angle of the parameter [rad].
    :ivar last: last angle [rad].
    :ivar waves: (20, 20) the Fourier transform of samples, but for its scale: ten cosines, then
        ten sines.
    """

    form: ClosedForm
    parameter: int
    lower: np.ndarray
    upper: np.ndarray
    first: float
    last: float
    waves: np.ndarray


class Scratch(NamedTuple):
    """
    Scratch of the kernels.

    :ivar target: (4, 4) target of the arm with the parameter locked.
    :ivar starts: (8, 6) postures of that arm [rad].
    :ivar within: (8,) bool: which of them exist within the limits.
    :ivar vectors: (3, 4, 3) the wrist from the first axes' point, and directions of the wrist as
        the displacement turns them: constant, with cosine and with sine of the parameter.
    :ivar products: (5, 4, 20) of directions of the wrist, see :func:`_write_products`.
    :ivar rests: (2, 20) squared distance of the wrist from the plane of the first axes.
    :ivar squares: (20,) squared sine of the elbow angle, from where it is stretched.
    :ivar scales: (20,) common denominator.
    :ivar samples: (20,) values of a polynomial.
    :ivar coefficients: (2, 17) its coefficients.
    :ivar cells: cells of a turn, to find its roots in.
    """

    target: np.ndarray
    starts: np.ndarray
    within: np.ndarray
    vectors: np.ndarray
    products: np.ndarray
    rests: np.ndarray
    squares: np.ndarray
    scales: np.ndarray
    samples: np.ndarray
    coefficients: np.ndarray
    cells: Cells


def new_scratch() -> Scratch:
    """Return scratch for one thread."""
    return Scratch(
        target=np.zeros((4, 4)),
        starts=np.zeros((SHEETS, 6)),
        within=np.zeros(SHEETS, bool),
        vectors=np.zeros((3, 4, 3)),
        products=np.zeros((5, 4, SAMPLES)),
        rests=np.zeros((2, SAMPLES)),
        squares=np.zeros(SAMPLES),
        scales=np.zeros(SAMPLES),
        samples=np.zeros(SAMPLES),
        coefficients=np.zeros((2, ROOTS + 1)),
        cells=new_cells(),
    )


@vector_kernel
def write_critical_angles(arm, scratch, motion, angles, precise):
    """
    Write the angles of the parameter at which a posture may begin or end, from element 1 on.

    :param arm: :class:`Arm`.
    :param scratch: :class:`Scratch`.
    :param motion: (3, 4, 4) the target of the arm with the parameter locked: constant, and with
        cosine and sine of the parameter.
    :param angles: (``MOST_ANGLES``,) out [rad].
    :param precise: (3, 2) bool out: for lower and upper limit of each joint of the wrist, whether
        those at which it meets that are among them, which they are not if not precise.
    :returns: the number of the element behind the last one, and whether all others are there.
    """
    _write_vectors(arm, scratch, motion)
    count = _elbow_angles(arm, scratch, angles, 1)
    count = _shoulder_angles(arm, scratch, angles, count)
    _write_products(arm, scratch)
    _write_meetings(arm, scratch)
    # Its roots are precise, but those that meet, as they do where the shoulder is spherical, too.
    largest, noise = _write_polynomial(arm, scratch)
    clean = noise < _NOISE * largest
    count, complete = _polynomial_angles(scratch, _LEAST_ERROR * largest, angles, count)
    for k in range(3):
        for side in range(2):
            precise[k, side] = True
            if _limited(arm, 3 + k):
                limit = arm.lower[3 + k] if side == 0 else arm.upper[3 + k]
                _write_limit(arm, scratch, k, limit)
                largest, noise = _write_polynomial(arm, scratch)
                precise[k, side] = noise < _NOISE * largest
                if precise[k, side]:
                    error = ROUNDING * largest + _NOISES * noise
                    count, precise[k, side] = _limit_angles(
                        arm, scratch, motion, error, 3 + k, limit, angles, count
                    )
    return count, clean and complete


@vector_kernel
def write_intervals(arm, scratch, motion, count, angles, within):
    """
    Sort critical angles, and write which postures exist within the limits between them.

    :param arm: :class:`Arm`.
    :param scratch: :class:`Scratch`.
    :param motion: (3, 4, 4), see :func:`write_critical_angles`.
    :param count: number of the element behind the last angle.
    :param angles: (m,) in, from element 1 on, and out, with both ends of the range [rad].
    :param within: (m, 8) bool out: whether each posture exists from an angle on to the next.
    :returns: the number of angles.
    """
    count = _sort(arm, angles, count)
    for k in range(count - 1):
        _evaluate(arm, scratch, motion, 0.5 * (angles[k] + angles[k + 1]), within[k])
    for k in range(1, count - 1):
        for sheet in range(SHEETS):
            if within[k - 1, sheet] != within[k, sheet]:
                room = 0.5 * min(angles[k] - angles[k - 1], angles[k + 1] - angles[k])
                angles[k] = _improved(arm, scratch, motion, angles[k], sheet, min(room, _ROOM))
                break
    return count


@vector_kernel
def evaluate_sheets(arm, scratch, motion, values, q, within):
    """
    Write the eight postures at some parameters.

    :param arm: :class:`Arm`.
    :param scratch: :class:`Scratch`.
    :param motion: (3, 4, 4), see :func:`write_critical_angles`.
    :param values: (m,) of the parameter [rad].
    :param q: (m, 8, 7) out [rad].
    :param within: (m, 8) bool out: whether each exists within the limits.
    """
    first, starts = 1 if arm.parameter == 0 else 0, scratch.starts
    for k in range(values.shape[0]):
        _evaluate(arm, scratch, motion, values[k], within[k])
        for sheet in range(SHEETS):
            for i in range(6):
                starts[sheet, i] = min(max(starts[sheet, i], arm.lower[i]), arm.upper[i])
            if arm.form.inverted != 0:
                reverse_joints(starts[sheet])
            q[k, sheet, arm.parameter] = values[k]
            for i in range(6):
                q[k, sheet, first + i] = starts[sheet, i]


@inner_kernel
def _evaluate(arm, scratch, motion, value, within):
    """Write the eight postures in the form's order and sign, and which of them exist."""
    place_target(arm, scratch, motion, math.cos(value), math.sin(value))
    form, starts, thirds = arm.form, scratch.starts, third_angles(arm.form)
    for row in range(0, SHEETS, 2):
        write_pair(form, thirds, arm.lower, arm.upper, _ON_LIMIT, row, starts, within)


@inner_kernel
def _improved(arm, scratch, motion, value, sheet, room):
    """
    Return the angle at which a posture meets the limit that it is nearest to, by Newton's method.

    Roots are less precise the nearer others are.

    :param value: of the root.
    :param room: how far it may be off [rad]; the value is returned where it would be farther, or
        the posture ends by meeting another one.
    """
    if not _write_posture(arm, scratch, motion, value, sheet):
        return value
    start, joint, limit = scratch.starts[sheet], 0, math.inf
    for i in range(6):
        for bound in (arm.lower[i], arm.upper[i]):
            if _limited(arm, i) and abs(start[i] - bound) < abs(start[joint] - limit):
                joint, limit = i, bound
    at = value
    for _ in range(_IMPROVEMENTS):
        gap = start[joint] - limit
        if abs(gap) < _PRECISE:
            break
        if not _write_posture(arm, scratch, motion, at + _STEP, sheet):
            return value
        at -= _STEP * gap / (start[joint] - limit - gap)
        if not abs(at - value) < room or not _write_posture(arm, scratch, motion, at, sheet):
            return value
    return at


@inner_kernel
def _write_posture(arm, scratch, motion, value, sheet):
    """Write one of the postures, of joints that may be a little beyond their limits."""
    place_target(arm, scratch, motion, math.cos(value), math.sin(value))
    form, starts, thirds = arm.form, scratch.starts, third_angles(arm.form)
    row = sheet - sheet % 2
    write_pair(form, thirds, arm.lower, arm.upper, _COARSE, row, starts, scratch.within)
    return scratch.within[sheet]


@inner_kernel
def _sort(arm, angles, count):
    """Sort the angles within the range, with its ends; returns their number."""
    kept = 1
    for k in range(1, count):
        value, turn = angles[k], 2.0 * math.pi
        value -= turn * math.floor((value - arm.first) / turn)
        if not arm.first + _SAME < value < arm.last - _SAME:
            continue
        place = kept
        while place > 1 and angles[place - 1] > value:
            angles[place] = angles[place - 1]
            place -= 1
        angles[place] = value
        kept += 1
    angles[0] = arm.first
    last = 0
    for k in range(1, kept):
        if angles[k] - angles[last] > _SAME:
            last += 1
            angles[last] = angles[k]
    angles[last + 1] = arm.last
    return last + 2


@inner_kernel
def _limited(arm, k):
    """Return whether a joint of the closed form has limits within a turn."""
    return arm.upper[k] - arm.lower[k] < 2.0 * math.pi


@inner_kernel
def place_target(arm, scratch, motion, c, s):
    """
    Write the displacement of the arm with the parameter locked to the scratch of its closed form.

    :param arm: :class:`Arm`.
    :param scratch: :class:`Scratch`.
    :param motion: (3, 4, 4), see :func:`write_critical_angles`.
    :param c: cosine of the parameter.
    :param s: its sine.
    """
    for i in range(4):
        for j in range(4):
            scratch.target[i, j] = motion[0, i, j] + c * motion[1, i, j] + s * motion[2, i, j]
    displacement(arm.form, scratch.target, arm.form.scratch)


@inner_kernel
def _write_vectors(arm, scratch, motion):
    """Write vectors that depend on the parameter as their factors of 1, cosine and sine."""
    axes, vectors = arm.form.axes, scratch.vectors
    o1, h5, h6 = vector_at(axes[0], 3), vector_at(axes[4], 0), vector_at(axes[5], 0)
    for k in range(3):
        c, s = (1.0, -1.0, 0.0)[k], (0.0, 0.0, 1.0)[k]
        place_target(arm, scratch, motion, c, s)
        wrist, _, _ = wanted_wrist(arm.form)
        _write(vectors[k, 0], plus(wrist, -1.0, o1))
        _write(vectors[k, 1], rotated(arm.form.scratch, h6))
        _write(vectors[k, 2], rotated(arm.form.scratch, h5))
        _write(vectors[k, 3], rotated(arm.form.scratch, cross(h6, h5)))
    for row in range(4):
        for i in range(3):
            mean = 0.5 * (vectors[0, row, i] + vectors[1, row, i])
            vectors[1, row, i] = vectors[0, row, i] - mean
            vectors[2, row, i] -= mean
            vectors[0, row, i] = mean


@inner_kernel
def _write(array, v):
    """Write a vector."""
    array[0], array[1], array[2] = v


@inner_kernel
def _along(scratch, direction):
    """Return how far the wrist lies along a direction: factors of 1, cosine and sine."""
    vectors = scratch.vectors
    return (
        dot(direction, vector_at(vectors[0, 0], 0)),
        dot(direction, vector_at(vectors[1, 0], 0)),
        dot(direction, vector_at(vectors[2, 0], 0)),
    )


@inner_kernel
def _squared_distance(scratch):
    """Return the squared distance of the wrist from the first axes' point, likewise."""
    mean, c, s = (
        vector_at(scratch.vectors[0, 0], 0),
        vector_at(scratch.vectors[1, 0], 0),
        vector_at(scratch.vectors[2, 0], 0),
    )
    # A point on a circle: its squared distance has no waves of twice the angle.
    return dot(mean, mean) + dot(c, c), 2.0 * dot(mean, c), 2.0 * dot(mean, s)


@inner_kernel
def _elbow_angles(arm, scratch, angles, count):
    """Write the angles at which the elbow is stretched, folded or at a limit."""
    _, (d0, dc, ds) = elbow_terms(arm.form)
    square, largest = _squared_distance(scratch), math.hypot(dc, ds)
    count = _angles_at(square, d0 + largest, angles, count)
    count = _angles_at(square, d0 - largest, angles, count)
    if _limited(arm, 2):
        for limit in (arm.lower[2], arm.upper[2]):
            value = d0 + dc * math.cos(limit) + ds * math.sin(limit)
            count = _angles_at(square, value, angles, count)
    return count


@inner_kernel
def _angles_at(terms, value, angles, count):
    """Write the angles at which a trigonometric polynomial of degree 1 has a value."""
    mean, c, s = terms
    amplitude, gap = math.hypot(c, s), value - mean
    if amplitude <= _CONSTANT * abs(mean) or abs(gap) > amplitude:
        return count
    middle, half = math.atan2(s, c), math.acos(gap / amplitude)
    angles[count], angles[count + 1] = middle + half, middle - half
    return count + 2


@inner_kernel
def _shoulder_angles(arm, scratch, angles, count):
    """Write the angles at which one of the first two joints is at a limit."""
    form, axes = arm.form, arm.form.axes
    h1, h2 = vector_at(axes[0], 0), vector_at(axes[1], 0)
    elbow, (d0, dc, ds) = elbow_terms(form)
    square = _squared_distance(scratch)
    square = square[0] - d0, square[1], square[2]
    u, v, w = elbow_circle(form)
    for k in range(2):
        if not _limited(arm, k):
            continue
        for limit in (arm.lower[k], arm.upper[k]):
            if (
                k == 0
            ):  # The wrist turned back by it lies along the second axis as the elbow has it.
                mean, c, s = _along(scratch, turned(h2, h1, limit))
                k0, kc, ks = elbow
            else:  # Along the first axis it lies as the elbow has it, turned by this joint.
                mean, c, s = _along(scratch, h1)
                direction = turned(h1, h2, -limit)
                k0, kc, ks = dot(direction, u), dot(direction, v), dot(direction, w)
            # (kc, ks) · e = along − k0 and (dc, ds) · e = square − d0, of the unit vector e of the
            # elbow's angle.
            p = _difference((mean - k0, c, s), ds, square, ks)
            q = _difference(square, kc, (mean - k0, c, s), dc)
            count = _unit_angles(scratch, p, q, kc * ds - ks * dc, angles, count)
    return count


@inner_kernel
def _difference(a, factor, b, other):
    """Return factor a − other b."""
    return (
        factor * a[0] - other * b[0],
        factor * a[1] - other * b[1],
        factor * a[2] - other * b[2],
    )


@inner_kernel
def _unit_angles(scratch, p, q, length, angles, count):
    """Write the angles at which the squares of two polynomials of degree 1 add up to another."""
    cc, ss = p[1] * p[1] + q[1] * q[1], p[2] * p[2] + q[2] * q[2]
    polynomial = scratch.cells.polynomial
    for m in range(DEGREE + 1):
        polynomial[0, m] = polynomial[1, m] = 0.0
    polynomial[0, 0] = p[0] * p[0] + q[0] * q[0] + 0.5 * (cc + ss) - length * length
    polynomial[0, 1] = 2.0 * (p[0] * p[1] + q[0] * q[1])
    polynomial[1, 1] = 2.0 * (p[0] * p[2] + q[0] * q[2])
    polynomial[0, 2], polynomial[1, 2] = 0.5 * (cc - ss), p[1] * p[2] + q[1] * q[2]
    error = ROUNDING * (abs(polynomial[0, 0]) + 2.0 * length * length)
    return _polynomial_angles(scratch, error, angles, count)[0]


# Numbers p + q y, where y is the sine of the elbow's angle from where it is stretched, are pairs
# (p, q); y² is known.
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
def _write_products(arm, scratch):
    """
    Write inner products of the wrist's directions before and behind it, for all samples.

    Those before it are h₄, h₅ and h₄ × h₅ turned by the first three joints, e₁ e₂ e₃, those behind
    it h₆, h₅ and h₆ × h₅ turned by the displacement. The products are h₄ · h₆, h₅ · h₆,
    (h₄ × h₅) · h₆, h₄ · h₅ and h₄ · (h₆ × h₅), each as p + q y + (r + t y) w, where w is the
    distance of the wrist from the plane of the first two axes, whose square is known as y² is.
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
        c, s = arm.waves[1, lane], arm.waves[DEGREE + 3, lane]
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
        products = scratch.products
        _write_product(products[0], lane, before4, behind6, rest, y2)
        _write_product(products[1], lane, before5, behind6, rest, y2)
        _write_product(products[2], lane, before45, behind6, rest, y2)
        _write_product(products[3], lane, before4, behind5, rest, y2)
        _write_product(products[4], lane, before4, behind65, rest, y2)
        scratch.rests[0, lane], scratch.rests[1, lane] = rest
        scratch.squares[lane] = y2
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
def _write_product(product, lane, before, behind, rest, square):
    """Write an inner product of vectors with y and w."""
    (a, aw), (b, bw) = before, behind
    fixed = _pair_inner(a, b, square)
    twice = _pair_product(rest, _pair_dot(bw, aw), square)
    once, other = _pair_inner(aw, b, square), _pair_dot(bw, a)
    product[0, lane], product[1, lane] = fixed[0] + twice[0], fixed[1] + twice[1]
    product[2, lane], product[3, lane] = once[0] + other[0], once[1] + other[1]


@inner_kernel
def _write_limit(arm, scratch, k, limit):
    """Write samples of the polynomial with roots where wrist joint k is at a limit [rad]."""
    axes = arm.form.axes
    h4, h5, h6 = vector_at(axes[3], 0), vector_at(axes[4], 0), vector_at(axes[5], 0)
    first, second = (1, 0, 3)[k], (2, 0, 4)[k]
    constant, c, s = 0.0, math.cos(limit), math.sin(limit)
    if k == 1:
        constant, c, s = dot(h4, turned(h6, h5, limit)), 1.0, 0.0
    elif k == 2:
        s = -s
    one, two = scratch.products[first], scratch.products[second]
    for lane in range(SAMPLES):
        p, q = c * one[0, lane] + s * two[0, lane] - constant, c * one[1, lane] + s * two[1, lane]
        r, t = c * one[2, lane] + s * two[2, lane], c * one[3, lane] + s * two[3, lane]
        # (p + q y)² − w² (r + t y)², over both signs of w; then over both signs of y.
        y2, rest, tilt = scratch.squares[lane], scratch.rests[0, lane], scratch.rests[1, lane]
        a, b = p * p + y2 * q * q, 2.0 * p * q
        m, n = r * r + y2 * t * t, 2.0 * r * t
        a, b = a - rest * m - y2 * tilt * n, b - rest * n - tilt * m
        scratch.samples[lane] = scratch.scales[lane] * (a * a - y2 * b * b)


@inner_kernel
def _write_meetings(arm, scratch):
    """
    Write samples of the polynomial whose roots are where two postures of the arm meet.

    It is the product of the squared distance of the wrist from the plane of the first two axes
    over both elbow angles.
    """
    for lane in range(SAMPLES):
        even, odd = scratch.rests[0, lane], scratch.rests[1, lane]
        scratch.samples[lane] = even * even - scratch.squares[lane] * odd * odd


@inner_kernel
def _write_polynomial(arm, scratch):
    """
    Write a trigonometric polynomial from its samples.

    :returns: the largest of its coefficients, and their error.
    """
    largest, noise = write_coefficients(arm.waves, scratch.samples, scratch.coefficients)
    polynomial = scratch.cells.polynomial
    for m in range(DEGREE + 1):
        factor = 1.0 if m == 0 else 2.0
        polynomial[0, m] = factor * scratch.coefficients[0, DEGREE + m]
        polynomial[1, m] = -factor * scratch.coefficients[1, DEGREE + m]
    return largest, noise


@inner_kernel
def _polynomial_angles(scratch, error, angles, count):
    """Write the roots of the polynomial; returns the number of angles, and whether all are."""
    found, complete = write_real_roots(scratch.cells, error)
    for k in range(found):
        angles[count + k] = scratch.cells.roots[k, 0]
    return count + found, complete


@inner_kernel
def _limit_angles(arm, scratch, motion, error, joint, limit, angles, count):
    """
    Write the roots of the polynomial at which a posture may meet a limit.

    :returns: the number of angles with these, and whether they are all there and precise.
    """
    found, complete = write_real_roots(scratch.cells, error)
    roots, first = scratch.cells.roots, count
    for k in range(found):
        value, off = roots[k, 0], roots[k, 1]
        if off > _IMPRECISE:
            if off > _COARSE:
                return first, False
            # The denominators have common roots, too.
            for sheet in range(SHEETS):
                there = _write_posture(arm, scratch, motion, value, sheet)
                if there and abs(scratch.starts[sheet, joint] - limit) < _NEAR_LIMIT:
                    return first, False
        angles[count] = value
        count += 1
    return count if complete else first, complete
