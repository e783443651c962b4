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

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError
from ik_service.jit.compile import CompiledKernel
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import FARTHEST_LIMIT, frozen
from ik_service.kinematics.pose_error import check_transform
from ik_service.solvers.all_solutions.angles import fourier_waves
from ik_service.solvers.all_solutions.closed_forms import (
    closed_form_of,
    INTERSECTING,
    SPHERICAL_WRIST,
)
from ik_service.solvers.all_solutions.critical_angles import (
    Arm,
    evaluate_sheets,
    FIRST_SAMPLE,
    MOST_ANGLES,
    new_scratch,
    Scratch,
    SHEETS,
    write_critical_angles,
    write_intervals,
)
from ik_service.solvers.all_solutions.finder import solution_finder
from ik_service.solvers.all_solutions.solution_finder import SolutionFinder

# Postures that the closed form is compared with, and the difference up to which it is exact [rad].
_POSTURES = 5
_EXACT = 1e-7
# Distances from the ends of an interval at which a posture that is at its end is computed [rad]:
# where two ends nearly meet, both are less precise.
_MARGINS = (0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, math.inf)


@dataclass(frozen=True, eq=False)
class SolutionBranch:
    """
    Solutions of a redundant arm that depend continuously on one joint's angle.

    :ivar intervals: (k, 2) first and last angle of that joint of each interval in which there are
        solutions within the limits, in increasing order [rad].
    """

    intervals: np.ndarray
    _sheet: int = field(repr=False)
    _kernels: _Kernels = field(repr=False)
    _motion: np.ndarray = field(repr=False)

    def at(self, values: ArrayLike) -> np.ndarray:
        """
        Return the solutions at some angles of the joint.

        :param values: (m,) in the intervals [rad].
        :returns: (m, 7) solutions [rad]; at the ends of an interval, where the posture of the
            other joints may end, the angle can be off by 1e-6, and by more where these nearly
            are singular.
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
            postures, within = self._kernels.postures(self._motion, moved[~there])
            q[~there] = postures[:, self._sheet]
            there[~there] = within[:, self._sheet]
        return q


@dataclass(frozen=True)
class SelfMotions:
    """
    All solutions of a target by an arm of seven joints.

    :ivar joint: number of the joint whose angle is the parameter.
    :ivar branches: the branches that have solutions within the limits.
    :ivar proved: whether there are no others, but for intervals shorter than 2e-5 and single
        postures, as where the stretched arm just reaches; which is so unless the target is
        singular.
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


class _Kernels:
    """Kernels of an arm, with scratch for each thread that runs one."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self._idle: list[tuple[Arm, Scratch]] = []

    def run(self, kernel: CompiledKernel, motion: np.ndarray, *arguments: object) -> Any:  # noqa: ANN401 - as it does
        """Run one on a target, with arguments of always the same types."""
        try:
            own = self._idle.pop()
        except IndexError:
            form = self.arm.form._replace(scratch=np.zeros_like(self.arm.form.scratch))
            own = self.arm._replace(form=form), new_scratch()
        code = _machine_code.get(kernel)
        if code is None:
            code = _machine_code[kernel] = entry_point(kernel, *own, motion, *arguments)
        result = code(*own, motion, *arguments)
        self._idle.append(own)
        return result

    def postures(self, motion: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return postures (m, 8, 7) at some parameters, and which are solutions (m, 8)."""
        q, within = np.empty((len(values), SHEETS, 7)), np.empty((len(values), SHEETS), bool)
        self.run(evaluate_sheets, motion, values, q, within)
        return q, within


_machine_code: dict[CompiledKernel, Callable] = {}


