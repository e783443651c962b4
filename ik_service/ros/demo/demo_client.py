"""Client of the IK node for the demo: services, targets and joint states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, PoseStamped
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import CollisionObject, ObjectColor
from moveit_msgs.srv import ApplyPlanningScene, GetPositionFK, GetPositionIK
import numpy as np
import rclpy
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import ColorRGBA, String
from std_srvs.srv import Trigger

from ik_service.exceptions import IkServiceError
from ik_service.ros.common.actions import ThreadSafeActionClient
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.qos import DESCRIPTION_QOS, SERVICE_QOS
from ik_service.ros.common.runtime import begin_ros
from ik_service.ros.demo.take_over import PAUSE_TOPIC, RESUME_SERVICE, STOPS, TakeOver
from ik_service.ros.requests.constraints import goal_at

_BOX = 'box'
_BOX_COLOR = ColorRGBA(r=0.85, g=0.62, b=0.35, a=1.0)
_POSITION, _ORIENTATION = 1e-4, 1e-3  # tolerances of goals [m] and [rad]
_PLANNING_TIME = 10.0  # granted to a plan [s]

Wait = Callable[[Future, str], Any]
"""Waits for a future, the second argument naming the awaited event, and returns its result."""


@dataclass(frozen=True)
class PlannedMove:
    """
    End of a motion that was planned.

    :ivar success: whether the arm is at the goal, or a plan to it was found.
    :ivar has_plan: whether a plan was found.
    :ivar message: MoveIt's code, or the same in a sentence.
    :ivar planning_time: [s].
    """

    success: bool
    has_plan: bool
    message: str
    planning_time: float


class PlanClient:
    """Client of ``apply_planning_scene`` and ``move_action``, for poses in ``base_link``."""

    def __init__(self, node: Node, base_link: str, tip_link: str, wait: Wait) -> None:
        self._base_link, self._tip_link, self._wait = base_link, tip_link, wait
        self._scene = node.create_client(ApplyPlanningScene, 'apply_planning_scene')
        self._move = ThreadSafeActionClient(node, MoveGroup, 'move_action')

    def is_ready(self) -> bool:
        """Whether scenes and motions can be asked for."""
        return self._scene.service_is_ready() and self._move.server_is_ready()

    def put_box(self, T_base_box: np.ndarray, size: tuple[float, float, float]) -> bool:
        """Put a box (its middle T (4, 4), its size) in place of the one before; return success."""
        box = CollisionObject(id=_BOX, pose=pose_from_matrix(T_base_box))
        box.header.frame_id = self._base_link
        box.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(size))]
        box.primitive_poses = [Pose()]
        return self._apply([box], [ObjectColor(id=_BOX, color=_BOX_COLOR)])

    def remove_box(self) -> bool:
        """Remove the box; return whether the scene was taken."""
        return self._apply([CollisionObject(id=_BOX, operation=CollisionObject.REMOVE)], [])

    def move(self, T_base_tip: np.ndarray, pipeline: str = '', only: bool = False) -> PlannedMove:
        """
        Plan a motion to a pose, and make it.

        :param T_base_tip: (4, 4) the pose [m].
        :param pipeline: of the node; empty for its default.
        :param only: whether it is only planned.
        """
        goal = MoveGroup.Goal()
        goal.request.goal_constraints = [
            goal_at(T_base_tip, self._base_link, self._tip_link, _POSITION, _ORIENTATION)
        ]
        goal.request.pipeline_id = pipeline
        goal.request.allowed_planning_time = _PLANNING_TIME
        goal.planning_options.plan_only = only
        handle = self._wait(self._move.send_goal_async(goal), 'move_action does not answer')
        result = self._wait(handle.get_result_async(), 'move_action does not end').result
        code = result.error_code
        return PlannedMove(
            code.val == ErrorCode.SUCCESS,
            bool(result.planned_trajectory.joint_trajectory.points),
            getattr(code, 'message', '') or f'code {code.val}',
            result.planning_time,
        )

    def _apply(self, objects: list[CollisionObject], colors: list[ObjectColor]) -> bool:
        request = ApplyPlanningScene.Request()
        scene = request.scene
        scene.is_diff = scene.robot_state.is_diff = True
        scene.world.collision_objects, scene.object_colors = objects, colors
        future = self._scene.call_async(request)
        return self._wait(future, 'apply_planning_scene does not answer').success


_TIMEOUT = 10.0  # of a service that does not answer, and a topic that is silent [s]
_LONGEST_MOTION = 90.0  # with its plan; arms are slow at a small --speed [s]
_CHECK_PERIOD = 0.2  # time between two calls of the check while waiting [s]

_MOTIONS = 'ik_service: motions'  # part of the node's diagnostics
_PLANS, _PLANNED = 'motions are planned', 'yes'  # in them
_UNMEASURED = 'joints without a joint state'  # in them


class ServiceFailedError(IkServiceError):
    """Service call without a response, or with one that reports a failure."""


@dataclass(frozen=True)
class DemoAnswer:
    """
    Answer of ``compute_ik``.

    :ivar success: whether it found joint values.
    :ivar code: MoveIt's error code.
    :ivar message: the same in a sentence; empty where the distribution has no such field.
    :ivar positions: joint values by name [rad] or [m]; empty without success.
    :ivar seconds: from request to response.
    """

    success: bool
    code: int
    message: str
    positions: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class SeenState:
    """
    State of the arm from ``joint_states``.

    :ivar positions: positions by joint [rad] or [m].
    :ivar speed: speed of the fastest joint [rad/s] or [m/s].
    """

    positions: Mapping[str, float]
    speed: float


class DemoClient:
    """
    Client of the IK node, with a context of its own; to be closed.

    :param base_link: frame of all poses.
    :param check: called repeatedly while it waits for an answer; may raise to give up.
    :ivar plan_fault: why the node plans no motions; None while that is not known.
    """

    def __init__(self, base_link: str, tip_link: str, check: Callable[[], None]) -> None:
        self._check = check
        self._base_link, self._tip_link = base_link, tip_link
        self._context = rclpy.context.Context()
        begin_ros([], self._context)
        self._node = rclpy.create_node('ik_demo', context=self._context)
        self._ik = self._node.create_client(GetPositionIK, 'compute_ik', qos_profile=SERVICE_QOS)
        self._fk = self._node.create_client(GetPositionFK, 'compute_fk', qos_profile=SERVICE_QOS)
        self._target = self._node.create_publisher(PoseStamped, 'target_pose', 10)
        self._own_stamps: deque[tuple[int, int]] = deque(maxlen=64)
        self.plans = PlanClient(self._node, base_link, tip_link, self._result)
        self.plan_fault: str | None = None
        self.take_over = TakeOver()
        self._node.create_subscription(PoseStamped, 'target_pose', self._on_target, 10)
        self._node.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, 10)
        self._stop = self._node.create_client(Trigger, 'ik_service/stop')
        self._pause = self._node.create_publisher(String, PAUSE_TOPIC, DESCRIPTION_QOS)
        self._node.create_service(Trigger, RESUME_SERVICE, self._on_resume)
        self._arrival = threading.Condition()
        self._state: SeenState | None = None
        self._measured = False  # whether joint states arrive at the node
        self._node.create_subscription(
            JointState, 'joint_states', self._on_state, qos_profile_sensor_data
        )
        # Spins in its own thread: spin_until_future_complete busy-waits on Jazzy.
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.shutdown()
        self._thread.join(2.0)
        self._node.destroy_node()
        self._context.try_shutdown()

    def is_ready(self) -> bool:
        """Whether the services are there, targets are taken, and the arm's state arrives."""
        return (
            self._ik.service_is_ready()
            and self._fk.service_is_ready()
            and self._target.get_subscription_count() > 1  # this client's own, and the node's
            and self._measured
            and self._state is not None
        )

    def solve(self, T_base_tip: np.ndarray) -> DemoAnswer:
        """Ask ``compute_ik`` for the joint values of T_base_tip; raises ServiceFailedError."""
        request = GetPositionIK.Request()
        request.ik_request.ik_link_name = self._tip_link
        request.ik_request.pose_stamped = self._stamped(T_base_tip)
        request.ik_request.robot_state.is_diff = True
        start = time.perf_counter()
        answer = self._call(self._ik, request)
        seconds = time.perf_counter() - start
        state = answer.solution.joint_state
        if len(state.name) != len(state.position):
            raise ServiceFailedError('compute_ik answers without a position for each joint')
        return DemoAnswer(
            success=answer.error_code.val == ErrorCode.SUCCESS,
            code=answer.error_code.val,
            message=getattr(answer.error_code, 'message', ''),
            positions=dict(zip(state.name, state.position, strict=True)),
            seconds=seconds,
        )

    def tip_pose(self, positions: Mapping[str, float]) -> np.ndarray:
        """
        Ask ``compute_fk`` where the tip is.

        :param positions: positions by joint [rad] or [m].
        :returns: (4, 4) T_base_tip.
        :raises ServiceFailedError: no answer came, or a refusal.
        """
        request = GetPositionFK.Request(fk_link_names=[self._tip_link])
        request.header.frame_id = self._base_link
        request.robot_state.joint_state.name = list(positions)
        request.robot_state.joint_state.position = list(positions.values())
        answer = self._call(self._fk, request)
        if answer.error_code.val != ErrorCode.SUCCESS:
            reason = getattr(answer.error_code, 'message', '') or answer.error_code.val
            raise ServiceFailedError(f'compute_fk refused: {reason}')
        if not answer.pose_stamped:
            raise ServiceFailedError('compute_fk answers without a pose')
        return matrix_from_pose(answer.pose_stamped[0].pose)

    def publish_target(self, T_base_tip: np.ndarray) -> None:
        """Publish a target, (4, 4) T_base_tip."""
        message = self._stamped(T_base_tip)
        self._own_stamps.append(_stamp(message))
        self._target.publish(message)

    def stop(self) -> None:
        """Ask the node to stop the arm, whatever moves it."""
        if self._stop.service_is_ready():
            self.take_over.expect(STOPS)
            self._stop.call_async(Trigger.Request())

    def show_pause(self, reason: str) -> None:
        """Say why the demo is paused; an empty reason when it goes on."""
        self._pause.publish(String(data=reason))

    def next_state(self) -> SeenState:
        """Wait for the next joint state and return it; raises ServiceFailedError if none comes."""
        before = self._state

        def is_there() -> bool:
            with self._arrival:
                return self._arrival.wait_for(lambda: self._state is not before, _CHECK_PERIOD)

        self._wait(is_there, 'joint_states is silent')
        assert self._state is not None  # another one than before
        return self._state

    def _on_target(self, message: PoseStamped) -> None:
        if _stamp(message) not in self._own_stamps:
            self.take_over.take_target()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self._measured |= values.get(_UNMEASURED) == 'none'
            if status.name == _MOTIONS:
                self.take_over.take_counts(values)
                planned = values.get(_PLANS, 'the node is without motion plans')
                self.plan_fault = '' if planned == _PLANNED else planned

    def _on_resume(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        answer.success = bool(self.take_over.reason)
        answer.message = 'the demo goes on' if answer.success else 'the demo is not paused'
        self.take_over.end()
        return answer

    def _on_state(self, message: JointState) -> None:
        if len(message.name) != len(message.position):
            return  # of a driver that measures velocities or efforts alone
        with self._arrival:
            self._state = SeenState(
                positions=dict(zip(message.name, message.position, strict=True)),
                speed=max((abs(speed) for speed in message.velocity), default=math.inf),
            )
            self._arrival.notify_all()

    def _stamped(self, T_base_tip: np.ndarray) -> PoseStamped:
        message = PoseStamped(pose=pose_from_matrix(T_base_tip))
        message.header.frame_id = self._base_link
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message

    def _call(
        self, client: Client, request: GetPositionIK.Request | GetPositionFK.Request
    ) -> GetPositionIK.Response | GetPositionFK.Response:
        failure = f'{client.srv_name} does not answer'
        return self._result(client.call_async(request), failure, _TIMEOUT)

    def _result(self, future: Future, failure: str, timeout: float = _LONGEST_MOTION) -> Any:  # noqa: ANN401
        """Wait for a future, and return its result, a message of any type."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        self._wait(lambda: done.wait(_CHECK_PERIOD), failure, timeout)
        return future.result()

    def _wait(self, is_there: Callable[[], bool], failure: str, timeout: float = _TIMEOUT) -> None:
        """Wait for something; ``is_there`` itself waits for a moment."""
        deadline = time.monotonic() + timeout
        while not is_there():
            self._check()
            if time.monotonic() > deadline:
                raise ServiceFailedError(f'{failure} for {timeout:g} s')


def _stamp(message: PoseStamped) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec
