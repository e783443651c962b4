"""Client of the servo topics for a program that drives an arm by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import os
import time

from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped, Vector3
from moveit_msgs.msg import ServoStatus
from moveit_msgs.srv import GetGroupUrdf
from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from sensor_msgs.msg import Joy

from ik_service.exceptions import IkServiceError
from ik_service.motion.servo.commands import SPEED_UNITS
from ik_service.robot import Robot
from ik_service.ros.common.publishers import UNKNOWN
from ik_service.ros.common.runtime import ros, spinning_node
from ik_service.ros.motion.parameters import SERVO_NAMES

_NAME = 'ik_teleop'

_GROUP = 'manipulator'  # a name of the default group, unless the node has other ``group_names``

_UNITS = [SERVO_NAMES[field] for field in ('unitless', 'linear', 'rotational', 'joint')]

_SILENT = 1.0  # time after which the last status tells nothing any more [s]
_PATIENCE = 3.0  # time that discovery takes, at most [s]


OnJoystick = Callable[[Sequence[float], Sequence[int]], None]
"""Function that takes the axes and the buttons of a message of a joystick."""


class TeleopClient:
    """
    Client of the servo topics.

    :param on_joystick: takes the messages of a joystick; None to listen to none.
    :ivar joints: names of the joints that are moved; empty as long as they are not known.
    :ivar tip_link: the link that is moved; empty as long as it is not known.
    """

    def __init__(self, node: Node, on_joystick: OnJoystick | None = None) -> None:
        self.joints: tuple[str, ...] = ()
        self.tip_link = ''
        self._node = node
        self._twists = node.create_publisher(TwistStamped, 'delta_twist_cmds', 1)
        self._jogs = node.create_publisher(JointJog, 'delta_joint_cmds', 1)
        self._status, self._status_at = '', -float('inf')
        self._unanswered_since = float('inf')  # first command after the last status [s]
        node.create_subscription(ServoStatus, 'status', self._on_status, 10)
        if on_joystick is not None:
            self._on_joystick = on_joystick
            node.create_subscription(Joy, 'joy', self._on_joy, qos_profile_sensor_data)
        self._urdf: Client | None = node.create_client(GetGroupUrdf, 'get_urdf')
        self._listeners: list[Client] | None = None
        self._linear = self._rotational = self._joint = 1.0
        self._began = time.monotonic()

    def send_twist(self, twist: Sequence[float], in_tip: bool) -> None:
        """
        Publish a velocity of the tip.

        :param in_tip: whether in the axes of the tip, if that is known; otherwise of the base.
        """
        message = TwistStamped()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.header.frame_id = self.tip_link if in_tip else ''
        message.twist.linear = _vector(twist[:3], self._linear)
        message.twist.angular = _vector(twist[3:], self._rotational)
        self._publish(self._twists, message)

    def send_joint(self, joint: int, speed: float) -> None:
        """Publish a share of full speed, −1 to 1, of a joint by its number, if there is one."""
        if joint >= len(self.joints):
            return
        message = JointJog(joint_names=[self.joints[joint]], velocities=[self._joint * speed])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publish(self._jogs, message)

    def _publish(self, publisher: Publisher, message: TwistStamped | JointJog) -> None:
        self._unanswered_since = min(self._unanswered_since, time.monotonic())
        publisher.publish(message)

    @property
    def fault(self) -> str:
        """Why nobody takes the commands, as a sentence; empty when somebody does."""
        listeners = self._twists.get_subscription_count()
        if listeners:
            self._ask()
        if listeners or time.monotonic() - self._began < _PATIENCE:
            return ''
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        return (
            f'nobody listens to {self._twists.topic_name}: is ik_node running, in the same '
            f'namespace, and in ROS_DOMAIN_ID {domain}?'
        )

    @property
    def status(self) -> str:
        """Status of the node, in a few words where it sends none."""
        if self._twists.get_subscription_count() == 0:
            return 'no node'
        now = time.monotonic()
        if now - self._unanswered_since > _SILENT:
            return 'no status comes from the node'
        return self._status if now - self._status_at < _SILENT else 'ready'

    def _ask(self) -> None:
        """Ask for the joints of the arm, and for the units of its commands; once each."""
        if self._urdf is not None and self._urdf.service_is_ready():
            request = GetGroupUrdf.Request(group_name=_GROUP)
            self._urdf.call_async(request).add_done_callback(self._on_urdf)
            self._urdf = None
        if self._listeners is None:
            found = self._node.get_subscriptions_info_by_topic(self._twists.topic_name)
            if any(node.node_name == UNKNOWN for node in found):
                return
            names = [f'{node.node_namespace.rstrip("/")}/{node.node_name}' for node in found]
            self._listeners = [
                self._node.create_client(GetParameters, f'{name}/get_parameters') for name in names
            ]
        for client in [client for client in self._listeners if client.service_is_ready()]:
            asked = GetParameters.Request(names=_UNITS)
            client.call_async(asked).add_done_callback(self._on_parameters)
            self._listeners.remove(client)

    def _on_parameters(self, future: Future) -> None:
        """Take the units of the commands; a node without such parameters takes unitless ones."""
        values = [parameter_value_to_python(value) for value in future.result().values]
        if values[:1] == [SPEED_UNITS] and None not in values:
            _, self._linear, self._rotational, self._joint = values

    def _on_urdf(self, future: Future) -> None:
        try:
            robot = Robot.from_urdf(future.result().urdf_string)
            parents = {joint.parent for joint in robot.joints.values()}
            leaves = [link for link in robot.links if link not in parents]
            if len(leaves) == 1:
                chain = robot.chain(robot.root_link, leaves[0])
                self.joints, self.tip_link = chain.joint_names, leaves[0]
        except IkServiceError as error:
            self._node.get_logger().warning(f'the joints of the arm are not known: {error}')

    def _on_status(self, message: ServoStatus) -> None:
        self._status, self._status_at = message.message, time.monotonic()
        self._unanswered_since = float('inf')

    def _on_joy(self, message: Joy) -> None:
        self._on_joystick(message.axes, message.buttons)


@contextmanager
def teleop_client(
    ros_arguments: Sequence[str], on_joystick: OnJoystick | None = None
) -> Iterator[TeleopClient]:
    """
    Make a client with a node of its own, for the time of a ``with`` block.

    :param on_joystick: takes the messages of a joystick; None to listen to none.
    :raises ArgumentError: ROS cannot read the arguments.
    """
    with ros(list(ros_arguments)):
        node = Node(_NAME)
        client = TeleopClient(node, on_joystick)
        with spinning_node(node):
            yield client


def _vector(values: Sequence[float], scale: float) -> Vector3:
    x, y, z = values
    return Vector3(x=scale * x, y=scale * y, z=scale * z)
