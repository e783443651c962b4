"""Services and action of the IK node with which a path is previewed and executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import threading
from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from moveit_msgs.action import ExecuteTrajectory
from moveit_msgs.msg import RobotState, RobotTrajectory
from moveit_msgs.srv import GetCartesianPath, GetPositionIK
import numpy as np
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.extras.viewer.link.remote_parameters import response_of
from ik_service.extras.viewer.link.viewer_node import RequestClient, ViewerNode
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.capabilities.trajectory_goals import trajectory_from
from ik_service.ros.common.actions import ThreadSafeActionClient
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode

_SHORTEST = 0.05  # time of a motion of the joints [s]
PATH_SERVICE, ACTION = 'compute_cartesian_path', 'execute_trajectory'


@dataclass(frozen=True)
class PathSettings:
    """Largest distance of solved points [m], and largest speed of the tip [m/s], 0 for none."""

    max_step: float
    speed: float
    avoid_collisions: bool


@dataclass(frozen=True)
class PathAnswer:
    """Answer of ``compute_cartesian_path``: the motion, and why it ends there or is None."""

    message: RobotTrajectory | None
    fraction: float
    reason: str

    def trajectory(self) -> JointTrajectory:
        """Return the motion; raises TrajectoryError where there is none, or a malformed one."""
        message = RobotTrajectory() if self.message is None else self.message
        return trajectory_from(message.joint_trajectory)


@dataclass(frozen=True)
class ExecutionEnd:
    """End of an execution: whether the arm is there or it was cancelled, and the message."""

    is_success: bool
    is_canceled: bool = False
    reason: str = ''


class Execution:
    """Execution by the node; ``on_end`` is called once, in the thread that spins."""

    def __init__(
        self,
        client: ThreadSafeActionClient,
        message: RobotTrajectory,
        on_end: Callable[[ExecutionEnd], object],
    ) -> None:
        self._on_end = on_end
        self._lock = threading.Lock()
        self._handle: ClientGoalHandle | None = None
        self._is_canceled = False
        goal = ExecuteTrajectory.Goal(trajectory=message)
        # To begin now, and not at the time when it was found.
        goal.trajectory.joint_trajectory.header.stamp = Time()
        client.send_goal_async(goal).add_done_callback(self._on_answer)

    def cancel(self) -> None:
        """Ask the node to stop the arm; the end follows."""
        with self._lock:
            self._is_canceled, handle = True, self._handle
        if handle is not None:
            handle.cancel_goal_async()

    def _on_answer(self, future: Future) -> None:
        handle = response_of(future)
        if handle is None or not handle.accepted:
            reason = 'the IK node has not accepted the trajectory; its log says why'
            self._on_end(ExecutionEnd(is_success=False, reason=reason))
            return
        with self._lock:
            self._handle, is_canceled = handle, self._is_canceled
        handle.get_result_async().add_done_callback(self._on_result)
        if is_canceled:
            handle.cancel_goal_async()

    def _on_result(self, future: Future) -> None:
        answer = response_of(future)
        if answer is None:
            self._on_end(ExecutionEnd(is_success=False, reason='the IK node did not answer'))
            return
        code = answer.result.error_code
        is_success = answer.status == GoalStatus.STATUS_SUCCEEDED and code.val == ErrorCode.SUCCESS
        reason = message_of(code) or ('' if is_success else f'{ACTION} answers {code.val}')
        is_canceled = answer.status == GoalStatus.STATUS_CANCELED
        self._on_end(ExecutionEnd(is_success, is_canceled, reason))


def joint_motion(
    names: Sequence[str], start: np.ndarray, goal: np.ndarray, speeds: np.ndarray, lag: float = 0.0
) -> RobotTrajectory:
    """Motion from ``start`` to ``goal`` (n,) [rad, m] at ``speeds``; lasts ``lag`` [s] longer."""
    moving = speeds > 0.0
    shortest = np.abs(goal - start)[moving] / speeds[moving]
    seconds = max(_SHORTEST, float(shortest.max(initial=0.0)) + lag)
    point = JointTrajectoryPoint(positions=goal.tolist())
    point.time_from_start = Duration(sec=int(seconds), nanosec=int(seconds % 1.0 * 1e9))
    motion = RobotTrajectory()
    motion.joint_trajectory.joint_names = list(names)
    motion.joint_trajectory.points = [point]
    return motion


class PathLink:
    """Client of the services and the action for paths."""

    def __init__(self, node: ViewerNode) -> None:
        self._ik = RequestClient(node, GetPositionIK, 'compute_ik')
        self._path = RequestClient(node, GetCartesianPath, PATH_SERVICE)
        self._action = ThreadSafeActionClient(node, ExecuteTrajectory, ACTION)
        self._node = node

    def can_plan(self) -> bool:
        """Whether the service that finds the motion is on the graph."""
        return self._path.is_offered()

    def can_execute(self) -> bool:
        """Whether the action that executes it is on the graph."""
        return self._action.server_is_ready()

    def request_start(
        self,
        chain: KinematicChain,
        T_base_tip: np.ndarray,
        avoid_collisions: bool,
        on_answer: Callable[[np.ndarray | None, str], object],
    ) -> bool:
        """Request (n,) positions for T_base_tip [m]; ``on_answer`` takes them or the reason."""
        request = self._node.ik_request(T_base_tip, chain.base_link, chain.tip_link)
        request.ik_request.avoid_collisions = avoid_collisions

        def take(response: Any) -> None:  # noqa: ANN401 (moveit_msgs has no types)
            if response.error_code.val != ErrorCode.SUCCESS:
                on_answer(None, refusal_of('compute_ik', response.error_code))
                return
            state = response.solution.joint_state
            positions = dict(zip(state.name, state.position, strict=False))
            if positions.keys() >= {*chain.joint_names}:
                on_answer(np.array([positions[name] for name in chain.joint_names]), '')
            else:
                on_answer(None, 'compute_ik answers without a position for each joint')

        return self._ik.send(request, take)

    def request_path(
        self,
        chain: KinematicChain,
        start: np.ndarray,
        waypoints: np.ndarray,
        settings: PathSettings,
        on_answer: Callable[[PathAnswer], object],
    ) -> bool:
        """Request the tip's motion from ``start`` (n,) along lines to waypoints (k, 4, 4) [m]."""
        request = GetCartesianPath.Request()
        request.header.frame_id = chain.base_link
        request.header.stamp = self._node.get_clock().now().to_msg()
        request.link_name = chain.tip_link
        joints = JointState(name=list(chain.joint_names), position=start.tolist())
        request.start_state = RobotState(joint_state=joints, is_diff=True)
        request.waypoints = [pose_from_matrix(T) for T in waypoints]
        request.max_step = settings.max_step
        request.avoid_collisions = settings.avoid_collisions
        if hasattr(request, 'max_cartesian_speed'):  # not on Humble
            request.cartesian_speed_limited_link = chain.tip_link if settings.speed else ''
            request.max_cartesian_speed = settings.speed

        def take(response: Any) -> None:  # noqa: ANN401 (moveit_msgs has no types)
            on_answer(_read_answer(response))

        return self._path.send(request, take)

    def execute(
        self, message: RobotTrajectory, on_end: Callable[[ExecutionEnd], object]
    ) -> Execution:
        """Let the node follow a trajectory; ``on_end`` is called once, by the spinning thread."""
        return Execution(self._action, message, on_end)


def message_of(code: Any) -> str:  # noqa: ANN401 (moveit_msgs has no types)
    """Return the message of a ``MoveItErrorCodes``, which has only a number on ROS 2 Humble."""
    return getattr(code, 'message', '')


def refusal_of(service: str, code: Any) -> str:  # noqa: ANN401 (moveit_msgs has no types)
    """Return why a service has refused a request."""
    return message_of(code) or f'{service} answers {code.val}'


def _read_answer(response: Any) -> PathAnswer:  # noqa: ANN401 (moveit_msgs has no types)
    code, fraction = response.error_code, float(response.fraction)
    if code.val != ErrorCode.SUCCESS:
        return PathAnswer(None, 0.0, refusal_of(PATH_SERVICE, code))
    has_motion = len(response.solution.joint_trajectory.points) > 1
    return PathAnswer(response.solution if has_motion else None, fraction, message_of(code))
