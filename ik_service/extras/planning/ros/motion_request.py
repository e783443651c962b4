"""Problem that a ``MotionPlanRequest`` poses, by MoveIt's rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
import math

from moveit_msgs.msg import Constraints, MotionPlanRequest
import numpy as np

from ik_service.arm.arm import Arm, gripper_joints
from ik_service.arm.group import ArmGroup, SolverSettings
from ik_service.arm.link_constraints import Bound, OrientationBound, PositionBound
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import listed, quote
from ik_service.common.transforms import rigid_transform
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.extras.planning.constraints import PathConstraints, TaskRows
from ik_service.extras.planning.goal_postures import LinkGoal, next_to
from ik_service.extras.planning.motion_check import RowTest
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.geometry.solids import Sphere
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.common.errors import (
    ErrorCode,
    invalid_goal,
    RequestError,
    UnmetConstraintError,
)
from ik_service.ros.requests.constraints import (
    bounds_of,
    check_count,
    constrained_chain,
    moved_bounds,
)
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.goals import group_of
from ik_service.ros.requests.service_handler import resolver_of, start_notes, start_posture
from ik_service.ros.scene.frames import Frames
from ik_service.solvers.task import Task

DEFAULT_TIME = 5.0  # time for a plan where a request gives none [s], as with MoveIt
MOST_GOALS = 64  # alternative goals of a request, at most

_ONLY_HAND = ('hand', 'gripper')
"""Names by which the only hand of a robot is known, besides that of its group."""

_PILZ = 'pilz_industrial_motion_planner'
PLANNERS = {'ompl': ('RRTConnect',), 'ptp': ('PTP',), 'lin': ('LIN',), _PILZ: ('PTP', 'LIN')}
"""Planners by pipeline; Pilz's names are understood, too."""

_FREE = (math.inf, math.inf, math.inf)
_ANYWHERE = Task(np.eye(4), Sphere(math.inf), orientation_tolerances=_FREE)
_NUMBERS = (
    'allowed_planning_time',
    'max_velocity_scaling_factor',
    'max_acceleration_scaling_factor',
    'max_cartesian_speed',
)


@dataclass(frozen=True)
class MotionProblem:
    """
    Motion that a request asks for.

    :ivar chain: its chain, within the limits that path constraints leave.
    :ivar posture: (m,) full posture of the start [rad] or [m].
    :ivar goals: the alternatives: joint vectors, and goals of links.
    :ivar constraints: path constraints, which hold on the whole path.
    :ivar pipeline: as :func:`~ik_service.plan_motion` has it.
    :ivar timeout: time for the plan [s].
    :ivar wider: all of the tolerances of each goal of joints, for when their middle will not do.
    """

    group: ArmGroup
    chain: KinematicChain
    posture: np.ndarray
    start: np.ndarray
    goals: list[np.ndarray | LinkGoal]
    constraints: PathConstraints
    pipeline: str
    timeout: float
    notes: list[str]
    wider: list[LinkGoal]


def motion_problem(
    request: MotionPlanRequest,
    measured: MeasuredState,
    frames: Frames,
    settings: SolverSettings,
    motion: FollowerSettings,
) -> MotionProblem:
    """Return the problem that a request poses; a RequestError names the invalid field."""
    arm = measured.arm
    notes: list[str] = []
    _check_fields(request)
    pipeline = _pipeline(request, notes)
    group = _hand_group(arm, request.group_name) or group_of(arm, request.group_name)
    chain = group.chain
    if not isinstance(chain, KinematicChain):
        raise RequestError(
            ErrorCode.INVALID_GROUP_NAME,
            f'group {quote(group.name)} places several links, {listed(group.tip_links)}; motions '
            'are planned for groups that place one',
        )
    posture, given = start_posture(measured, request.start_state, group.indices, 'start_state')
    state, indices = request.start_state, group.indices
    notes += start_notes(measured, state, posture, indices, given, 'in start_state')
    resolver = resolver_of(measured, request.start_state, posture, frames)
    start = posture[group.indices].copy()
    reader = _Reader(arm, group, posture, resolver, settings)
    still = motion.motion_limits(chain, arm.bounds).velocity == 0.0
    if still.any():
        lower, upper = np.where(still, start, chain.lower), np.where(still, start, chain.upper)
        chain = chain.with_limits(lower, upper)
        names = ', '.join(np.array(chain.joint_names)[still].tolist())
        notes.append(f'{names} cannot move, because the velocity limit is 0')
    on_path = reader.on_the_way(chain, request.path_constraints, start)
    constraints = PathConstraints(tests=tuple(reader.row_tests(request.path_constraints)))
    goals = _alternatives(reader, chain, on_path, request.goal_constraints, notes)
    timeout = request.allowed_planning_time or DEFAULT_TIME
    notes += resolver.notes
    problem = group, on_path, posture, start, goals, constraints, pipeline, timeout, notes
    return MotionProblem(*problem, reader.wider)


