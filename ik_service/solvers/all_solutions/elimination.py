"""
All solutions of any arm of six revolute joints by elimination, as a kernel.

With G as in :mod:`~ik_service.solvers.all_solutions.closed_forms`, and the sixth axis as a point p
on it and its direction d, which e₆ leaves where they are,

    e₄ e₅ (p, d) = e₃⁻¹ e₂⁻¹ e₁⁻¹ G (p, d).

Of p, d, p·p, p·d, p × d and (p·p) d − 2 (p·d) p, fourteen numbers, both sides are linear in cosine
and sine of each of their angles: M. Raghavan and B. Roth, "Inverse kinematics of the general 6R
manipulator and related linkages", 1993. Six combinations of them do not depend on θ₄ and θ₅ on the
left, whatever the pose, which leaves six equations in θ₁, θ₂ and θ₃. In the tangents of half the
first two angles they have nine monomials; with each equation multiplied by the first tangent there
are twelve equations with twelve. Their determinant is a trigonometric polynomial of degree 8 in
θ₃, here the Fourier series of its values at 20 angles, which is as precise as these are. Its 16
roots in z = exp(iθ₃) are those of all solutions: of real ones on the unit circle, of complex ones
in pairs beside it.

Where axes meet or are parallel, the equations can have common roots that are not those of
postures, and the determinant then vanishes for every pose. So arms with such axes are solved as if
these missed each other by a little; the iteration that starts there is that of the arm itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.jit.compile import inner_kernel, vector_kernel
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.all_solutions.angles import (
    DEGREE,
    find_roots,
    fourier_waves,
    root_error,
    ROOTS,
    ROUNDING,
    SAMPLES,
    write_coefficients,
)
from ik_service.solvers.all_solutions.closed_forms import (
    axes_of,
    displacement,
    MOST_STARTS,
    reverse_joints,
)
from ik_service.solvers.all_solutions.vectors import (
    angle_about,
    cross,
    dot,
    perpendicular,
    plus,
    rotated,
    times,
    turned,
    turned_about,
    vector_at,
)

# Share of the largest coefficient that those of higher degree, zero but for rounding, may have.
_NOISE = 1e-7
# Distance from the unit circle up to which a root may be that of a solution. It counts as one up
# to the first distance, and to so many times its error, or the root of that of the axes: where two
# solutions nearly meet, an error makes a complex pair of their roots, that far from the circle.
# Where more of them meet, it is farther: roots are tried up to so many times that distance.
_ON_CIRCLE = 1e-5
_NEAR_CIRCLE = 0.05
_ERRORS_OF_ROOT = 20.0
_ROOTS_OF_ERROR = 50.0
_TRIED = 5.0
# What keeps squares that are divided by above zero, and what takes the place of a pivot of zero.
_TINY = 1e-300
_SMALL_PIVOT = 1e-100


class Scratch(NamedTuple):
    """
    Scratch of an elimination.

    :ivar G: (12,) columns of its rotation, then its translation [m].
    :ivar values: (3, 6, 9) the equations: constant, with cos θ₃ and with sin θ₃.
    :ivar cosines: (20,) of angles θ₃: of the samples, then of the roots. Whatever is computed for
        each angle is so for all in one loop, which is vector code: each has a lane.
    :ivar sines: (20,) likewise.
    :ivar block: (6, 9, 20) the equations.
    :ivar square: (6, 6, 20) the equations that remain of twelve.
    :ivar pivots: (6, 20) diagonals of their triangular form.
    :ivar determinants: (20,) of the twelve equations.
    :ivar sums: (20,) inner products.
    :ivar scales: (20,) 2 / vᵀv of reflections.
    :ivar monomials: (6, 20) null vectors.
    :ivar coefficients: (2, 17) of the polynomial in z, real and imaginary parts.
    :ivar roots: (8, 16) its roots, as :func:`~ik_service.solvers.all_solutions.angles.find_roots`
        writes them.
    """

    G: np.ndarray
    values: np.ndarray
    cosines: np.ndarray
    sines: np.ndarray
    block: np.ndarray
    square: np.ndarray
    pivots: np.ndarray
    determinants: np.ndarray
    sums: np.ndarray
    scales: np.ndarray
    monomials: np.ndarray
    coefficients: np.ndarray
    roots: np.ndarray


class Elimination(NamedTuple):
    """
    Arm of six revolute joints, as the elimination takes it.

    Axes are given at q = 0, and lengths in units of the arm's size, from its centre.

    :ivar inverted: 1 where the axes are listed from tip to base, for the inverse of G; else 0.
    :ivar size: unit of length [m].
    :ivar center: (3,) the centre in the base frame [m].
    :ivar home: (4, 4) inverse of T_base_tip at q = 0.
    :ivar axes: (6, 6) direction and a point of each axis.
    :ivar zeros: (2,) zeros of θ₁ and θ₂ [rad]. Their tangents have a pole half a turn from there,
        which no special posture should meet.
    :ivar turns: (3, 3, 12) of e₁⁻¹, e₂⁻¹ and e₃⁻¹, each at 0, π and π/2 from its zero: columns of
        the rotation, then the translation.
    :ivar equations: (6, 15) combinations of the fourteen numbers and 1 that are zero.
    :ivar angles: (4, 15) combinations that are cosine and sine of θ₄, then of θ₅.
    :ivar doubtful: distance from the unit circle up to which the error of the axes may have moved
        the root of a solution.
    :ivar waves: (20, 20) the Fourier transform of samples, but for its scale: ten cosines, then
        ten sines.
    :ivar scratch: :class:`Scratch`.
    """

    inverted: int
    size: float
    center: np.ndarray
    home: np.ndarray
    axes: np.ndarray
    zeros: np.ndarray
    turns: np.ndarray
    equations: np.ndarray
    angles: np.ndarray
    doubtful: float
    waves: np.ndarray
    scratch: Scratch


def new_scratch() -> Scratch:
    """Return scratch for one thread."""
    shapes = (
        (12,),  # G
        (3, 6, 9),  # values
        (SAMPLES,),  # cosines
        (SAMPLES,),  # sines
        (6, 9, SAMPLES),  # block
        (6, 6, SAMPLES),  # square
        (6, SAMPLES),  # pivots
        (SAMPLES,),  # determinants
        (SAMPLES,),  # sums
        (SAMPLES,),  # scales
        (6, SAMPLES),  # monomials
        (2, ROOTS + 1),  # coefficients
        (8, ROOTS),  # roots
    )
    return Scratch(*(np.zeros(shape) for shape in shapes))


@vector_kernel
def elimination_starts(arm, target, starts):
    """
    Write starts near all solutions of a target.

    :param arm: :class:`Elimination`.
    :param target: (4, 4) T_base_tip.
    :param starts: (16, 6) out [rad].
    :returns: their number; that of those, the first ones, near which there is a solution each,
        another one for each, or it cannot be said that there is none; whether there are no others,
        which cannot be said where the determinant vanishes, as it does where the arm has a
        self-motion; and whether the axes are off.
    """
    scratch = arm.scratch
    displacement(arm, target, scratch.G)
    _write_equations(arm)
    clean, largest = _write_coefficients(arm)
    find_roots(scratch.coefficients, scratch.roots)
    count = certain = 0
    reach = max(_NEAR_CIRCLE, _TRIED * arm.doubtful)
    for near in range(2):
        for k in range(ROOTS):
            x, y = scratch.roots[0, k], scratch.roots[1, k]
            radius = max(math.hypot(x, y), 1e-9)
            distance = abs(math.log(radius))
            counts = distance <= _ON_CIRCLE
            if not counts and distance <= reach:
                error = root_error(scratch.roots, k, ROUNDING * largest)
                counts = distance <= max(arm.doubtful, _ERRORS_OF_ROOT * error)
            if counts == (near == 0) and distance <= reach:
                scratch.cosines[count], scratch.sines[count] = x / radius, y / radius
                count += 1
        if near == 0:
            certain = count
    _write_null_vectors(arm)
    for k in range(count):
        _write_start(arm, k, starts[k])
        if arm.inverted != 0:
            reverse_joints(starts[k])
    return count, certain, clean, arm.doubtful > 0.0


@inner_kernel
def _line(arm):
    """Return the sixth axis moved by G: a point of it, and its direction."""
    G, axis = arm.scratch.G, arm.axes[5]
    point = plus(vector_at(arm.center, 0), arm.size, vector_at(axis, 3))
    point = plus(vector_at(G, 9), 1.0, rotated(G, point))
    point = plus(point, -1.0, vector_at(arm.center, 0))
    return times(1.0 / arm.size, point), rotated(G, vector_at(axis, 0))


@inner_kernel
def _moved(turn, p, d):
    """Return a line moved by a rotation and a translation."""
    return plus(vector_at(turn, 9), 1.0, rotated(turn, p)), rotated(turn, d)


@inner_kernel
def _numbers(p, d):
    """Return the fourteen numbers."""
    square, along = dot(p, p), dot(p, d)
    return p, d, square, along, cross(p, d), plus(times(square, d), -2.0 * along, p)


@inner_kernel
def _combined(row, numbers):
    """Return a combination of the fourteen numbers, and of 1."""
    p, d, square, along, moment, last = numbers
    return (
        dot(vector_at(row, 0), p)
        + dot(vector_at(row, 3), d)
        + row[6] * square
        + row[7] * along
        + dot(vector_at(row, 8), moment)
        + dot(vector_at(row, 11), last)
        + row[14]
    )


@inner_kernel
def _write_equations(arm):
    """Write the factors of all monomials in the tangents: constant, of cos θ₃ and of sin θ₃."""
    values, turns = arm.scratch.values, arm.turns
    p0, d0 = _line(arm)
    for i in range(3):
        p1, d1 = _moved(turns[0, i], p0, d0)
        for j in range(3):
            p2, d2 = _moved(turns[1, j], p1, d1)
            for k in range(3):
                p3, d3 = _moved(turns[2, k], p2, d2)
                numbers = _numbers(p3, d3)
                for row in range(6):
                    values[k, row, 3 * i + j] = _combined(arm.equations[row], numbers)
    for row in range(6):
        for k in range(3):
            for i in range(3):
                _to_tangents(values[k, row], 3 * i, 1)
            for j in range(3):
                _to_tangents(values[k, row], j, 3)
        for m in range(9):
            mean = 0.5 * (values[0, row, m] + values[1, row, m])
            values[1, row, m] = values[0, row, m] - mean
            values[2, row, m] -= mean
            values[0, row, m] = mean


@inner_kernel
def _to_tangents(values, first, step):
    """Exchange values at 0, π and π/2 for factors of 1, t and t², t = tan of half the angle."""
    ahead, behind = values[first], values[first + step]
    side = values[first + 2 * step]
    values[first + step] = 2.0 * side - ahead - behind
    values[first + 2 * step] = behind


@inner_kernel
def _write_square(arm):
    """
    Write the equations that remain of the twelve at each angle, with six monomials eliminated.

    These are the ones without the first tangent, which only the six equations have, and those with
    its third power, which only their multiples have. The factors of the determinants that they
    leave behind are written, too.
    """
    scratch = arm.scratch
    block, square = scratch.block, scratch.square
    for lane in range(SAMPLES):
        scratch.determinants[lane] = 1.0
    for half in range(2):
        _write_block(arm, 6 * half)
        _make_triangular(scratch, block, 3)
        for row in range(3):
            for m in range(6):
                for lane in range(SAMPLES):
                    square[3 * half + row, m, lane] = block[3 + row, 3 + m, lane]


@inner_kernel
def _write_block(arm, first):
    """Write the equations at each angle θ₃, from its zero, with the monomials from one on."""
    values, block = arm.scratch.values, arm.scratch.block
    cosines, sines = arm.scratch.cosines, arm.scratch.sines
    for row in range(6):
        for m in range(9):
            monomial = (first + m) % 9
            mean, c, s = (
                values[0, row, monomial],
                values[1, row, monomial],
                values[2, row, monomial],
            )
            for lane in range(SAMPLES):
                block[row, m, lane] = mean + c * cosines[lane] + s * sines[lane]


@inner_kernel
def _make_triangular(scratch, matrix, count):
    """
    Bring the first columns of matrices, one a lane, to triangular form (Householder).

    Their diagonals go to the pivots, and multiply the determinants, but for a sign common to all.
    """
    sums, scales = scratch.sums, scratch.scales
    for k in range(count):
        _multiply(matrix, k, k, sums)
        for lane in range(SAMPLES):
            head, length = matrix[k, k, lane], math.sqrt(sums[lane])
            signed = length if head >= 0.0 else -length
            matrix[k, k, lane] = head + signed
            scales[lane] = 1.0 / (signed * (head + signed) + _TINY)
            scratch.pivots[k, lane] = -signed
            scratch.determinants[lane] *= signed
        for m in range(k + 1, matrix.shape[1]):
            _multiply(matrix, k, m, sums)
            for lane in range(SAMPLES):
                sums[lane] *= scales[lane]
            for row in range(k, matrix.shape[0]):
                for lane in range(SAMPLES):
                    matrix[row, m, lane] -= sums[lane] * matrix[row, k, lane]


@inner_kernel
def _multiply(matrix, k, m, sums):
    """Write the inner products of two columns, from a row on that is the number of the first."""
    for lane in range(SAMPLES):
        sums[lane] = matrix[k, k, lane] * matrix[k, m, lane]
    for row in range(k + 1, matrix.shape[0]):
        for lane in range(SAMPLES):
            sums[lane] += matrix[row, k, lane] * matrix[row, m, lane]


@inner_kernel
def _write_coefficients(arm):
    """Write the coefficients of the determinant; returns whether they count, and the largest."""
    scratch = arm.scratch
    for lane in range(SAMPLES):
        scratch.cosines[lane] = arm.waves[1, lane]
        scratch.sines[lane] = arm.waves[DEGREE + 3, lane]
    _write_square(arm)
    _make_triangular(scratch, scratch.square, 6)
    largest, noise = write_coefficients(arm.waves, scratch.determinants, scratch.coefficients)
    return noise < _NOISE * largest, largest


@inner_kernel
def _write_null_vectors(arm):
    """Write the monomials that solve the equations at each angle: half an inverse iteration."""
    scratch = arm.scratch
    square, monomials = scratch.square, scratch.monomials
    _write_square(arm)
    _make_triangular(scratch, square, 6)
    for k in range(5, -1, -1):
        for lane in range(SAMPLES):
            monomials[k, lane] = 1.0
        for m in range(k + 1, 6):
            for lane in range(SAMPLES):
                monomials[k, lane] -= square[k, m, lane] * monomials[m, lane]
        for lane in range(SAMPLES):
            pivot = scratch.pivots[k, lane]
            monomials[k, lane] /= pivot if pivot != 0.0 else _SMALL_PIVOT


@inner_kernel
def _write_start(arm, lane, start):
    """Write the start that belongs to one of the angles θ₃."""
    scratch, axes = arm.scratch, arm.axes
    monomials = scratch.monomials[:, lane]
    # t₁ (1, t₂, t₂²), then t₁² (1, t₂, t₂²); the largest pair says most.
    first, second = 0, 0
    for m in range(3):
        if _pair(monomials, m, m + 3) > _pair(monomials, first, first + 3):
            first = m
    for m in (1, 3, 4):
        if _pair(monomials, m, m + 1) > _pair(monomials, second, second + 1):
            second = m
    start[0] = arm.zeros[0] + 2.0 * math.atan2(monomials[first + 3], monomials[first])
    start[1] = arm.zeros[1] + 2.0 * math.atan2(monomials[second + 1], monomials[second])
    start[2] = math.atan2(scratch.sines[lane], scratch.cosines[lane])
    h6 = vector_at(axes[5], 0)
    p, d = _line(arm)
    side = rotated(scratch.G, perpendicular(h6))
    for i in range(3):
        h, o = vector_at(axes[i], 0), vector_at(axes[i], 3)
        p, d = turned_about(p, o, h, -start[i]), turned(d, h, -start[i])
        side = turned(side, h, -start[i])
    numbers = _numbers(p, d)
    for i in range(3, 5):
        c = _combined(arm.angles[2 * i - 6], numbers)
        s = _combined(arm.angles[2 * i - 5], numbers)
        start[i] = math.atan2(s, c)
        side = turned(side, vector_at(axes[i], 0), -start[i])
    start[5] = angle_about(h6, perpendicular(h6), side)


@inner_kernel
def _pair(monomials, first, second):
    """Return the size of two of the monomials."""
    return abs(monomials[first]) + abs(monomials[second])


# Angles from which the factors of 1, cosine and sine are computed, and the factors.
_ANGLES = (0.0, math.pi, 0.5 * math.pi)
_FACTORS = np.array([[0.5, 0.5, 0.0], [0.5, -0.5, 0.0], [-0.5, -0.5, 1.0]])
_ZEROS = (0.4, 1.3)
# Errors of the axes that are tried [rad], in units of the arm's size [1].
_ERRORS = (0.0, 1e-7, 1e-6, 1e-5)
# Postures at which these are compared, and the share of them that has to be met.
_POSTURES = 100
_SHARE = 0.95
# Distance from there to the nearest start from which the iteration gets there [rad].
_NEAR = 0.1


def elimination_of(chain: KinematicChain) -> Elimination | None:
    """
    Return the elimination for an arm, in the order and with the error of the axes that serve best.

    :param chain: the chain; there is none unless it has six revolute joints, and where no choice
        serves.
    """
    axes = axes_of(chain)
    if axes is None:
        return None
    home = inverse_transform(chain.forward(np.zeros(6)))
    random = np.random.default_rng(0)
    postures = random.uniform(-math.pi, math.pi, (_POSTURES, 6))
    targets = np.array([chain.forward(q) for q in postures])
    choices = [
        _elimination(axes, home, inverted, error) for error in _ERRORS for inverted in (0, 1)
    ]
    distances = [_distance(arm, postures, targets) for arm in choices]
    best = int(np.argmin(distances))
    return choices[best] if distances[best] < _NEAR else None


def elimination_arguments() -> tuple[Elimination, np.ndarray, np.ndarray]:
    """Return examples of the arguments of the kernel, whose types are those of any arm's."""
    axes = np.random.default_rng(0).normal(size=(6, 6))
    return _elimination(axes, np.eye(4), 0, 0.0), np.eye(4), np.empty((MOST_STARTS, 6))


