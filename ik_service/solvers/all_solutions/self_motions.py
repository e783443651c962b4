"""
All solutions of an arm with seven revolute joints as intervals of one joint's angle.

With its first or last joint locked, an arm with a spherical shoulder or wrist has six joints and a
closed form, of eight signs: for the Franka arm with the last joint as the parameter that of Y. He
and S. Liu, "Analytical inverse kinematics for Franka Emika Panda", 2021. For each choice of signs
the posture moves continuously with the parameter. It ceases to be a solution only

* where a joint meets a limit: there it is a solution of the arm with that joint locked, all of
  which are found as :func:`~ik_service.solve_ik_all` finds them; for the elbow, whose angle
  depends on the distance of the shoulder from the wrist alone, the parameter is known;
* or where two postures meet, a singularity of the six joints: there a trigonometric polynomial of
  degree 4 in the parameter vanishes, or the elbow is stretched.

So between two neighbours among all these angles a posture exists and is within the limits
everywhere or nowhere, and one evaluation tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.exceptions import ArgumentError
from ik_service.jit.compile import inner_kernel, vector_kernel
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import frozen
from ik_service.kinematics.pose_error import check_transform
from ik_service.solvers.all_solutions.angles import find_roots, ROOTS
from ik_service.solvers.all_solutions.closed_forms import (
    closed_form_of,
    ClosedForm,
    displacement,
    elbow_terms,
    INTERSECTING,
    reverse_joints,
    SPHERICAL_WRIST,
    wanted_wrist,
    write_sheets,
)
from ik_service.solvers.all_solutions.finder import solution_finder
from ik_service.solvers.all_solutions.vectors import dot, vector_at

_SHEETS = 8
_DEGREE = 8
_SAMPLES = 20
# Distance from the unit circle up to which a root may be an angle: one more than needed only costs
# an evaluation.
_NEAR_CIRCLE = 1e-3
# Share of the largest coefficient that the leading one has to have.
_LEADING = 1e-9
# Amplitude of a squared distance, relative to its mean, below which it does not vary.
_CONSTANT = 1e-9
# How far beyond a limit a joint still is on it, and distance of angles that are one: roots that
# meet are that precise [rad].
_ON_LIMIT = 1e-9
_SAME = 1e-7
# Postures that the closed form is compared with, and the difference up to which it is exact [rad].
_POSTURES = 5
_EXACT = 1e-7
# Distances from the ends of an interval at which a posture that is at its end is computed [rad].
_MARGINS = (0.0, 1e-9, 1e-6)
_MOST_ANGLES = 2 * 4 + ROOTS


class Arm(NamedTuple):
    """
    Arm of seven joints as the kernels take it.

    :ivar form: closed form with the parameter locked at 0.
    :ivar parameter: number of the joint that is the parameter.
    :ivar lower: (7,) lower limits [rad].
    :ivar upper: (7,) upper limits [rad].
    :ivar waves: (18, 20) the Fourier transform of samples: nine cosines, then nine sines.
    """

    form: ClosedForm
    parameter: int
    lower: np.ndarray
    upper: np.ndarray
    waves: np.ndarray


class Scratch(NamedTuple):
    """
    Scratch of the kernels.

    :ivar target: (4, 4) target of the arm with the parameter locked.
    :ivar starts: (8, 6) postures of that arm [rad].
    :ivar terms: (2, 3) of a squared distance and of a length: at three angles, then factors of 1,
        cosine and sine of the parameter.
    :ivar samples: (20,) values of the polynomial.
    :ivar coefficients: (2, 17) its coefficients.
    :ivar roots: (8, 16) its roots.
    """

    target: np.ndarray
    starts: np.ndarray
    terms: np.ndarray
    samples: np.ndarray
    coefficients: np.ndarray
    roots: np.ndarray


def _new_scratch() -> Scratch:
    return Scratch(
        target=np.zeros((4, 4)),
        starts=np.zeros((_SHEETS, 6)),
        terms=np.zeros((2, 3)),
        samples=np.zeros(_SAMPLES),
        coefficients=np.zeros((2, ROOTS + 1)),
        roots=np.zeros((8, ROOTS)),
    )


@vector_kernel
def critical_angles(arm, scratch, motion, angles):
    """
    Write the parameters at which the elbow meets a limit, and at which two postures meet.

    :param arm: :class:`Arm`.
    :param scratch: :class:`Scratch`.
    :param motion: (3, 4, 4) the target of the arm with the parameter locked: constant, and with
        cosine and sine of the parameter.
    :param angles: (24,) out [rad].
    :returns: their number, and whether these are all.
    """
    _write_terms(arm, scratch, motion)
    _, (d0, dc, ds) = elbow_terms(arm.form)
    elbow = 3 if arm.form.inverted != 0 else 2
    joint = elbow if arm.parameter > 0 else elbow + 1
    sign = -1.0 if arm.form.inverted != 0 else 1.0
    lower, upper = sign * arm.lower[joint], sign * arm.upper[joint]
    largest = math.hypot(dc, ds)
    count = _angles_at(scratch.terms[0], d0 + largest, angles, 0)
    count = _angles_at(scratch.terms[0], d0 - largest, angles, count)
    for limit in (lower, upper):
        if abs(limit) < math.inf:
            square = d0 + dc * math.cos(limit) + ds * math.sin(limit)
            count = _angles_at(scratch.terms[0], square, angles, count)
    complete = _write_polynomial(arm, scratch)
    find_roots(scratch.coefficients, scratch.roots)
    for k in range(ROOTS):
        x, y = scratch.roots[0, k], scratch.roots[1, k]
        if abs(math.hypot(x, y) - 1.0) < _NEAR_CIRCLE:
            angles[count] = math.atan2(y, x)
            count += 1
    return count, complete


@inner_kernel
def _place(arm, scratch, motion, c, s):
    """Write the displacement of the arm with the parameter locked, for its cosine and sine."""
    for i in range(4):
        for j in range(4):
            scratch.target[i, j] = motion[0, i, j] + c * motion[1, i, j] + s * motion[2, i, j]
    displacement(arm.form, scratch.target, arm.form.scratch)


@inner_kernel
def _write_terms(arm, scratch, motion):
    """Write squared distance of the point c, and its length along the first axis, as waves."""
    terms = scratch.terms
    for k in range(3):
        c, s = (1.0, -1.0, 0.0)[k], (0.0, 0.0, 1.0)[k]
        _place(arm, scratch, motion, c, s)
        _, along, square = wanted_wrist(arm.form)
        terms[0, k], terms[1, k] = square, along
    for row in range(2):
        mean = 0.5 * (terms[row, 0] + terms[row, 1])
        terms[row, 1] = terms[row, 0] - mean
        terms[row, 2] -= mean
        terms[row, 0] = mean


@inner_kernel
def _angles_at(terms, value, angles, count):
    """Write the angles at which a trigonometric polynomial of degree 1 has a value."""
    mean, c, s = terms[0], terms[1], terms[2]
    amplitude, gap = math.hypot(c, s), value - mean
    if amplitude <= _CONSTANT * abs(mean) or abs(gap) > amplitude:
        return count
    middle, half = math.atan2(s, c), math.acos(gap / amplitude)
    angles[count], angles[count + 1] = middle + half, middle - half
    return count + 2


@inner_kernel
def _write_polynomial(arm, scratch):
    """
    Write the polynomial whose roots are where two postures of the arm meet.

    Of both elbow angles, it is the product of the squared distance of the point c from the plane
    of the first two axes, times 2 − cos 4θ, which has no real roots and makes its degree 8.

    :returns: whether its degree is not less than that.
    """
    form, terms, coefficients = arm.form, scratch.terms, scratch.coefficients
    (k0, kc, ks), (d0, dc, ds) = elbow_terms(form)
    between = dot(vector_at(form.axes[0], 0), vector_at(form.axes[1], 0))
    inverse, length = 1.0 / (1.0 - between * between), math.hypot(dc, ds)
    ahead, side = (kc * dc + ks * ds) / length, (ks * dc - kc * ds) / length
    for k in range(_SAMPLES):
        c, s = arm.waves[1, k], arm.waves[_DEGREE + 2, k]
        square = terms[0, 0] + c * terms[0, 1] + s * terms[0, 2]
        k1 = terms[1, 0] + c * terms[1, 1] + s * terms[1, 2]
        x = (square - d0) / length
        y, k2 = 1.0 - x * x, k0 + ahead * x
        even = square - inverse * (k1 * k1 - 2.0 * between * k1 * k2 + k2 * k2 + side * side * y)
        odd = 2.0 * inverse * side * (k2 - between * k1)
        scratch.samples[k] = (even * even - odd * odd * y) * (2.0 - arm.waves[4, k])
    largest = 0.0
    for m in range(_DEGREE + 1):
        c = s = 0.0
        for k in range(_SAMPLES):
            c += arm.waves[m, k] * scratch.samples[k]
            s += arm.waves[_DEGREE + 1 + m, k] * scratch.samples[k]
        coefficients[0, _DEGREE + m], coefficients[1, _DEGREE + m] = c, -s
        coefficients[0, _DEGREE - m], coefficients[1, _DEGREE - m] = c, s
        largest = max(largest, math.hypot(c, s))
    return math.hypot(coefficients[0, ROOTS], coefficients[1, ROOTS]) > _LEADING * largest


@vector_kernel
def evaluate_sheets(arm, scratch, motion, values, q, within):
    """
    Write the eight postures at some parameters.

    :param arm: :class:`Arm`.
    :param scratch: :class:`Scratch`.
    :param motion: (3, 4, 4), see :func:`critical_angles`.
    :param values: (m,) of the parameter [rad].
    :param q: (m, 8, 7) out [rad].
    :param within: (m, 8) bool out: whether each exists within the limits.
    """
    first = 1 if arm.parameter == 0 else 0
    for k in range(values.shape[0]):
        _place(arm, scratch, motion, math.cos(values[k]), math.sin(values[k]))
        write_sheets(arm.form, scratch.starts, within[k])
        for sheet in range(_SHEETS):
            if not within[k, sheet]:
                continue
            if arm.form.inverted != 0:
                reverse_joints(scratch.starts[sheet])
            q[k, sheet, arm.parameter] = values[k]
            for i in range(6):
                joint = first + i
                lower, upper = arm.lower[joint], arm.upper[joint]
                value = _turned_inside(scratch.starts[sheet, i], lower, upper)
                q[k, sheet, joint] = min(max(value, lower), upper)
                within[k, sheet] &= lower - _ON_LIMIT <= value <= upper + _ON_LIMIT


@inner_kernel
def _turned_inside(value, lower, upper):
    """Return an angle turned to where it is nearest to the middle between the limits."""
    middle = 0.5 * (lower + upper) if upper - lower < math.inf else 0.0
    turn = 2.0 * math.pi
    return value - turn * math.floor((value - middle) / turn + 0.5)


@dataclass(frozen=True)
class SolutionBranch:
    """
    Solutions of a redundant arm that depend continuously on one joint's angle.

    :ivar intervals: (k, 2) first and last angle of that joint of each interval in which there are
        solutions within the limits, in increasing order [rad].
    """

    intervals: np.ndarray
    _sheet: int = field(repr=False)
    _family: _Family = field(repr=False)

    def at(self, values: ArrayLike) -> np.ndarray:
        """
        Return the solutions at some angles of the joint.

        :param values: (m,) in the intervals [rad].
        :returns: (m, 7) solutions [rad]; at the ends of an interval, where the posture of the
            other joints may end, the angle can be off by 1e-6.
        :raises ArgumentError: when there is an angle at which the branch has no solution.
        """
        angles = real_array(values, 'values')
        if angles.ndim != 1:
            raise ArgumentError('values', f'have to be of shape (m,), not {angles.shape}')
        lower, upper = self.intervals.T
        inside = (lower <= angles[:, None]) & (angles[:, None] <= upper)
        if not inside.any(axis=1).all():
            raise ArgumentError(
                'values', f'have to lie in the intervals {self.intervals.tolist()}'
            )
        interval = inside.argmax(axis=1)
        q, there = np.empty((len(angles), 7)), np.zeros(len(angles), bool)
        for margin in _MARGINS:
            room = np.minimum(margin, 0.5 * (upper - lower))
            moved = np.clip(angles, (lower + room)[interval], (upper - room)[interval])
            postures, within = self._family.evaluated(moved[~there])
            q[~there] = postures[:, self._sheet]
            there[~there] = within[:, self._sheet]
        return q


@dataclass(frozen=True)
class SelfMotions:
    """
    All solutions of a target by an arm of seven joints.

    :ivar joint: number of the joint whose angle is the parameter.
    :ivar branches: the branches that have solutions within the limits.
    :ivar proved: whether there are no others, but for intervals shorter than 1e-7, which is so
        unless the target is singular.
    """

    joint: int
    branches: tuple[SolutionBranch, ...]
    proved: bool


def solve_self_motions(chain: KinematicChain, target: ArrayLike) -> SelfMotions:
    """
    Find all solutions of an arm of seven joints within its limits, as intervals of one angle.

    :param chain: seven revolute joints, of which the axes of the first three meet at right angles,
        and those of the fifth and the sixth meet (Panda, iiwa); or the same from the tip.
    :param target: (4, 4) T_base_tip.
    :returns: the branches; none for a target that cannot be reached.
    :raises ArgumentError: when the chain is of another kind, or the target no rigid transform.
    """
    T = check_transform(target, 'target')
    return _prepared(chain).find(T)


class _Family:
    """Eight postures of a target by the parameter."""

    def __init__(self, arm: Arm, motion: np.ndarray) -> None:
        form = arm.form._replace(scratch=np.zeros_like(arm.form.scratch))
        self._before = arm._replace(form=form), _new_scratch(), motion

    def critical(self) -> tuple[np.ndarray, bool]:
        """Return parameters at which a posture may begin or end, and whether they are all."""
        angles = np.empty(_MOST_ANGLES)
        kernel = entry_point(critical_angles, *self._before, angles)
        count, complete = kernel(*self._before, angles)
        return angles[:count], complete

    def evaluated(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return postures (m, 8, 7) at some parameters, and which are solutions (m, 8)."""
        q = np.full((len(values), _SHEETS, 7), math.nan)
        within = np.zeros((len(values), _SHEETS), bool)
        entry_point(evaluate_sheets, *self._before, values, q, within)(
            *self._before, values, q, within
        )
        return q, within