def _alternatives(
    reader: _Reader,
    chain: KinematicChain,
    on_path: KinematicChain,
    alternatives: Sequence[Constraints],
    notes: list[str],
) -> list[np.ndarray | LinkGoal]:
    """Return the goals, without those that break path constraints or limits; not all may."""
    goals: list[np.ndarray | LinkGoal] = []
    broken: list[RequestError] = []
    for number, constraints in enumerate(alternatives):
        try:
            goals += reader.goals(chain, on_path, constraints, f'goal_constraints[{number}]')
        except RequestError as error:
            unmet = isinstance(error, UnmetConstraintError)
            if not unmet and error.code != ErrorCode.GOAL_VIOLATES_PATH_CONSTRAINTS:
                raise
            broken.append(error)
    if not goals:
        raise broken[0]
    notes += map(str, broken)
    return goals


def _hand_group(arm: Arm, name: str) -> ArmGroup | None:
    """Return the group of a hand of one joint, by a name that no group of links has."""
    if name in arm.groups:
        return None
    hands = gripper_joints(arm.hands)
    if len(hands) == 1:
        hands |= dict.fromkeys(_ONLY_HAND, *hands.values())
    return arm.hand_groups()[hands[name]] if name in hands else None


def _check_fields(request: MotionPlanRequest) -> None:
    """Refuse meaningless and unsupported fields, before anything is done."""
    for name in _NUMBERS:
        value = getattr(request, name)
        if math.isnan(value) or value < 0.0:
            raise invalid_goal(f'{name} is {value}; it has to be 0, for the default, or above')
    if not request.goal_constraints:
        raise invalid_goal('goal_constraints are none; there has to be one goal at least')
    check_count('goal_constraints', request.goal_constraints, MOST_GOALS)
    for name in ('trajectory_constraints', 'reference_trajectories'):
        given = getattr(request, name)
        if len(given.constraints if name == 'trajectory_constraints' else given):
            raise invalid_goal(f'{name} are not supported')


def _pipeline(request: MotionPlanRequest, notes: list[str]) -> str:
    name, planner = request.pipeline_id or 'ompl', request.planner_id
    if name not in PLANNERS:
        raise RequestError(
            ErrorCode.FAILURE,
            f'pipeline_id: there is no pipeline {quote(name)}; there are {listed(PLANNERS)}',
        )
    if name == _PILZ:
        if planner not in PLANNERS[_PILZ]:
            raise RequestError(
                ErrorCode.FAILURE,
                f'planner_id: of {_PILZ} there are {listed(PLANNERS[_PILZ])}, not '
                f'{quote(planner)}',
            )
        return planner.lower()
    known = [own.lower() for own in PLANNERS[name]]
    if planner and not any(own in planner.lower() for own in known):
        notes.append(f'planner_id {quote(planner)} is not known; {PLANNERS[name][0]} has planned')
    return name