def _distance(arm: Elimination, postures: np.ndarray, targets: np.ndarray) -> float:
    """Return how far starts are from most of the postures that made the targets [rad]."""
    starts = np.empty((MOST_STARTS, 6))
    kernel = entry_point(elimination_starts, arm, targets[0], starts)
    distances = []
    for q, target in zip(postures, targets, strict=True):
        count = kernel(arm, target, starts)[0]
        apart = np.abs(np.remainder(starts[:count] - q + math.pi, 2.0 * math.pi) - math.pi)
        distances.append(apart.max(axis=1).min(initial=math.pi))
    return float(np.quantile(distances, _SHARE))


def _elimination(axes: np.ndarray, home: np.ndarray, inverted: int, error: float) -> Elimination:
    """Return the elimination for axes at q = 0, (6, 6), that are off by an error."""
    own = axes[::-1].copy() if inverted else axes.copy()
    random = np.random.default_rng(0)
    directions, points = own[:, :3], own[:, 3:]
    directions += error * random.normal(size=(6, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    center = points.mean(axis=0)
    points -= center
    points -= directions * np.sum(directions * points, axis=1)[:, None]
    size = float(np.linalg.norm(points, axis=1).max())
    points /= size
    points += error * random.normal(size=(6, 3))
    equations, angles = _combinations(own)
    return Elimination(
        inverted=inverted,
        size=size,
        center=center,
        home=home,
        axes=own,
        zeros=np.array(_ZEROS),
        turns=np.array(
            [
                [_turn(axis, -zero - angle) for angle in _ANGLES]
                for axis, zero in zip(own[:3], (*_ZEROS, 0.0), strict=True)
            ]
        ),
        equations=equations,
        angles=angles,
        doubtful=_ROOTS_OF_ERROR * math.sqrt(error),
        waves=fourier_waves(),
        scratch=new_scratch(),
    )


def _combinations(axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return combinations of the fourteen numbers that are zero, and that are those of angles."""
    values = np.empty((3, 3, 14))
    for i, fourth in enumerate(_ANGLES):
        for j, fifth in enumerate(_ANGLES):
            p, d = axes[5, 3:], axes[5, :3]
            for axis, angle in ((axes[4], fifth), (axes[3], fourth)):
                turn = _turn(axis, angle)
                R = turn[:9].reshape(3, 3).T
                p, d = R @ p + turn[9:], R @ d
            values[i, j] = _fourteen_numbers(p, d)
    # Of 1, cos θ₅, sin θ₅, then the same times cos θ₄, then times sin θ₄.
    terms = np.einsum('ai,bj,ijn->abn', _FACTORS, _FACTORS, values).reshape(9, 14)
    constant, varying = terms[0], terms[1:].T
    free = np.linalg.svd(varying)[0][:, 8:].T
    angles = np.linalg.pinv(varying)[[2, 5, 0, 1]]
    equations, angles = (
        np.ascontiguousarray(np.column_stack([rows, -rows @ constant])) for rows in (free, angles)
    )
    return equations, angles


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return columns of the rotation about an axis, then the translation, (12,)."""
    h, o = axis[:3], axis[3:]
    K = np.cross(np.eye(3), h)
    R = np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K
    return np.concatenate([R.T.ravel(), o - R @ o])


def _fourteen_numbers(p: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the fourteen numbers of a point and a direction."""
    square, along = p @ p, p @ d
    return np.concatenate([p, d, [square, along], np.cross(p, d), square * d - 2.0 * along * p])