class _SelfMotionFinder:
    """Finder of all solutions of seven joints, prepared for a chain."""

    def __init__(self, chain: KinematicChain) -> None:
        self._chain = chain
        arm = next((arm for k in (6, 0) if (arm := _arm(chain, k)) is not None), None)
        if arm is None:
            raise ArgumentError(
                'chain', 'has to be one of seven revolute joints, of which six have a closed form'
            )
        self._arm = arm
        self._before, self._behind = _motions(chain, arm.parameter)
        range_ = chain.upper - chain.lower
        elbow = (3 if arm.form.inverted else 2) + (arm.parameter == 0)
        others = [k for k in range(7) if k not in (arm.parameter, elbow)]
        self._locked = [
            (solution_finder(_locked(chain, k, limit)), arm.parameter - (k < arm.parameter))
            for k in others
            if range_[k] < 2.0 * math.pi
            for limit in (chain.lower[k], chain.upper[k])
        ]
        lower, upper = chain.lower[arm.parameter], chain.upper[arm.parameter]
        whole = not upper - lower < 2.0 * math.pi
        self._range = (-math.pi, math.pi) if whole else (float(lower), float(upper))

    def find(self, T: np.ndarray) -> SelfMotions:
        """
        Return all solutions of a target.

        :param T: (4, 4) T_base_tip.
        """
        family = _Family(self._arm, np.ascontiguousarray(self._before @ T @ self._behind))
        angles, proved = family.critical()
        listed = [angles]
        for locked, column in self._locked:
            solutions = locked.search(T, locked.chain.middle, turns=False)
            listed.append(solutions.q[:, column])
            proved &= solutions.proved
        edges = self._edges(np.concatenate(listed))
        _, within = family.evaluated(0.5 * (edges[1:] + edges[:-1]))
        outside = np.zeros((1, _SHEETS), bool)
        padded = np.concatenate([outside, within, outside])
        changes = padded[1:] != padded[:-1]
        branches = tuple(
            SolutionBranch(frozen(edges[changes[:, sheet]].reshape(-1, 2)), sheet, family)
            for sheet in range(_SHEETS)
            if changes[:, sheet].any()
        )
        return SelfMotions(self._arm.parameter, branches, bool(proved))

    def _edges(self, angles: np.ndarray) -> np.ndarray:
        """Return angles within the parameter's range in order, with its ends."""
        lower, upper = self._range
        angles = lower + np.remainder(angles - lower, 2.0 * math.pi)
        inner = np.sort(angles[(angles > lower + _SAME) & (angles < upper - _SAME)])
        edges = np.concatenate([[lower], inner, [upper]])
        # The first one stays of each of those that are one.
        return edges[np.concatenate([[True], edges[1:] - edges[:-1] > _SAME])]


