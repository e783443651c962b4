"""ROS node of the viewer: its parameters, subscriptions, publisher and service clients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetGroupUrdf, GetPositionIK
import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.access_policy import host_name
from ik_service.extras.viewer.link.remote_parameters import RemoteParameters
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.partial_executor import PartialExecutor
from ik_service.ros.common.qos import DESCRIPTION_QOS, MARKERS_QOS
from ik_service.ros.demo.take_over import PAUSE_TOPIC, RESUME_SERVICE
from ik_service.ros.markers.world_markers import TOPIC as WORLD_TOPIC
from ik_service.ros.parameters.parameter_declaration import (
    declare_parameters,
    ParameterSpec,
    ParameterValues,
)

HOST = ParameterSpec(
    'host', '127.0.0.1', 'Address of this machine to serve the page at', read_only=True
)
ALLOWED_HOSTS = ParameterSpec(
    'allowed_hosts',
    '',
    'Further names and addresses of this machine that browsers may ask for the page '
    "by, such as 'arm.local, 192.168.1.5'; the page then asks for a token",
    read_only=True,
)
PORT = ParameterSpec('port', 8080, 'TCP port; 0 for any free one', (0, 65535), read_only=True)
PORT_SEARCH = ParameterSpec(
    'port_search', True, 'Whether the next free port is taken when port is in use', read_only=True
)
RATE = ParameterSpec('rate', 30.0, 'Update rate of the page [Hz]', (1.0, 60.0), read_only=True)
REACH = ParameterSpec(
    'reach', '', 'Path of the reach.zarr of ik_study reach, to show; empty: none', read_only=True
)
MAKE_REACH = ParameterSpec(
    'make_reach',
    False,
    'Whether a coarse map of the reach is made, in the background, when a page is first opened',
    read_only=True,
)
_TEXTS = {
    'urdf': 'Path of a URDF or xacro file; empty: robot_description',
    'xacro_args': "Arguments of urdf where it is a xacro file, such as 'ur_type:=ur5e name:=ur'",
    'package_dirs': (
        "Folders in which more packages lie, for meshes and xacro files, with ':' "
        'between them; empty: those of the IK node'
    ),
    'robot_description': (
        'URDF text; empty: the description that the IK node uses, or else that of the topic'
    ),
    'srdf': (
        'Path of an SRDF or xacro file, whose group states the page offers; empty: '
        'robot_description_semantic'
    ),
    'robot_description_semantic': (
        'SRDF text, or the path of a file; empty: that of the IK node, or else of the topic'
    ),
    'base_link': 'Link that targets are relative to; empty: that of the IK node',
    'tip_link': 'Link that follows the target; empty: that of the IK node',
}
ROBOT = tuple(ParameterSpec(name, '', text, read_only=True) for name, text in _TEXTS.items())
"""Parameters about the robot; texts, all empty by default."""


def declare_settings(node: Node) -> ParameterValues:
    """Declare the parameters of a viewer, and return their values; OptionError for a wrong one."""
    return declare_parameters(
        node, (HOST, ALLOWED_HOSTS, PORT, PORT_SEARCH, RATE, REACH, MAKE_REACH, *ROBOT)
    )


def parse_hosts(text: str) -> tuple[str, ...]:
    """Parse a list of host names; raises OptionError for what is none."""
    names = [name.strip() for name in text.split(',') if name.strip()]
    for name in names:
        if not host_name(name):
            raise OptionError(
                'allowed_hosts',
                f'{name[:80]!r} is no host: names and addresses without scheme and port are '
                "needed, separated by commas, such as 'arm.local, 192.168.1.5'",
            )
    return tuple(host_name(name) for name in names)


NEWEST_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)
"""Only the newest message is shown, and no publisher waits for a viewer."""

_STATE_TOPICS = 3  # topics of which one message each is taken in a turn
_TIMEOUT = 2.0  # of a response; a later one counts as lost [s]

OnResponse = Callable[[Any], None]


class ViewerNode(Node):
    """
    ROS node of the viewer.

    :ivar state_group: callbacks of topics of which only the newest message counts, three of them,
        for :meth:`poll_states`.
    :ivar main_executor: serves all but the joint states and commands; to be spun.
    """

    def __init__(self) -> None:
        super().__init__('ik_viewer')
        self.ik = RequestClient(self, GetPositionIK, 'compute_ik')
        self.urdf = RequestClient(self, GetGroupUrdf, 'get_urdf')
        self._resume = self.create_client(Trigger, RESUME_SERVICE)
        self._target = self.create_publisher(PoseStamped, 'target_pose', 10)
        self._own_stamps: deque[tuple[int, int]] = deque(maxlen=64)
        self.state_group = MutuallyExclusiveCallbackGroup()
        self.main_executor = PartialExecutor(self, lambda g: g is not self.state_group)
        self._states = PartialExecutor(self, lambda g: g is self.state_group)

    def destroy_node(self) -> None:
        """Destroy the node and its executors, which must not outlive the context."""
        for executor in (self.main_executor, self._states):
            executor.shutdown(timeout_sec=0.0)
        super().destroy_node()

    def poll_states(self) -> None:
        """Call the callbacks of the newest states: one for each message would take long."""
        for _ in range(_STATE_TOPICS):
            self._states.spin_once(timeout_sec=0.0)

    def subscribe(self, take: Mapping[str, Callable[[Any], None]]) -> None:
        """
        Subscribe to topics; of texts, a callback gets the text instead of the message.

        Callbacks are called in the thread that spins :attr:`main_executor`, but for those of the
        states, which :meth:`poll_states` calls.
        """

        def take_foreign(message: PoseStamped) -> None:
            if (message.header.stamp.sec, message.header.stamp.nanosec) not in self._own_stamps:
                take['target_pose'](message)

        subscribe, group = self.create_subscription, self.state_group
        for topic in ('joint_states', 'joint_command'):
            subscribe(JointState, topic, take[topic], NEWEST_QOS, callback_group=group)
        subscribe(PoseStamped, 'target_pose', take_foreign, 10)
        subscribe(DiagnosticArray, 'diagnostics', take['diagnostics'], 10)
        self._texts = {
            topic: subscribe(String, topic, partial(_take_text, take[topic]), DESCRIPTION_QOS)
            for topic in ('robot_description', 'robot_description_semantic', PAUSE_TOPIC)
        }
        subscribe(ParameterEvent, '/parameter_events', take['/parameter_events'], 100)
        self._world = subscribe(MarkerArray, WORLD_TOPIC, take[WORLD_TOPIC], MARKERS_QOS)
        self.main_executor.wake()

    def is_world_known(self) -> bool:
        """Whether a node that publishes ``world_markers`` is on the graph."""
        return self._world.get_publisher_count() > 0

    def is_demo_there(self) -> bool:
        """Whether a demo that can be paused is on the graph."""
        return self._texts[PAUSE_TOPIC].get_publisher_count() > 0

    def resume_demo(self) -> None:
        """Let the demo go on."""
        if self._resume.service_is_ready():
            self._resume.call_async(Trigger.Request())

    def parameters_of(self, remote: str) -> RemoteParameters:
        """Return the parameters of another node."""
        parameters = RemoteParameters(self, remote)
        self.main_executor.wake()  # a wait does not include later entities
        return parameters

    def publish_target(self, T_base_tip: np.ndarray, base_link: str) -> None:
        """Publish a target T_base_tip (4, 4) [m]."""
        message = self._stamped(T_base_tip, base_link)
        self._own_stamps.append((message.header.stamp.sec, message.header.stamp.nanosec))
        self._target.publish(message)

    def ik_request(
        self, T_base_tip: np.ndarray, base_link: str, tip_link: str
    ) -> GetPositionIK.Request:
        """Return a request for a pose (4, 4) [m] of the tip."""
        request = GetPositionIK.Request()
        request.ik_request.ik_link_name = tip_link
        request.ik_request.pose_stamped = self._stamped(T_base_tip, base_link)
        request.ik_request.robot_state.is_diff = True
        return request

    def find_ik_node(self) -> str:
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


def _take_text(take: Callable[[str], None], message: String) -> None:
    take(message.data)


class RequestClient:
    """Service client with at most one request in flight."""

    def __init__(self, node: Node, kind: type, name: str) -> None:
        self._client: Client = node.create_client(kind, name)
        self._sent_at = -_TIMEOUT
        self._is_waiting = False

    def is_offered(self) -> bool:
        """Whether the service is on the graph."""
        return self._client.service_is_ready()

    def is_idle(self) -> bool:
        """Whether the last request was answered, or has timed out."""
        return not self._is_waiting or time.monotonic() - self._sent_at > _TIMEOUT

    def send(self, request: Any, on_response: OnResponse) -> bool:  # noqa: ANN401 (of any service)
        """Send a request unless one is in progress or no server is there; say whether."""
        if not self.is_idle() or not self.is_offered():
            return False
        self._is_waiting, self._sent_at = True, time.monotonic()

        def on_done(future: Future) -> None:
            self._is_waiting = False
            if not future.cancelled() and future.exception() is None:
                on_response(future.result())

        self._client.call_async(request).add_done_callback(on_done)
        return True