class _SelfMotionFinder:
    """Finder of all solutions of seven joints, prepared for a chain."""

    def __init__(self, chain: KinematicChain) -> None:
        self._chain = chain
        arm = next((arm for k in (6, 0) if (arm := _arm(chain, k)) is not None), None)
        if arm is None:
            raise ArgumentError(
                'chain', 'has to be one of seven revolute joints, of which six have a closed form'
            )
        if not (chain.upper > chain.lower).all():
            name = chain.joint_names[int(np.argmin(chain.upper - chain.lower))]
            reason = f'leaves {quote(name)} one position: lock it, and take solve_ik_all'
            raise ArgumentError('chain', reason)
        self._kernels = _Kernels(arm)
        self._before, self._behind = _motions(chain, arm.parameter)
        self._finders: dict[tuple[int, int], SolutionFinder] = {}

    def find(self, T: np.ndarray) -> SelfMotions:
        """Return all solutions of a target, (4, 4) T_base_tip."""
        kernels, motion = self._kernels, np.ascontiguousarray(self._before @ T @ self._behind)
        angles, precise = np.empty(MOST_ANGLES), np.empty((3, 2), bool)
        count, proved, all_precise = kernels.run(write_critical_angles, motion, angles, precise)
        if not all_precise:
            limits = [self._at_limit(T, joint, side) for joint, side in np.argwhere(~precise)]
            angles = np.concatenate([angles[:count], *(found for found, _ in limits), [0.0]])
            count, proved = len(angles) - 1, proved and all(every for _, every in limits)
        within, firsts = np.empty((count, SHEETS), bool), np.empty(SHEETS + 1, np.int64)
        intervals = np.empty((SHEETS // 2 * (count + 1), 2))
        kernels.run(write_intervals, motion, count, angles, within, intervals, firsts)
        frozen(intervals)
        branches = tuple(
            SolutionBranch(intervals[first:end], sheet, kernels, motion)
            for sheet, (first, end) in enumerate(pairwise(firsts.tolist()))
            if first < end
        )
        return SelfMotions(kernels.arm.parameter, branches, bool(proved))

    def _at_limit(self, T: np.ndarray, joint: int, side: int) -> tuple[np.ndarray, bool]:
        """
        Return the parameter of each solution with a joint at a limit, and whether they are all.

        The joint is one of the closed form's wrist; side 0 is the lower limit in its sign.
        """
        chain, arm = self._chain, self._kernels.arm
        joint, first = 3 + joint, 1 if arm.parameter == 0 else 0
        if arm.form.inverted:
            joint, side = 5 - joint, 1 - side
        number = first + joint
        limit = (chain.lower, chain.upper)[side][number]
        if (number, side) not in self._finders:
            self._finders[number, side] = solution_finder(_locked(chain, number, limit))
        finder = self._finders[number, side]
        found = finder.search(T, finder.chain.middle, turns=False)
        return found.q[:, arm.parameter - (number < arm.parameter)], found.proved


def _arm(chain: KinematicChain, parameter: int) -> Arm | None:
    """Return the arm with a joint as the parameter; None where it has no such closed form."""
    if chain.n != 7:
        return None
    form = closed_form_of(_locked(chain, parameter, _locked_at(chain, parameter)))
    if form.kind != SPHERICAL_WRIST or form.first_axes != INTERSECTING:
        return None
    wrist = form.axes[3:, :3]
    if max(abs(wrist[0] @ wrist[1]), abs(wrist[1] @ wrist[2])) > _EXACT:
        return None  # its postures would end elsewhere, too
    lower, upper = np.delete(chain.lower, parameter), np.delete(chain.upper, parameter)
    if form.inverted:
        lower, upper = -upper[::-1], -lower[::-1]
    middle, endless = _near_zero(lower, upper), upper - lower > FARTHEST_LIMIT
    lower = np.where(endless, middle - 2.0 * math.pi, lower)
    upper = np.where(endless, middle + 2.0 * math.pi, upper)
    first, last = float(chain.lower[parameter]), float(chain.upper[parameter])
    if not last - first < 2.0 * math.pi:
        whole = float(_near_zero(first, last))
        first, last = whole - math.pi, whole + math.pi
    lower, upper = np.ascontiguousarray(lower), np.ascontiguousarray(upper)
    spans = _spans(lower, upper)
    arm = Arm(form, parameter, lower, upper, spans, first, last, fourier_waves(FIRST_SAMPLE))
    return arm if _is_exact(chain, arm) else None


def _near_zero(lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
    """Return the middle of the turn within limits that is nearest to zero [rad]."""
    return np.minimum(np.maximum(0.0, np.add(lower, math.pi)), np.subtract(upper, math.pi))


def _spans(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return cosine and sine of mid-range, and the cosine of the limits from there (3, 6)."""
    limited = upper - lower < 2.0 * math.pi
    middle, half = (np.where(limited, 0.5 * (upper + side * lower), 0.0) for side in (1.0, -1.0))
    spans = np.array([np.cos(middle), np.sin(middle), np.cos(half)])
    return np.where(limited, spans, [[0.0], [0.0], [-2.0]])


def _is_exact(chain: KinematicChain, arm: Arm) -> bool:
    """Return whether the closed form, which allows for rounded axes, has exactly this arm's."""
    kernels, (before, behind) = _Kernels(arm), _motions(chain, arm.parameter)
    lower, upper = chain.sampling_bounds()
    for q in np.random.default_rng(0).uniform(lower, upper, (_POSTURES, 7)):
        motion = np.ascontiguousarray(before @ chain.forward(q) @ behind)
        found, within = kernels.postures(motion, q[arm.parameter : arm.parameter + 1])
        apart = np.abs(np.remainder(found[within] - q + math.pi, 2.0 * math.pi) - math.pi)
        if not apart.max(axis=1).min(initial=math.inf) < _EXACT:
            return False
    return True


def _locked(chain: KinematicChain, joint: int, value: float) -> KinematicChain:
    """Return a chain with a joint locked [rad]."""
    locked = {**chain.locked, chain.joint_names[joint]: value}
    rest = KinematicChain(chain.robot, chain.base_link, chain.tip_link, locked)
    return rest.with_limits(np.delete(chain.lower, joint), np.delete(chain.upper, joint))


def _locked_at(chain: KinematicChain, joint: int) -> float:
    """Return the angle at which the form has a joint locked: 0, or the nearest within limits."""
    return float(np.clip(0.0, chain.lower[joint], chain.upper[joint]))


def _motions(chain: KinematicChain, parameter: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what multiplies a target from both sides: constant, with cosine and with sine."""
    q = np.zeros(7)
    q[parameter] = angle = _locked_at(chain, parameter)
    T, J = chain.forward(q), chain.jacobian(q)[:, parameter]
    h, o = J[3:], T[:3, 3] + np.cross(J[3:], J[:3])
    turns = np.zeros((3, 4, 4))
    # Of a turn by the angle at which it is locked minus its own (Rodrigues); K v = h × v.
    c, s, K, across = math.cos(angle), math.sin(angle), np.cross(np.eye(3), h), np.outer(h, h)
    flat = np.eye(3) - across
    parts = across, c * flat + s * K, s * flat - c * K
    for turn, part in zip(turns, parts, strict=True):
        turn[:3, :3], turn[:3, 3] = part, -part @ o
    turns[0, :3, 3] += o
    turns[0, 3, 3] = 1.0
    identity = np.eye(4)
    if parameter == 0:
        return turns, identity
    return identity, np.linalg.inv(T) @ turns @ T


_prepared = lru_cache(maxsize=16)(_SelfMotionFinder)