def _arm(chain: KinematicChain, parameter: int) -> Arm | None:
    """Return the arm with a joint as the parameter; None where it has no such closed form."""
    if chain.n != 7:
        return None
    form = closed_form_of(_locked(chain, parameter, 0.0))
    if form.kind != SPHERICAL_WRIST or form.first_axes != INTERSECTING:
        return None
    wrist = form.axes[3:, :3]
    if max(abs(wrist[0] @ wrist[1]), abs(wrist[1] @ wrist[2])) > _EXACT:
        return None  # its postures would end elsewhere, too
    phases = 2.0 * math.pi / _SAMPLES * np.outer(np.arange(_DEGREE + 1), np.arange(_SAMPLES))
    waves = np.vstack([np.cos(phases), np.sin(phases)])
    arm = Arm(form, parameter, chain.lower, chain.upper, waves)
    return arm if _is_exact(chain, arm) else None


def _is_exact(chain: KinematicChain, arm: Arm) -> bool:
    """Return whether the closed form, which allows for rounded axes, has exactly this arm's."""
    before, behind = _motions(chain, arm.parameter)
    lower, upper = chain.sampling_bounds()
    for q in np.random.default_rng(0).uniform(lower, upper, (_POSTURES, 7)):
        motion = np.ascontiguousarray(before @ chain.forward(q) @ behind)
        found, within = _Family(arm, motion).evaluated(q[arm.parameter : arm.parameter + 1])
        if not np.abs(found[within] - q).max(axis=1).min(initial=math.inf) < _EXACT:
            return False
    return True


