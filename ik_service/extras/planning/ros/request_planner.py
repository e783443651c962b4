"""Plans of the motions that requests ask for, in the scene of each."""

from __future__ import annotations

from collections.abc import Callable
import copy
from dataclasses import dataclass, replace
from functools import partial
import math
import threading

from moveit_msgs.msg import MotionPlanRequest, PlanningScene, RobotState
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup, SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.posture_test import PostureTest
from ik_service.collision.world import World
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, IkServiceError, TrajectoryError
from ik_service.extras.planning.goal_postures import LinkGoal
from ik_service.extras.planning.motion_check import MotionCheck
from ik_service.extras.planning.plan_motion import MotionPlan, plan_motion, PlanStatus
from ik_service.extras.planning.ros.motion_request import motion_problem, MotionProblem
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.settings import FollowerSettings
from ik_service.paths.timing.timing import LinkSpeed
from ik_service.paths.timing.timing_limits import TimingLimits
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.errors import ErrorCode, invalid_link, RequestError
from ik_service.ros.scene.avoidance import avoidance, CheckedWorld
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.scene_changes import apply_scene

FIELD = 'planning_options.planning_scene_diff'


class GoalScene:
    """
    Known world with a difference applied to it, as the checks of one goal see it. Thread-safe.

    The known world does not change. When that changes, the difference is applied again; objects
    it gives in the frame of a link or an object stay where that was at first. Objects on the arm
    stay attached unless the difference detaches them.

    :param diff: the difference, whatever its ``is_diff`` says, as with MoveIt.
    :param collisions: the known world, and the checker of collisions.
    :raises RequestError: FAILURE: the difference is faulty or not supported; names the field.
    :ivar frames: frames of requests, with those of the objects of the difference.
    """

    def __init__(
        self, diff: PlanningScene, collisions: CollisionWorld, measured: MeasuredState
    ) -> None:
        self._diff, self._collisions, self._measured = copy.deepcopy(diff), collisions, measured
        self._diff.is_diff = self._diff.robot_state.is_diff = True
        self._lock = threading.Lock()
        self._known, self._world = collisions.known.world, World()
        self._checker: CollisionChecker | None = None
        self._apply(self._known)

    @property
    def required(self) -> bool:
        """As for :class:`~ik_service.ros.scene.collision_world.CollisionWorld`."""
        return self._collisions.required

    def fault_of(self, arm: Arm) -> str:
        """Return which checks cannot be made of an arm, and why; empty where all can be."""
        return self._collisions.fault_of(arm)

    def checker(self, arm: Arm) -> CollisionChecker | None:
        """Checker of the present scene, None without collisions; FAILURE where they differ."""
        checker, known = self._collisions.checker(arm), self._collisions.known.world
        if checker is None:
            return None
        with self._lock:
            if known is not self._known:
                self._apply(known)
            if self._checker is None:
                self._checker = checker.with_world(self._world)
            return self._checker

    def _apply(self, known: World) -> None:
        change = partial(apply_scene, self._diff)
        try:
            tried = self._collisions.known.tried(change, self._measured)
        except IkServiceError as error:
            raise RequestError(ErrorCode.FAILURE, f'{FIELD}: {error}') from error
        self._known, self._checker = known, None
        self._world, self.frames, self.remarks = tried


LONGEST = 2.0**31 - 1.0  # longest motion that fits into a message of ROS [s]

CODES = {
    PlanStatus.NO_PLAN: ErrorCode.PLANNING_FAILED,
    PlanStatus.TIMED_OUT: ErrorCode.TIMED_OUT,
    PlanStatus.CANCELED: ErrorCode.PREEMPTED,
    PlanStatus.START_IN_COLLISION: ErrorCode.START_STATE_IN_COLLISION,
    PlanStatus.START_VIOLATES_CONSTRAINTS: ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS,
    PlanStatus.GOAL_IN_COLLISION: ErrorCode.GOAL_IN_COLLISION,
    PlanStatus.GOAL_VIOLATES_CONSTRAINTS: ErrorCode.GOAL_VIOLATES_PATH_CONSTRAINTS,
    PlanStatus.GOAL_OUT_OF_REACH: ErrorCode.NO_IK_SOLUTION,
}
"""Codes of plans that fail."""

_MIDDLE_FAULTS = PlanStatus.GOAL_IN_COLLISION, PlanStatus.GOAL_VIOLATES_CONSTRAINTS
"""Faults of the middles of goals that may not be those of all of their tolerances."""
_LINE_FAULTS = (PlanStatus.NO_PLAN,)
"""The same of a straight line of the tip, which may also end at other joints within them."""
_LINES = 8  # lines to postures within the tolerances, beside the one to the pose of their middle