class _Reader:
    """Reader of the constraints of a request."""

    def __init__(
        self,
        arm: Arm,
        group: ArmGroup,
        posture: np.ndarray,
        frames: FrameResolver,
        settings: SolverSettings,
    ) -> None:
        self._arm, self._group, self._posture = arm, group, posture
        self._frames, self._settings = frames, settings
        self.wider: list[LinkGoal] = []

    def on_the_way(
        self, chain: KinematicChain, constraints: Constraints, start: np.ndarray
    ) -> KinematicChain:
        """Return a chain with the limits that joint constraints of the path leave."""
        if not constraints.joint_constraints:
            return chain
        with _named('path_constraints', ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS):
            narrowed = self._narrowed(chain, constraints)
        outside = (start < narrowed.lower - _ROUNDING) | (start > narrowed.upper + _ROUNDING)
        inside = (start >= chain.lower) & (start <= chain.upper)
        wrong = np.flatnonzero(outside & inside)
        if len(wrong):
            i = int(wrong[0])
            raise RequestError(
                ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS,
                f'the start has {chain.joint_names[i]} at {start[i]:.4g}, outside the '
                f'{narrowed.lower[i]:.4g} … {narrowed.upper[i]:.4g} of '
                'path_constraints.joint_constraints',
            )
        return narrowed

    def row_tests(self, constraints: Constraints) -> list[RowTest]:
        """Return the tests of constraints on links that hold on the path."""
        tests: list[RowTest] = []
        with _named('path_constraints', ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS):
            for bound in self._bounds(constraints):
                chain = self._chain_to(bound.link, bound.field)
                names = self._group.chain.joint_names
                columns = np.array([names.index(name) for name in chain.joint_names])
                name = f'path_constraints.{bound.field}'
                tests.append(TaskRows(chain, _tasks_of([bound]), columns, name))
        return tests

    def goals(
        self,
        chain: KinematicChain,
        on_path: KinematicChain,
        constraints: Constraints,
        field: str,
    ) -> list[np.ndarray | LinkGoal]:
        """
        Return the alternatives that a goal allows.

        :param on_path: the chain with the limits that joint constraints of the path leave.
        """
        with _named(field):
            bounds = self._bounds(constraints)
            if not bounds and not constraints.joint_constraints:
                raise invalid_goal('has no constraints; a goal has to have one at least')
            if not bounds:
                q = self._joint_goal(chain, on_path, constraints)
                self.wider.append(self._wider_goal(chain, on_path, constraints, q))
                return [q]
            link, offsets = self._only_link(bounds)
            own = self._chain_to(link, bounds[0].field)
            narrowed = self._narrowed(chain, constraints)
            own = _on_path(_within(own, narrowed), on_path)
            others = self._joint_goal(chain, on_path, constraints)
            anywhere = _on_path(narrowed, on_path) if own.n < chain.n else None
            return [
                LinkGoal(own, tuple(targets), others, anywhere)
                for targets in _targets_of(bounds, offsets)
            ]

    def _joint_goal(
        self, chain: KinematicChain, on_path: KinematicChain, constraints: Constraints
    ) -> np.ndarray:
        """Return the joint vector of a goal: the start, where that is within its tolerances."""
        narrowed = _on_path(self._narrowed(chain, constraints), on_path)
        positions = {c.joint_name: c.position for c in constraints.joint_constraints}
        names = chain.joint_names
        start = self._posture[self._group.indices]
        if ((narrowed.lower <= start) & (start <= narrowed.upper)).all():
            return start
        q = np.array([positions.get(name, at) for name, at in zip(names, start, strict=True)])
        return np.clip(next_to(chain, q, start), narrowed.lower, narrowed.upper)

    def _wider_goal(
        self,
        chain: KinematicChain,
        on_path: KinematicChain,
        constraints: Constraints,
        q: np.ndarray,
    ) -> LinkGoal:
        """Return the goal of all postures within the tolerances; joints it does not name stay."""
        narrowed = _on_path(self._narrowed(chain, constraints), on_path)
        given = {c.joint_name for c in constraints.joint_constraints}
        named = np.isin(chain.joint_names, list(given))
        lower, upper = (np.where(named, at, q) for at in (narrowed.lower, narrowed.upper))
        return LinkGoal(narrowed.with_limits(lower, upper), (_ANYWHERE,), q)

    def _narrowed(self, chain: KinematicChain, constraints: Constraints) -> KinematicChain:
        positions = self._arm.postures.by_name(self._posture)
        narrowed = constrained_chain(chain, constraints.joint_constraints, positions, 'clamp')
        assert isinstance(narrowed, KinematicChain)
        return narrowed

    def _bounds(self, constraints: Constraints) -> list[Bound]:
        """Return the constraints on links that the group moves; the others hold already."""
        base = self._group.base_link

        def to_base(frame_id: str, T: np.ndarray) -> np.ndarray:
            return self._frames.in_base(base, frame_id, T)

        bounds = bounds_of(constraints, self._arm, to_base)
        return moved_bounds(bounds, self._arm, self._group, self._posture)

    def _chain_to(self, link: str, field: str) -> KinematicChain:
        try:
            chain = self._group.chain_solvers[link, self._settings].chain
        except ChainError as error:
            raise invalid_goal(f'{field}: {error}') from error
        assert isinstance(chain, KinematicChain)  # to one link
        others = sorted({*chain.joint_names} - {*self._group.chain.joint_names})
        if others:
            raise invalid_goal(
                f'{field} is for {quote(link)}, which {listed(others)} moves, too; the group '
                'does not'
            )
        return chain

    def _only_link(self, bounds: Sequence[Bound]) -> tuple[str, dict[str, np.ndarray]]:
        """Return the link of a goal, and the poses there of those that are attached to it."""
        turned = (bound for bound in bounds if isinstance(bound, OrientationBound))
        link = next(turned, bounds[0]).link  # about whose axes the tolerances are
        attached = dict(self._arm.link_frames.beside(link))
        for bound in bounds:
            if bound.link not in attached:
                raise invalid_goal(
                    f'{bound.field} is for {quote(bound.link)}, and {bounds[0].field} for '
                    f'{quote(link)}, which moves against it; one link of a goal is placed'
                )
        kinds = [type(bound) for bound in bounds]
        for kind in {*kinds}:
            if kinds.count(kind) > 1:
                fields = [bound.field for bound in bounds if isinstance(bound, kind)]
                raise invalid_goal(
                    f'{fields[0]} and {fields[1]} are both for {quote(link)}, or a link rigidly '
                    'attached to it; one of a kind is supported for a goal'
                )
        return link, attached


