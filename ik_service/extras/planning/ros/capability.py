"""Motion plans as a capability of the node: two services and an action that plans and moves."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
import math
import threading
import time

from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import MotionPlanRequest, PlannerInterfaceDescription
from moveit_msgs.srv import GetMotionPlan, QueryPlannerInterfaces
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.arm.group import SolverSettings
from ik_service.extras.planning.ros.motion_request import PLANNERS
from ik_service.extras.planning.ros.request_planner import GoalScene, PlannedMotion, RequestPlanner
from ik_service.extras.planning.rrt_connect import planning_fault
from ik_service.motion.command.motion_limits import LONGEST_RAMP
from ik_service.motion.playback import TrajectoryEnd
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.capabilities.capability import Capability, NodeParts
from ik_service.ros.capabilities.playback import Playback
from ik_service.ros.capabilities.trajectory_actions import TrajectoryActions
from ik_service.ros.capabilities.trajectory_goals import GoalRefusedError, MOVEIT_CODES
from ik_service.ros.common.actions import DeferredActionServer, GoalHandle
from ik_service.ros.common.conversions import write_solution
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.requests.service_handler import (
    require_arm,
    ServiceContext,
    ServiceHandler,
    write_code,
)
from ik_service.ros.services.line_request import write_trajectory


class PlanHandler(ServiceHandler):
    """Handler of ``plan_kinematic_path``, which answers as MoveIt does, but with reasons."""

    background = 'plans'

    def __init__(self, context: ServiceContext, planner: RequestPlanner) -> None:
        super().__init__(context)
        self._planner = planner

    def handle(
        self, request: GetMotionPlan.Request, response: GetMotionPlan.Response
    ) -> GetMotionPlan.Response:
        """Fill in the response to a request and return it."""
        answer, wanted = response.motion_plan_response, request.motion_plan_request
        answer.group_name = wanted.group_name

        def plan() -> str:
            measured = require_arm(self.measured)
            planned = self._planner.plan(wanted, measured)
            arm, stamp = planned.arm, self._clock.now().to_msg()
            answer.group_name = wanted.group_name or planned.group.name
            answer.planning_time = planned.planning_time
            write_solution(answer.trajectory_start, arm, planned.posture, stamp)
            write_trajectory(answer.trajectory, planned.trajectory, arm.root_link)
            return planned.message

        self._answer_with_code(answer.error_code, plan)
        return response


class PlannersHandler(ServiceHandler):
    """Handler of ``query_planner_interface``."""

    def handle(
        self, request: QueryPlannerInterfaces.Request, response: QueryPlannerInterfaces.Response
    ) -> QueryPlannerInterfaces.Response:
        """Fill in the response to a request and return it."""
        response.planner_interfaces = [
            PlannerInterfaceDescription(
                name=f'ik_service {pipeline}', pipeline_id=pipeline, planner_ids=list(planners)
            )
            for pipeline, planners in PLANNERS.items()
        ]
        self.statistics.add('SUCCESS')
        return response


NAME = 'move_action'
_PLANS, _PLANNERS = 'plan_kinematic_path', 'query_planner_interface'
MOST_GOALS = 16  # goals that are worked on or wait, at most; more are refused

_PERIOD = 0.05  # between two checks of a running motion [s]
_LONGEST_END = LONGEST_RAMP + 0.5  # within which the commands come to rest after an end [s]
_PATIENCE = 5.0  # for the first joint state: discovery takes up to 3 s [s]
_HANDSHAKE = 2.0  # within which rclpy notes a cancellation that was accepted [s]


class PlanningCapability(Capability):
    """
    Services ``plan_kinematic_path`` and ``query_planner_interface``, action ``move_action``.

    A goal that moves the arm ends the one before it. A goal that cannot be done is accepted and
    aborted, so that its client learns why. Where a library is missing, or the node executes no
    trajectories, nothing is offered, and the diagnostics say why.
    """

    def __init__(self, parts: NodeParts) -> None:
        self._node, self._log = parts.node, parts.node.get_logger()
        self._measured, self._followers = parts.measured, parts.followers
        self._trajectories = parts.capability(TrajectoryActions)
        self._on_error = parts.on_error
        self._planner = RequestPlanner(
            parts.parameters.solver, parts.parameters.follower, parts.frames, parts.collisions
        )
        self._fault = planning_fault()
        if not self._fault and self._trajectories is None:
            self._fault = 'the node executes no trajectories'
        if not self._fault:
            plans = PlanHandler(parts.context(_PLANS), self._planner)
            planners = PlannersHandler(parts.context(_PLANNERS))
            self.services = {
                _PLANS: (GetMotionPlan, plans),
                _PLANNERS: (QueryPlannerInterfaces, planners),
            }
            self.late, self.group = (_PLANS,), ReentrantCallbackGroup()
        self._pool = ThreadPoolExecutor(MOST_GOALS, 'moves')
        self._goals: list[_Goal] = []
        self._lock, self._moving = threading.Lock(), threading.Lock()
        self._last = 'none'
        self._counts = {'succeeded': 0, 'canceled': 0, 'aborted': 0}

    def start(self) -> None:
        """Offer the action, where motions can be planned."""
        if self._fault:
            return
        server: DeferredActionServer

        def on_goal(handle: GoalHandle) -> None:
            goal = self._noted(server, handle)
            if goal is not None:
                self._pool.submit(self._work, goal)

        def on_cancel(handle: GoalHandle) -> bool:
            goal = self._noted(server, handle)
            return goal is not None and goal.cancel_for_client()

        server = DeferredActionServer(self._node, MoveGroup, NAME, on_goal, on_cancel, self.group)

    def configure(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """Take a changed solver, and changed settings of the followers."""
        self._planner.settings, self._planner.motion = solver, follower

    def end(self) -> None:
        """Let the arm come to rest, and abort the goals."""
        self.preempt('the node ends')
        self._pool.shutdown(wait=True)

    def preempt(self, reason: str) -> None:
        """Stop all goals, for a stop of all motion with a reason."""
        for goal in tuple(self._goals):
            goal.cancel(reason)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return {
            'motions are planned': self._fault or 'yes',
            'planned motions on their way': str(len(self._goals)),
            'last planned motion': self._last,
            **{f'planned motions {what}': str(count) for what, count in self._counts.items()},
        }

    def _noted(self, server: DeferredActionServer, handle: GoalHandle) -> _Goal | None:
        """Return the goal of a handle, which is new or known already; None after its end."""
        with self._lock:
            for goal in self._goals:
                if goal.handle is handle:
                    return goal
            if not handle.is_active:
                return None
            goal = _Goal(server, handle)
            self._goals.append(goal)
            return goal

    def _work(self, goal: _Goal) -> None:
        result = MoveGroup.Result()
        try:
            code, message = self._done(goal, result)
        except RequestError as error:
            code, message = error.code, str(error)
        except GoalRefusedError as error:
            code, message = _code_of(error.outcome.end), str(error)
        except Exception as error:  # the node goes on
            self._on_error(error)
            code, message = ErrorCode.FAILURE, f'error in the server: {error}'
        write_code(result.error_code, code, message)
        try:
            goal.feedback('IDLE')
            self._finish(goal, code, message, result)
        except Exception as error:
            self._on_error(error)

    def _done(self, goal: _Goal, result: MoveGroup.Result) -> tuple[ErrorCode, str]:
        wanted = goal.handle.request
        options = wanted.planning_options
        if len(self._goals) > MOST_GOALS:
            raise RequestError(ErrorCode.FAILURE, f'{MOST_GOALS} goals are worked on already')
        if options.replan and math.isnan(options.replan_delay):
            raise RequestError(
                ErrorCode.FAILURE, 'planning_options.replan_delay is nan; a time is needed [s]'
            )
        delay = min(max(options.replan_delay, 0.0), threading.TIMEOUT_MAX)
        if options.plan_only:
            _start_from_scene(wanted)
            self._take_scene(goal)
            self._planned(goal, wanted.request, result)
            return ErrorCode.SUCCESS, 'planned, and not moved, as plan_only says'
        for other in tuple(self._goals):
            if other is not goal and not other.handle.request.planning_options.plan_only:
                other.cancel(f'a newer goal of {NAME} has replaced it')
        request = wanted.request
        request.start_state.joint_state.name = []  # it starts where the arm is
        request.start_state.joint_state.position = []
        request.start_state.multi_dof_joint_state.joint_names = []
        request.start_state.multi_dof_joint_state.transforms = []
        request.start_state.is_diff = True
        with self._moving:
            self._await_joint_states(goal)
            self._take_scene(goal)
            attempts = 1 + max(options.replan_attempts, 1) if options.replan else 1
            for left in reversed(range(attempts)):
                code, message = self._moved(goal, request, result)
                changed = code is ErrorCode.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
                if not (changed and left):
                    break
                if goal.ending.wait(delay):
                    return ErrorCode.PREEMPTED, goal.reason or 'it was canceled'
                self._log.info(f'{NAME}: {message}; planned again')
        return code, message

    def _await_joint_states(self, goal: _Goal) -> None:
        """Wait a while for the first joint state, without which nothing can be planned."""
        until = time.monotonic() + _PATIENCE
        while not goal.ending.wait(_PERIOD):
            followers = self._followers()
            following = followers and followers.of(goal.handle.request.request.group_name)
            missing = following.no_joint_state() if following else ''
            if missing and time.monotonic() > until:
                raise GoalRefusedError(TrajectoryEnd.REFUSED, missing)
            if not missing:
                break

    def _take_scene(self, goal: _Goal) -> None:
        """Apply the difference of the scene that a goal brings, for this goal alone."""
        diff = goal.handle.request.planning_options.planning_scene_diff
        goal.scene = self._planner.scene(diff, require_arm(self._measured()))

    def _planned(
        self, goal: _Goal, request: MotionPlanRequest, result: MoveGroup.Result
    ) -> PlannedMotion:
        """Return the plan, which is also in the result."""
        goal.feedback('PLANNING')
        measured = require_arm(self._measured())
        if goal.ending.is_set():
            raise RequestError(ErrorCode.PREEMPTED, goal.reason or 'it was canceled')
        try:
            planned = self._planner.plan(request, measured, goal.ending.is_set, goal.scene)
        except RequestError as error:
            if error.code is ErrorCode.PREEMPTED and goal.reason:
                raise RequestError(error.code, goal.reason) from error
            raise
        stamp = self._node.get_clock().now().to_msg()
        write_solution(result.trajectory_start, planned.arm, planned.posture, stamp)
        write_trajectory(result.planned_trajectory, planned.trajectory, planned.arm.root_link)
        result.planning_time = planned.planning_time
        return planned

    def _moved(
        self, goal: _Goal, request: MotionPlanRequest, result: MoveGroup.Result
    ) -> tuple[ErrorCode, str]:
        planned = self._planned(goal, request, result)
        if goal.ending.is_set():
            return ErrorCode.PREEMPTED, goal.reason or 'it was canceled before it moved'
        if planned.trajectory.duration == 0.0:
            return ErrorCode.SUCCESS, 'the arm is at the goal already'
        watch = self._planner.watch(planned, goal.scene)
        obstacle = watch.obstacle()  # which came while the motion was planned
        if obstacle:
            return ErrorCode.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE, obstacle
        news = threading.Event()
        message = result.planned_trajectory.joint_trajectory
        assert self._trajectories is not None
        playback = self._trajectories.play(message, news.set, goal.handle.asked_at)
        goal.playback = playback
        goal.feedback('MONITOR')
        if goal.ending.is_set():
            goal.cancel(goal.reason)
        began = time.monotonic()
        passed = self._passed(planned, 0.0)
        while playback.outcome is None:
            news.wait(_PERIOD)
            news.clear()
            now = time.monotonic()
            playback.attend(now)
            passed += self._passed(planned, now - began)
            if not obstacle and not goal.ending.is_set():
                obstacle = watch.obstacle(self._measured())
                if obstacle:
                    playback.cancel(f'stopped, as {obstacle}')
            followers = self._followers()
            if followers is not None and playback.following not in tuple(followers):
                playback.replace_arm(followers)
        ended = time.monotonic()
        while not playback.resting and time.monotonic() - ended < _LONGEST_END:
            time.sleep(0.2 * _PERIOD)
        passed += self._passed(planned, time.monotonic() - began)
        goal.playback = None
        outcome = playback.outcome
        if outcome.end is TrajectoryEnd.REACHED:
            result.executed_trajectory = result.planned_trajectory
            return ErrorCode.SUCCESS, planned.message
        executed = result.executed_trajectory.joint_trajectory
        executed.header, executed.joint_names = message.header, message.joint_names
        executed.points = passed
        if obstacle and outcome.end is TrajectoryEnd.STOPPED:
            return (
                ErrorCode.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE,
                f'stopped, as {obstacle}',
            )
        if goal.ending.is_set():
            return ErrorCode.PREEMPTED, goal.reason or outcome.reason
        return _code_of(outcome.end), outcome.reason

    def _passed(self, planned: PlannedMotion, seconds: float) -> list[JointTrajectoryPoint]:
        """Return the measured posture as a point of a trajectory; empty where none is known."""
        measured = self._measured()
        if measured is None or measured.arm is not planned.arm:
            return []
        found = measured.joints(planned.group.indices)
        if found is None:
            return []
        time_from_start = Duration(seconds=seconds).to_msg()
        return [JointTrajectoryPoint(positions=found[0].tolist(), time_from_start=time_from_start)]

    def _finish(
        self, goal: _Goal, code: ErrorCode, message: str, result: MoveGroup.Result
    ) -> None:
        handle = goal.handle
        goal.ended = True
        goal.await_cancellation()
        if code is ErrorCode.SUCCESS and not handle.is_cancel_requested:
            finish, what = handle.succeed, 'succeeded'
        elif handle.is_cancel_requested:
            finish, what = handle.canceled, 'canceled'
        else:
            finish, what = handle.abort, 'aborted'
        self._counts[what] += 1
        self._last = f'{code.name}: {message}'
        try:
            goal.server.finish(handle, finish, result)
        finally:
            with self._lock:
                self._goals.remove(goal)
        if code is ErrorCode.SUCCESS:
            self._log.info(f'{NAME}: {message}')
        else:
            self._log.warning(f'{NAME}: {self._last}')


class _Goal:
    """Goal from its acceptance to its result."""

    def __init__(self, server: DeferredActionServer, handle: GoalHandle) -> None:
        self.server, self.handle = server, handle
        self.playback: Playback | None = None
        self.ending, self.ended, self.reason = threading.Event(), False, ''
        self.canceled = False
        self.scene: GoalScene | None = None

    def cancel(self, reason: str) -> bool:
        """End it; return whether that can still be."""
        if self.ended:
            return False
        self.reason = self.reason or reason
        self.ending.set()
        playback = self.playback
        if playback is not None and self.reason:
            playback.preempt(self.reason)
        elif playback is not None:
            playback.cancel()
        return True

    def cancel_for_client(self) -> bool:
        """End it, as its client wants; return whether that can still be."""
        self.canceled = self.cancel('')
        return self.canceled

    def await_cancellation(self) -> None:
        """Wait until its handle knows that its client has canceled it, where it has."""
        until = time.monotonic() + _HANDSHAKE
        while self.canceled and not self.handle.is_cancel_requested:
            if time.monotonic() > until:
                break
            time.sleep(0.1 * _PERIOD)

    def feedback(self, state: str) -> None:
        """Publish the current state to the client."""
        if self.handle.is_active:
            self.handle.publish_feedback(MoveGroup.Feedback(state=state))


def _code_of(end: TrajectoryEnd) -> ErrorCode:
    return ErrorCode(MOVEIT_CODES[end])


def _start_from_scene(wanted: MoveGroup.Goal) -> None:
    """Take the start of a plan from the goal's own scene, where only that says one."""
    start, given = wanted.request.start_state, wanted.planning_options.planning_scene_diff
    state = given.robot_state
    if start.joint_state.name or start.multi_dof_joint_state.joint_names:
        return
    start.joint_state, state.joint_state = state.joint_state, start.joint_state
    start.multi_dof_joint_state, state.multi_dof_joint_state = (
        state.multi_dof_joint_state,
        start.multi_dof_joint_state,
    )
    start.is_diff = True