def _wider_goals(problem: MotionProblem) -> list[np.ndarray | LinkGoal]:
    """Return goals of all of the tolerances of joints; of a line of the tip, poses of some."""
    if problem.pipeline != 'lin':
        return [*problem.wider]
    return [
        LinkGoal(goal.chain, (goal.chain.forward(q),))
        for goal in problem.wider
        for q in (goal.others, *goal.chain.random_postures(_LINES))
        if q is not None
    ]


@dataclass(frozen=True)
class PlannedMotion:
    """Motion for a request: arm, full start posture (m,), trajectory and message to the client."""

    arm: Arm
    group: ArmGroup
    chain: KinematicChain
    posture: np.ndarray
    trajectory: JointTrajectory
    planning_time: float
    message: str


class RequestPlanner:
    """
    Planner of the motions that requests ask for. Thread-safe.

    :param settings: name and options of the node's solver.
    :param motion: settings of the followers, of which the limits of the motion count.
    :param frames: frames besides the links of the robot.
    :param collisions: the known world, and the checker of collisions.
    :ivar settings: may be replaced at any time.
    :ivar motion: likewise.
    """

    def __init__(
        self,
        settings: SolverSettings,
        motion: FollowerSettings,
        frames: Frames,
        collisions: CollisionWorld,
    ) -> None:
        self.settings, self.motion = settings, motion
        self._frames, self._collisions = frames, collisions

    def plan(
        self,
        request: MotionPlanRequest,
        measured: MeasuredState,
        canceled: Callable[[], bool] = lambda: False,
        scene: GoalScene | None = None,
    ) -> PlannedMotion:
        """Motion that a request asks for in a scene, or the known world; or RequestError."""
        arm, state = measured.arm, request.start_state
        collisions, frames = scene or self._collisions, scene.frames if scene else self._frames
        problem = motion_problem(request, measured, frames, self.settings, self.motion)
        avoided = avoidance(collisions, arm, state, problem.posture, frames, 'start_state')
        try:
            test = avoided.test(problem.chain.joint_names)
            plan = self._planned(request, problem, arm, test, canceled)
            faults = _LINE_FAULTS if problem.pipeline == 'lin' else _MIDDLE_FAULTS
            if plan.status in faults and problem.wider:
                left = max(problem.timeout - plan.planning_time, 1e-3)
                anywhere = replace(problem, goals=_wider_goals(problem), timeout=left)
                wider = self._planned(request, anywhere, arm, test, canceled)
                plan = plan if wider.status in faults else wider
        except (ArgumentError, TrajectoryError) as error:
            raise RequestError(ErrorCode.FAILURE, str(error)) from error
        notes = list(
            dict.fromkeys([*problem.notes, *avoided.notes, *(scene.remarks if scene else ())])
        )
        if plan.trajectory is None:
            raise RequestError(
                CODES[plan.status], '; '.join([_reason(plan, problem, request), *notes])
            )
        if not plan.trajectory.duration <= LONGEST:
            raise RequestError(
                ErrorCode.FAILURE, f'the motion would last {plan.trajectory.duration:.3g} s'
            )
        text = (
            f'{len(plan.trajectory)} points, {plan.trajectory.duration:.3f} s by pipeline '
            f'{problem.pipeline!r}, {len(plan.path)} corners; {plan.checks} postures checked in '
            f'{plan.planning_time:.3g} s'
        )
        return PlannedMotion(
            arm,
            problem.group,
            problem.chain,
            problem.posture,
            plan.trajectory,
            plan.planning_time,
            '; '.join([text, *notes]),
        )

    def scene(self, diff: PlanningScene, measured: MeasuredState) -> GoalScene | None:
        """Return the scene of a goal's difference, None for an empty one; or RequestError."""
        state, matrix = diff.robot_state, diff.allowed_collision_matrix
        given = (
            diff.name,
            diff.fixed_frame_transforms,
            matrix.entry_names,
            matrix.entry_values,
            matrix.default_entry_names,
            diff.link_padding,
            diff.link_scale,
            diff.world.collision_objects,
            diff.world.octomap.octomap.data,
            state.joint_state.name,
            state.multi_dof_joint_state.joint_names,
            state.attached_collision_objects,
        )
        return GoalScene(diff, self._collisions, measured) if any(map(len, given)) else None

    def watch(self, planned: PlannedMotion, scene: GoalScene | None = None) -> MotionWatch:
        """Return a watch of the rest of a motion planned in this scene, or the known world."""
        return MotionWatch(
            planned, scene or self._collisions, scene.frames if scene else self._frames
        )

    def _planned(
        self,
        request: MotionPlanRequest,
        problem: MotionProblem,
        arm: Arm,
        test: PostureTest | None,
        canceled: Callable[[], bool],
    ) -> MotionPlan:
        bounds = self.motion.motion_limits(problem.chain, arm.bounds)
        if bounds.scaling == 0.0:
            raise RequestError(ErrorCode.FAILURE, 'the parameter velocity_scaling is 0')
        speed, link = _cartesian_limit(request, arm, problem.chain)
        return plan_motion(
            problem.chain,
            problem.start,
            problem.goals,
            test,
            problem.constraints,
            problem.timeout,
            pipeline=problem.pipeline,
            limits=TimingLimits(bounds.velocity_now, bounds.acceleration_now),
            velocity_scaling=_scaling(
                request, 'velocity', arm.bounds.velocity_scaling, problem.notes
            ),
            acceleration_scaling=_scaling(
                request, 'acceleration', arm.bounds.acceleration_scaling, problem.notes
            ),
            cartesian_speed=speed,
            link=link,
            jerk=arm.bounds.jerk(problem.chain.joints),
            canceled=canceled,
        )


