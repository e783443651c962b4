"""The viewer on the ROS graph: what it hears, asks and says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionFK, GetPositionIK
import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.executors import PartialExecutor
from ik_service.ros.common.qos import DESCRIPTION_QOS
from ik_service.viewer.link.remote_parameters import RemoteParameters

_NEWEST = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)
"""Only the newest message is shown, and nobody waits for a viewer to take theirs."""

_STATE_TOPICS = 2
_PATIENCE = 2.0  # with an answer; after that it is taken for lost [s]


class ViewerNode(Node):
    """
    The node of a viewer.

    :ivar ik: asks ``compute_ik``.
    :ivar fk: asks ``compute_fk``.
    :ivar executor_of_rest: serves all but the joint states and commands; to be spun.
    """

    def __init__(self) -> None:
        super().__init__('ik_viewer')
        self.ik = RequestClient(self, GetPositionIK, 'compute_ik')
        self.fk = RequestClient(self, GetPositionFK, 'compute_fk')
        self._target = self.create_publisher(PoseStamped, 'target_pose', 10)
        self._own_stamps: deque[tuple[int, int]] = deque(maxlen=64)
        self._state_group = MutuallyExclusiveCallbackGroup()
        self.executor_of_rest = PartialExecutor(self, lambda g: g is not self._state_group)
        self._states = PartialExecutor(self, lambda g: g is self._state_group)

    def poll_states(self) -> None:
        """
        Hand over the newest joint state and command, if there are new ones.

        They come many times as often as the picture changes; to be called for each of them would
        take most of this program's time.
        """
        for _ in range(_STATE_TOPICS):
            self._states.spin_once(timeout_sec=0.0)

    def listen(
        self,
        on_state: Callable[[JointState], object],
        on_command: Callable[[JointState], object],
        on_target: Callable[[PoseStamped], object],
        on_diagnostics: Callable[[DiagnosticArray], object],
        on_description: Callable[[str], object],
        on_parameters: Callable[[ParameterEvent], object],
    ) -> None:
        """
        Subscribe to everything.

        The callbacks are called in the thread that spins :attr:`executor_of_rest`, except for the
        first two, which :meth:`poll_states` calls.
        """

        def foreign(message: PoseStamped) -> None:
            if (message.header.stamp.sec, message.header.stamp.nanosec) not in self._own_stamps:
                on_target(message)

        subscribe = self.create_subscription
        group = self._state_group
        subscribe(JointState, 'joint_states', on_state, _NEWEST, callback_group=group)
        subscribe(JointState, 'joint_command', on_command, _NEWEST, callback_group=group)
        subscribe(PoseStamped, 'target_pose', foreign, 10)
        subscribe(DiagnosticArray, 'diagnostics', on_diagnostics, 10)
        subscribe(
            String, 'robot_description', lambda text: on_description(text.data), DESCRIPTION_QOS
        )
        subscribe(ParameterEvent, '/parameter_events', on_parameters, 100)
        self.executor_of_rest.wake()

    def link_to(self, remote: str) -> RemoteParameters:
        """Return a link to the parameters of another node, by its full name."""
        link = RemoteParameters(self, remote)
        self.executor_of_rest.wake()  # it waits for what was there when it began to wait
        return link

    def publish_target(self, T_base_tip: np.ndarray, base_link: str) -> None:
        """Publish where the tip shall be, (4, 4)."""
        message = self._stamped(T_base_tip, base_link)
        self._own_stamps.append((message.header.stamp.sec, message.header.stamp.nanosec))
        self._target.publish(message)

    def ask_ik(
        self, T_base_tip: np.ndarray, base_link: str, tip_link: str, on_answer: Callable
    ) -> bool:
        """Ask ``compute_ik`` how the tip gets to a pose; see :meth:`RequestClient.ask`."""
        request = GetPositionIK.Request()
        request.ik_request.ik_link_name = tip_link
        request.ik_request.pose_stamped = self._stamped(T_base_tip, base_link)
        request.ik_request.robot_state.is_diff = True
        return self.ik.ask(request, on_answer)

    def ask_fk(
        self,
        joints: Mapping[str, float],
        links: Sequence[str],
        frame: str,
        on_answer: Callable,
    ) -> bool:
        """Ask ``compute_fk`` where links are; see :meth:`RequestClient.ask`."""
        request = GetPositionFK.Request(fk_link_names=list(links))
        request.header.frame_id = frame
        request.robot_state.is_diff = True
        request.robot_state.joint_state.name = list(joints)
        request.robot_state.joint_state.position = [float(value) for value in joints.values()]
        return self.fk.ask(request, on_answer)

    def find_server(self) -> str:
        """Return the full name of the node that offers ``compute_ik``; empty when none does."""
        service = self.resolve_service_name('compute_ik')
        for name, namespace in self.get_node_names_and_namespaces():
            try:
                offered = self.get_service_names_and_types_by_node(name, namespace)
            except Exception:  # it left between the two calls; its error class differs by version
                continue
            if any(entry[0] == service for entry in offered):
                return f'{namespace.rstrip("/")}/{name}'
        return ''

    def _stamped(self, T: np.ndarray, frame: str) -> PoseStamped:
        message = PoseStamped(pose=pose_from_matrix(T))
        message.header.frame_id = frame
        message.header.stamp = self.get_clock().now().to_msg()
        return message


class RequestClient:
    """
    A service that is asked one thing at a time.

    :param node: the node that asks.
    :param kind: the service's type.
    :param name: its name.
    """

    def __init__(self, node: Node, kind: type, name: str) -> None:
        self._client: Client = node.create_client(kind, name)
        self._asked_at = -_PATIENCE
        self._waiting = False

    def is_offered(self) -> bool:
        """Whether the service is on the graph."""
        return self._client.service_is_ready()

    def is_free(self) -> bool:
        """Whether the last question was answered, or is past all hope."""
        return not self._waiting or time.monotonic() - self._asked_at > _PATIENCE

    def ask(self, request: object, on_answer: Callable[[object], object]) -> bool:
        """
        Ask.

        :param on_answer: called with the response in the thread that spins.
        :returns: whether it was asked: not without a server, and not while another question is
            waiting for its answer.
        """
        if not self.is_free() or not self.is_offered():
            return False
        self._waiting, self._asked_at = True, time.monotonic()

        def on_done(future: object) -> None:
            self._waiting = False
            if not future.cancelled() and future.exception() is None:
                on_answer(future.result())

        self._client.call_async(request).add_done_callback(on_done)
        return True
