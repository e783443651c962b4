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

In the kernels ``arm`` is an :class:`Arm`, ``scratch`` a :class:`Scratch`, and ``motion`` (3, 4, 4)
the target of the arm with the parameter locked: constant, and with cosine and sine of the
parameter.
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
from ik_service.solvers.all_solutions.posture_numbers import NUMBERS, write_margins, write_numbers
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
# Difference of cosines from which on it is sure on which side of a limit a joint is.
_SURE = 1e-6
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
# Beside long doubles (1,200 polynomials of five arms) errors are 0.7 times that as a rule, and in
# one of a hundred 2 to 10 times, at most 14: a root is off by 2e-5 where it seems to be by 1e-6.
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
    :ivar spans: (3, 6) cosine and sine of the middle between both, and the cosine of the limits
        from there; 0, 0 and -2 for a joint without limits.
    :ivar first: first angle of the parameter [rad].
    :ivar last: last angle [rad].
    :ivar waves: (20, 20) the Fourier transform of samples, but for its scale: ten cosines, then
        ten sines.
    """

    form: ClosedForm
    parameter: int
    lower: np.ndarray
    upper: np.ndarray
    spans: np.ndarray
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
    :ivar cosines: (20,) of the parameter.
    :ivar sines: (20,) of the parameter.
    :ivar numbers: (11, 4, 20) of the postures, see :mod:`.posture_numbers`.
    :ivar margins: (8, 20) by how much each posture is within the limits.
    :ivar distances: (20,) squared distance of the wrist from the first axes' point.
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
    cosines: np.ndarray
    sines: np.ndarray
    numbers: np.ndarray
    margins: np.ndarray
    distances: np.ndarray
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
        cosines=np.zeros(SAMPLES),
        sines=np.zeros(SAMPLES),
        numbers=np.zeros((NUMBERS, 4, SAMPLES)),
        margins=np.zeros((SHEETS, SAMPLES)),
        distances=np.zeros(SAMPLES),
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

    :param angles: (``MOST_ANGLES``,) out [rad].
    :param precise: (3, 2) bool out: for lower and upper limit of each joint of the wrist, whether
        those at which it meets that are among them, which they are not if not precise.
    :returns: the number of the element behind the last one, whether all others are there, and
        whether those are, too.
    """
    _write_vectors(arm, scratch, motion)
    count = _elbow_angles(arm, scratch, angles, 1)
    count = _shoulder_angles(arm, scratch, angles, count)
    for lane in range(SAMPLES):
        scratch.cosines[lane], scratch.sines[lane] = (
            arm.waves[1, lane],
            arm.waves[DEGREE + 3, lane],
        )
    write_numbers(arm, scratch)
    _write_meetings(arm, scratch)
    # Its roots are precise, but those that meet, as they do where the shoulder is spherical, too.
    largest, noise = _write_polynomial(arm, scratch)
    clean, all_precise = noise < _NOISE * largest, True
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
                all_precise = all_precise and precise[k, side]
    return count, clean and complete, all_precise


@vector_kernel
def write_intervals(arm, scratch, motion, count, angles, within, intervals, firsts):
    """
    Sort critical angles, and write the intervals of them in which postures exist.

    :param count: number of the element behind the last angle.
    :param angles: (m,) in, from element 1 on, then scratch; of ``count`` + 1 elements, at least.
    :param within: (``count``, 8) bool scratch: whether each exists from an angle on to the next.
    :param intervals: (4 ``count`` + 4, 2) out: of the postures one after another [rad].
    :param firsts: (9,) out: number of the first interval of each, and of all intervals.
    """
    count = _sort(arm, angles, count)
    for first in range(0, count - 1, SAMPLES):
        _write_within(arm, scratch, motion, count, angles, within, first)
    for k in range(1, count - 1):
        for sheet in range(SHEETS):
            if within[k - 1, sheet] != within[k, sheet]:
                room = 0.5 * min(angles[k] - angles[k - 1], angles[k + 1] - angles[k])
                angles[k] = _improved(arm, scratch, motion, angles[k], sheet, min(room, _ROOM))
                break
    found = firsts[0] = 0
    for sheet in range(SHEETS):
        for k in range(count - 1):
            if within[k, sheet] and (k == 0 or not within[k - 1, sheet]):
                intervals[found, 0] = angles[k]
            if within[k, sheet] and (k == count - 2 or not within[k + 1, sheet]):
                intervals[found, 1] = angles[k + 1]
                found += 1
        firsts[sheet + 1] = found


@inner_kernel
def _write_within(arm, scratch, motion, count, angles, within, first):
    """Write which postures exist within the limits, for as many intervals as there are samples."""
    for lane in range(SAMPLES):
        k = min(first + lane, count - 2)
        value = 0.5 * (angles[k] + angles[k + 1])
        scratch.cosines[lane], scratch.sines[lane] = math.cos(value), math.sin(value)
    write_numbers(arm, scratch)
    write_margins(arm, scratch)
    for k in range(first, min(first + SAMPLES, count - 1)):
        sure = True
        for sheet in range(SHEETS):
            margin = scratch.margins[sheet, k - first]
            within[k, sheet] = margin > 0.0
            sure = sure and abs(margin) > _SURE
        if not sure:
            _evaluate(arm, scratch, motion, 0.5 * (angles[k] + angles[k + 1]), within[k])


@vector_kernel
def evaluate_sheets(arm, scratch, motion, values, q, within):
    """
    Write the eight postures at some parameters.

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

    It is the value itself where that would be off by more than the room [rad], or the posture ends
    by meeting another one. Roots are less precise the nearer others are.
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
    """Write the displacement for cosine and sine of the parameter to the closed form's scratch."""
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
    one, two = scratch.numbers[first], scratch.numbers[second]
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
    """Write a polynomial from its samples; returns the largest coefficient, and their error."""
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
    """Write the roots at which a posture may meet a limit; returns the number, and if precise."""
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