_BESIDE = 0.25  # how far beside its motion an arm is whose progress nobody knows [rad] or [m]


class MotionWatch:
    """Watch of the rest of a motion, for objects that enter its path."""

    def __init__(self, planned: PlannedMotion, collisions: CheckedWorld, frames: Frames) -> None:
        self._planned, self._collisions, self._frames = planned, collisions, frames
        check = MotionCheck(planned.chain, self._test())
        self._times, self._rows, _ = check.samples(planned.trajectory)
        self._world: object = None

    def obstacle(self, measured: MeasuredState | None = None) -> str:
        """
        Return an obstacle on the rest of the motion; empty for nothing, or nothing new.

        :param measured: where the arm is, which tells how far the motion is: the time that a
            controller tells may be that of a trajectory that it has delayed, or 0; None: it has
            not begun.
        """
        try:
            checker = self._collisions.checker(self._planned.arm)
            if checker is None or checker.world is self._world:
                return ''
            self._world = checker.world
            test = self._test()
        except RequestError as error:
            return f'the rest of the way cannot be checked: {error}'
        time = self._progress(measured)
        rest = self._times >= time
        if test is None or not rest.any():
            return ''
        found = test.colliding(self._rows[rest])
        if not found.any():
            return ''
        k = int(np.argmax(found))
        bodies = test.first_contact(self._rows[rest][k])
        ahead = float(self._times[rest][k]) - time
        pair = ' and '.join(bodies) if bodies else 'two bodies'
        return f'{pair} would collide on the rest of the way, {ahead:.2f} s ahead'

    def _progress(self, measured: MeasuredState | None) -> float:
        """Return how far the motion is at least [s], where it is told from the joints alone."""
        indices = self._planned.group.indices
        found = None if measured is None else measured.joints(indices)
        if found is None or measured is None or measured.arm is not self._planned.arm:
            return 0.0
        away = np.abs(self._rows - found[0]).max(axis=1)
        if away.min() > _BESIDE:  # as a driver may count turns otherwise
            return 0.0
        # Between two postures, and where the motion comes along twice, the earlier one counts.
        apart = np.abs(np.diff(self._rows, axis=0)).max(initial=0.0)
        return float(self._times[np.argmax(away <= away.min() + apart)])

    def _test(self) -> PostureTest | None:
        planned = self._planned
        avoided = avoidance(
            self._collisions, planned.arm, RobotState(is_diff=True), planned.posture, self._frames
        )
        return avoided.test(planned.trajectory.joint_names)


def _reason(plan: MotionPlan, problem: MotionProblem, request: MotionPlanRequest) -> str:
    if plan.status is PlanStatus.TIMED_OUT:
        return f'{plan.reason}, {problem.timeout:g} s; {plan.checks} postures were checked'
    if plan.status is PlanStatus.GOAL_OUT_OF_REACH and request.path_constraints.joint_constraints:
        return f'{plan.reason}; path_constraints.joint_constraints narrow the limits'
    return plan.reason


def _cartesian_limit(
    request: MotionPlanRequest, arm: Arm, chain: KinematicChain
) -> tuple[float | None, str | None]:
    """Return the largest speed of a link [m/s], None for no limit, and the link, None: the tip."""
    field, link = 'cartesian_speed_limited_link', request.cartesian_speed_limited_link or None
    if link and not arm.has_link(link):
        raise invalid_link(f'{field}: the robot has no link {quote(link)}')
    if not 0.0 < request.max_cartesian_speed < math.inf:
        return None, link
    try:
        LinkSpeed(chain, link)
    except ArgumentError as error:
        raise invalid_link(f'{field}: {error}') from error
    return request.max_cartesian_speed, link


def _scaling(request: MotionPlanRequest, what: str, default: float, notes: list[str]) -> float:
    """Return a scaling factor; 0 is the default, and values above 1 are cut."""
    name = f'max_{what}_scaling_factor'
    value = getattr(request, name)
    if value > 1.0:
        notes.append(f'{name} of {value:g} is cut to 1')
    return min(value, 1.0) or default