def _locked(chain: KinematicChain, joint: int, value: float) -> KinematicChain:
    """Return a chain with a joint locked [rad]."""
    locked = {**chain.locked, chain.joint_names[joint]: value}
    rest = KinematicChain(chain.robot, chain.base_link, chain.tip_link, locked)
    return rest.with_limits(np.delete(chain.lower, joint), np.delete(chain.upper, joint))


def _motions(chain: KinematicChain, parameter: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what multiplies a target from both sides: constant, with cosine and with sine."""
    T, J = chain.forward(np.zeros(7)), chain.jacobian(np.zeros(7))[:, parameter]
    h, o = J[3:], T[:3, 3] + np.cross(J[3:], J[:3])
    turns = np.zeros((3, 4, 4))
    # Of a turn by minus the angle (Rodrigues); K v = h × v.
    K = np.cross(np.eye(3), h)
    parts = np.outer(h, h), np.eye(3) - np.outer(h, h), -K
    for turn, part in zip(turns, parts, strict=True):
        turn[:3, :3], turn[:3, 3] = part, -part @ o
    turns[0, :3, 3] += o
    turns[0, 3, 3] = 1.0
    identity = np.eye(4)
    if parameter == 0:
        return turns, identity
    return identity, np.linalg.inv(T) @ turns @ T


_prepared = lru_cache(maxsize=16)(_SelfMotionFinder)
