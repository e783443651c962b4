"""Actions that move the arm along trajectories, and their active goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
import threading
import time
from typing import Any

from control_msgs.action import FollowJointTrajectory
from moveit_msgs.action import ExecuteTrajectory
from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import counted
from ik_service.exceptions import OptionError, TrajectoryError
from ik_service.motion.command.motion_limits import LONGEST_RAMP
from ik_service.motion.playback import TrajectoryEnd, TrajectoryOutcome
from ik_service.paths.timing import clock_rates
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.capabilities.capability import Capability, NodeParts
from ik_service.ros.capabilities.forwarding import ForwardedPlayback, REPLACED
from ik_service.ros.capabilities.playback import (
    assumed_speeds,
    CommandedPlayback,
    follower_for,
    Playback,
)
from ik_service.ros.capabilities.trajectory_goals import (
    CANCELED_EARLY,
    CONTROL_CODES,
    GoalRefusedError,
    MOVEIT_CODES,
    preempted,
    RequestedTolerances,
    tolerances_from,
    trajectory_from,
    TrajectoryRequest,
)
from ik_service.ros.common.actions import DeferredActionServer, GoalHandle, ThreadSafeActionClient
from ik_service.ros.motion.follower_interface import FollowerInterface
from ik_service.ros.motion.parameters import controller_action, REPLACE_GOALS, TRAJECTORY_ACTION
from ik_service.ros.requests.service_handler import write_code

Message = Any  # message of an action; rclpy has no types for them


@dataclass(frozen=True)
class _Action:
    """An action, and how its goals become requests, and outcomes and progress its messages."""

    name: str
    kind: type
    request: Callable[[Message], TrajectoryRequest]  # raises GoalRefusedError
    result: Callable[[TrajectoryOutcome], Message]
    feedback: Callable[[Playback, bool], Message | None]  # the first, or a further one if any


def follow_request(goal: FollowJointTrajectory.Goal) -> TrajectoryRequest:
    """Return the request of a goal, as for joint_trajectory_controller; or GoalRefusedError."""
    several = goal.multi_dof_trajectory.points or goal.multi_dof_trajectory.joint_names
    if several or goal.component_path_tolerance or goal.component_goal_tolerance:
        raise GoalRefusedError(
            TrajectoryEnd.INVALID, 'multi_dof_trajectory and its tolerances have to be empty'
        )
    trajectory = _trajectory(goal.trajectory)
    names, late = trajectory.joint_names, goal.goal_time_tolerance
    goal_time = late.sec + 1e-9 * late.nanosec
    if goal_time < 0.0:
        raise GoalRefusedError(
            TrajectoryEnd.INVALID, f'goal_time_tolerance: {goal_time:g} s; 0 or more is right'
        )
    path, path_velocity = tolerances_from(goal.path_tolerance, 'path_tolerance', names)
    end, end_velocity = tolerances_from(goal.goal_tolerance, 'goal_tolerance', names)
    tolerances = RequestedTolerances(path, end, goal_time, path_velocity, end_velocity)
    return TrajectoryRequest(goal, trajectory, tolerances)


def _follow_result(outcome: TrajectoryOutcome) -> FollowJointTrajectory.Result:
    return FollowJointTrajectory.Result(
        error_code=CONTROL_CODES[outcome.end], error_string=outcome.reason
    )


def _execute_request(goal: ExecuteTrajectory.Goal) -> TrajectoryRequest:
    """Return the request of a goal as move_group takes it; its controllers are ignored."""
    several = goal.trajectory.multi_dof_joint_trajectory
    if several.points or several.joint_names:
        raise GoalRefusedError(TrajectoryEnd.INVALID, 'multi_dof_joint_trajectory has to be empty')
    message = goal.trajectory.joint_trajectory
    trajectory = _trajectory(message)
    return TrajectoryRequest(FollowJointTrajectory.Goal(trajectory=message), trajectory)


def _execute_result(outcome: TrajectoryOutcome) -> ExecuteTrajectory.Result:
    result = ExecuteTrajectory.Result()
    write_code(result.error_code, MOVEIT_CODES[outcome.end], outcome.reason)
    return result


def _execute_feedback(playback: Playback, first: bool) -> ExecuteTrajectory.Feedback | None:
    """Return the state MONITOR at the start, and IDLE at the end; None in between."""
    if playback.outcome is not None:
        return ExecuteTrajectory.Feedback(state='IDLE')
    return ExecuteTrajectory.Feedback(state='MONITOR') if first else None


def _trajectory(message: Message) -> JointTrajectory:
    """Return the trajectory of a message, from which efforts of 0 are taken away."""
    try:
        trajectory = trajectory_from(message)
    except TrajectoryError as error:
        raise GoalRefusedError(TrajectoryEnd.INVALID, str(error)) from None
    for point in message.points:  # a controller without an interface for them refuses any
        point.effort = []
    return trajectory


@dataclass(eq=False)
class _Goal:
    action: _Action
    server: DeferredActionServer
    handle: GoalHandle
    playback: Playback | None = None  # None before it begins, and when it was canceled before
    begun: bool = False  # whether all is done that its begin asks for
    canceled: bool = False  # whether its client has canceled it
    preempted: str = ''  # reason of its stop, for its client; empty for none
    ended_at: float | None = None  # when its trajectory has ended, on the monotonic clock [s]
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while it is processed
    finished: bool = False  # whether its result is sent
    _reported: bool = False

    def cancel(self) -> bool:
        """Cancel it, as its client wants; return whether that can still be."""
        if self.ended_at is not None:
            return False
        self.canceled = True
        if self.playback is not None:
            self.playback.cancel()
        return True

    def preempt(self, reason: str) -> None:
        """Stop it, as all motion is stopped."""
        self.preempted = self.preempted or reason
        if self.playback is not None:
            self.playback.preempt(reason)

    def give_feedback(self) -> None:
        """Send feedback, if there is news."""
        if self.playback is None:
            return
        feedback = self.action.feedback(self.playback, not self._reported)
        if feedback is not None:
            self._reported = True
            self.handle.publish_feedback(feedback)


_PERIOD = 0.05  # time between two feedbacks [s]
_DELIVERY = 0.2  # time in which DDS sends the last results again, if they are lost [s]
_LONGEST_END = LONGEST_RAMP + 0.5  # time within which the commands come to rest after an end [s]


class TrajectoryActions(Capability):
    """
    Actions ``follow_joint_trajectory`` and ``execute_trajectory``.

    A goal that cannot be done is accepted and aborted at once, so that its client learns why.
    With the parameter ``trajectory_action`` the goals are checked and passed on.

    :raises OptionError: the controller's action would be this one, or has no valid name.
    """

    def __init__(self, parts: NodeParts) -> None:
        node, parameters = parts.node, parts.parameters
        self.group: CallbackGroup | None = ReentrantCallbackGroup()
        self._node, self._log = node, node.get_logger()
        self._followers, self._parameters = parts.followers, parameters
        self._action = controller_action(node, parameters[TRAJECTORY_ACTION])
        self._on_error, self._ticks = parts.on_error, parts.ticks
        self._note_goal = parts.note_goal
        self._goals: list[_Goal] = []
        self._lock, self._beginning = threading.Lock(), threading.Lock()
        self._ending, self._attended_at = False, 0.0
        self._counts = {'succeeded': 0, 'canceled': 0, 'refused or aborted': 0}
        self._last = 'none'
        self._delays = FaultLogger(self._log.warning)
        own = [node.resolve_service_name(action.name) for action in _ACTIONS]
        if self._action in own:
            raise OptionError(
                TRAJECTORY_ACTION.name, f'{self._action} is the action of this node itself'
            )

    def start(self) -> None:
        """Offer the actions."""
        clock_rates.warm_up()  # while nothing moves
        node, group = self._node, self.group
        self._news = node.create_guard_condition(self._attend_all, callback_group=group)
        if self._action:
            self._client = ThreadSafeActionClient(
                node, FollowJointTrajectory, self._action, group, self._note_goal
            )
        for action in _ACTIONS:
            self._serve(action)

    def end(self) -> None:
        """Let the arm come to rest on its trajectories, and abort the goals."""
        self._ending = True
        goals = tuple(self._goals)
        for goal in goals:
            if goal.playback is not None:
                goal.playback.cancel(_ENDS)
        followers = self._followers()
        if followers is not None:
            followers.clock.wait_while(lambda: bool(self._goals), _LONGEST_END)
        if goals:
            time.sleep(_DELIVERY)

    def preempt(self, reason: str) -> None:
        """Stop all goals, those at a controller too, for a stop of all motion."""
        for goal in tuple(self._goals):
            goal.preempt(reason)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        goals = tuple(self._goals)
        return {
            'trajectory on its way': ', '.join(goal.action.name for goal in goals) or 'none',
            'last trajectory': self._last,
            **{f'trajectories {what}': str(count) for what, count in self._counts.items()},
            'trajectories are played by': self._action or 'this node',
        }

    def _tick(self, now: float) -> None:
        """Let the goals be processed periodically, as long as there are any."""
        if now - self._attended_at >= _PERIOD:
            self._attended_at = now
            self._news.trigger()

    def _serve(self, action: _Action) -> None:
        server: DeferredActionServer

        def on_goal(handle: GoalHandle) -> None:
            try:
                goal = self._noted(action, server, handle)
                if goal is not None:
                    self._begin(goal)
            except Exception as error:  # the node goes on
                self._on_error(error)

        def on_cancel(handle: GoalHandle) -> bool:
            goal = self._noted(action, server, handle)
            return goal is not None and goal.cancel()

        server = DeferredActionServer(
            self._node, action.kind, action.name, on_goal, on_cancel, self.group
        )

    def _noted(
        self, action: _Action, server: DeferredActionServer, handle: GoalHandle
    ) -> _Goal | None:
        """Return the goal of a handle, which is new or known already; None after its end."""
        with self._lock:
            for goal in self._goals:
                if goal.handle is handle:
                    return goal
            if not handle.is_active:
                return None
            goal = _Goal(action, server, handle)
            self._goals.append(goal)
            self._ticks.add(self._tick)
            return goal

    def _begin(self, goal: _Goal) -> None:
        try:
            with self._beginning:  # a goal that comes at the same time replaces it, or is replaced
                none = goal.canceled or goal.preempted
                goal.playback = None if none else self._playback(goal)
        except GoalRefusedError as error:
            self._finish(goal, error.outcome)
            return
        except Exception as error:
            self._on_error(error)
            reason = f'error in the node: {error}'
            self._finish(goal, TrajectoryOutcome(TrajectoryEnd.STOPPED, reason))
            return
        if goal.playback is not None and goal.canceled:
            goal.playback.cancel()
        elif goal.playback is not None and goal.preempted:
            goal.playback.preempt(goal.preempted)
        elif goal.playback is not None and self._ending:
            goal.playback.cancel(_ENDS)
        goal.begun = True
        self._news.trigger()

    def play(
        self, message: JointTrajectoryMessage, on_end: Callable[[], object], asked_at: float
    ) -> Playback:
        """
        Begin to move the arm along a trajectory of the node's own, which replaces none.

        :param asked_at: when it was asked for, on the monotonic clock [s].
        :param on_end: called after its end; must not block.
        :raises GoalRefusedError: nothing moves then.
        """
        goal = ExecuteTrajectory.Goal()
        goal.trajectory.joint_trajectory = message
        request = replace(_execute_request(goal), asked_at=asked_at)
        with self._beginning:
            return self._begun(request, 'a planned motion', on_end, False)

    def _playback(self, goal: _Goal) -> Playback:
        request = goal.action.request(goal.handle.request)
        request = replace(request, asked_at=goal.handle.asked_at)
        return self._begun(
            request, goal.action.name, self._news.trigger, self._parameters[REPLACE_GOALS]
        )

    def _begun(
        self, request: TrajectoryRequest, name: str, news: Callable[[], object], replacing: bool
    ) -> Playback:
        followers = self._followers()
        if followers is None or self._ending:
            reason = _ENDS if self._ending else 'there is no robot description yet'
            raise GoalRefusedError(TrajectoryEnd.REFUSED, reason)
        trajectory = request.trajectory
        following = follower_for(followers, trajectory.joint_names)
        replaces = self._replaceable(following, request.asked_at) if replacing else None
        playback: Playback
        if self._action:
            before = replaces if isinstance(replaces, ForwardedPlayback) else None
            playback = ForwardedPlayback(
                request, following, self._client, news, self._delays, before
            )
        else:
            playback = CommandedPlayback(request, following, news, replaces)
        points = counted(len(trajectory), 'point')
        to = f', passed on to {self._action}' if self._action else assumed_speeds(following.chain)
        self._log.info(
            f'{name}: {points}, {trajectory.duration:.2f} s, '
            f'group {following.group.name or "default"}{to}'
        )
        return playback

    def _replaceable(self, following: FollowerInterface, asked_at: float) -> Playback | None:
        """
        Return the active trajectory that a new one may replace; None for none.

        :raises GoalRefusedError: that was asked for later: threads have changed the order.
        """
        motion_goal = following.follower.goal
        for goal in tuple(self._goals):
            if goal.playback is not None and goal.playback.motion_goal is motion_goal:
                if goal.handle.asked_at > asked_at:
                    raise GoalRefusedError(TrajectoryEnd.PREEMPTED, REPLACED)
                return goal.playback
        return None

    def _attend_all(self) -> None:
        now = time.monotonic()
        for goal in tuple(self._goals):
            try:
                self._attend(goal, now)
            except Exception as error:  # the goals of others go on
                self._on_error(error)

    def _attend(self, goal: _Goal, now: float) -> None:
        if not goal.begun or not goal.lock.acquire(blocking=False):
            return  # it begins, or is being processed
        try:
            outcome = self._outcome(goal, now)
            if outcome is None:
                return
            goal.ended_at = goal.ended_at or now
            ended = goal.playback is None or goal.playback.resting
            ended = ended or now - goal.ended_at > _LONGEST_END
            if ended and goal.canceled == goal.handle.is_cancel_requested and not goal.finished:
                goal.give_feedback()
                self._finish(goal, outcome)
        finally:
            goal.lock.release()

    def _outcome(self, goal: _Goal, now: float) -> TrajectoryOutcome | None:
        """Do the due work of a goal; return its outcome, None before its end."""
        playback = goal.playback
        if playback is None:
            return CANCELED_EARLY if goal.canceled else preempted(goal.preempted)
        playback.attend(now)
        if playback.outcome is None:
            goal.give_feedback()
            followers = self._followers()
            if followers is not None and playback.following not in tuple(followers):
                playback.replace_arm(followers)
            return None
        return playback.outcome

    def _finish(self, goal: _Goal, outcome: TrajectoryOutcome) -> None:
        handle, end = goal.handle, outcome.end
        text = f'{goal.action.name}: {outcome.reason}'
        if end is TrajectoryEnd.REACHED:
            finish, what = handle.succeed, 'succeeded'
        elif end is TrajectoryEnd.CANCELED and handle.is_cancel_requested:
            finish, what = handle.canceled, 'canceled'
        else:
            finish, what = handle.abort, 'refused or aborted'
        self._counts[what] += 1
        self._last = text
        if what == 'refused or aborted':
            self._log.warning(text)
        else:
            self._log.info(text)
        goal.finished = True
        goal.server.finish(handle, finish, goal.action.result(outcome))
        with self._lock:
            self._goals.remove(goal)
            if not self._goals:
                self._ticks.discard(self._tick)


_ACTIONS = (
    _Action(
        'follow_joint_trajectory',
        FollowJointTrajectory,
        follow_request,
        _follow_result,
        lambda playback, first: playback.feedback(),
    ),
    _Action(
        'execute_trajectory',
        ExecuteTrajectory,
        _execute_request,
        _execute_result,
        _execute_feedback,
    ),
)
_ENDS = 'the node ends'