def _targets_of(
    bounds: Sequence[Bound], offsets: dict[str, np.ndarray]
) -> list[list[np.ndarray | Task]]:
    """Return the targets of each alternative: the middle of the tolerances, and then these."""
    orientation = next((b for b in bounds if isinstance(b, OrientationBound)), None)
    position = next((b for b in bounds if isinstance(b, PositionBound)), None)
    rotation = np.eye(3)
    if orientation is not None:
        rotation = orientation.rotation @ offsets[orientation.link][:3, :3].T
    if position is None:
        return [[task] for task in _tasks_of(bounds)]
    point = (offsets[position.link] @ np.append(position.point, 1.0))[:3]
    angles = _FREE if orientation is None else orientation.tolerances
    kind = 'rotation_vector' if orientation is None else orientation.parameterization
    alternatives: list[list[np.ndarray | Task]] = []
    for region, T in position.regions:
        middle = rigid_transform(rotation, T[:3, 3] - rotation @ point)
        task = Task(middle, region, T, tuple(point.tolist()), angles, kind)
        exact = middle if orientation is not None else replace(task, region=Sphere(0.0))
        alternatives.append([exact, task])
    return alternatives


def _tasks_of(bounds: Sequence[Bound]) -> list[Task]:
    """Return tasks of the link of each constraint alone, of which one has to hold."""
    tasks = []
    for bound in bounds:
        if isinstance(bound, OrientationBound):
            target = rigid_transform(bound.rotation, np.zeros(3))
            kind = bound.parameterization
            anywhere = Sphere(math.inf)
            tasks.append(Task(target, anywhere, None, (0.0, 0.0, 0.0), bound.tolerances, kind))
        else:
            x, y, z = bound.point.tolist()
            tasks += [Task(np.eye(4), region, T, (x, y, z), _FREE) for region, T in bound.regions]
    return tasks


def _within(chain: KinematicChain, other: KinematicChain) -> KinematicChain:
    """Return a chain with the limits of the same joints of another, too."""
    lower, upper = _limits_in(other, chain.joint_names)
    try:
        return chain.with_limits(lower, upper)
    except ChainError as error:
        raise UnmetConstraintError(str(error)) from error


def _on_path(chain: KinematicChain, on_path: KinematicChain) -> KinematicChain:
    """Return the chain of a goal with the limits that joint constraints of the path leave."""
    lower, upper = _limits_in(on_path, chain.joint_names)
    apart = np.flatnonzero((chain.lower > upper) | (chain.upper < lower))
    if len(apart):
        i = int(apart[0])
        raise RequestError(
            ErrorCode.GOAL_VIOLATES_PATH_CONSTRAINTS,
            f'allows {chain.lower[i]:g} … {chain.upper[i]:g} for joint '
            f'{chain.joint_names[i]!r}, but path_constraints.joint_constraints only '
            f'{lower[i]:g} … {upper[i]:g}',
        )
    return chain.with_limits(lower, upper)


def _limits_in(chain: KinematicChain, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    columns = [chain.joint_names.index(name) for name in names]
    return chain.lower[columns], chain.upper[columns]


_ROUNDING = 1e-9  # of the start, which may be at a limit [rad] or [m]


@contextmanager
def _named(field: str, unmet: ErrorCode | None = None) -> Iterator[None]:
    """
    Name the field of a request in the message of an error that is raised within.

    :param unmet: code for a constraint on what the group does not move, which does not hold.
    """
    try:
        yield
    except UnmetConstraintError as error:
        text = f'{field}: {error}'
        raise (
            UnmetConstraintError(text) if unmet is None else RequestError(unmet, text)
        ) from error
    except RequestError as error:
        raise RequestError(error.code, f'{field}: {error}') from error
    except ArgumentError as error:
        raise invalid_goal(f'{field}: {error}') from error
