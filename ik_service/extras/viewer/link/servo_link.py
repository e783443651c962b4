"""Topics with which the arm is moved by hand, and the service that stops it."""

from __future__ import annotations

from collections.abc import Callable

from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import ServoStatus
from rclpy.client import Client
from std_srvs.srv import Trigger

from ik_service.extras.viewer.link.viewer_node import NEWEST_QOS, ViewerNode
from ik_service.extras.viewer.teleop.motion import HandMotion

TWISTS, JOGS, STATUS = 'delta_twist_cmds', 'delta_joint_cmds', 'status'


class ServoLink:
    """
    Publishers of commands as a servo node takes them; they may be used in any thread.

    :param node: the ROS node.
    """

    def __init__(self, node: ViewerNode) -> None:
        self._node = node
        self._twists = node.create_publisher(TwistStamped, TWISTS, 10)
        self._jogs = node.create_publisher(JointJog, JOGS, 10)
        self._stops: dict[str, Client] = {}

    def subscribe(self, on_status: Callable[[int, str], object]) -> None:
        """
        Subscribe to what the node says about the commands.

        :param on_status: called with a code of ``ServoStatus`` and a sentence, by
            :meth:`ViewerNode.poll_states`.
        """

        def take(message: ServoStatus) -> None:
            on_status(int(message.code), message.message)

        group = self._node.state_group
        self._node.create_subscription(ServoStatus, STATUS, take, NEWEST_QOS, callback_group=group)

    def missing(self) -> tuple[str, ...]:
        """Return the topics that nobody listens to."""
        publishers = {TWISTS: self._twists, JOGS: self._jogs}
        return tuple(t for t, p in publishers.items() if not p.get_subscription_count())

    def publish(self, motion: HandMotion) -> None:
        """
        Publish a command.

        :param motion: the motion that it asks for.
        """
        if motion.joint:
            message = JointJog(joint_names=[motion.joint], velocities=[motion.speed])
        else:
            message = TwistStamped()
            twist = message.twist
            for vector, values in (
                (twist.linear, motion.twist[:3]),
                (twist.angular, motion.twist[3:]),
            ):
                vector.x, vector.y, vector.z = values
        message.header.frame_id = motion.frame
        message.header.stamp = self._node.get_clock().now().to_msg()
        (self._jogs if motion.joint else self._twists).publish(message)

    def stop(self, remote: str) -> bool:
        """
        Stop the arm by the service ``~/stop`` of a node.

        :param remote: the node's full name; empty for none.
        :returns: whether it was asked: not where the service is not on the graph.
        """
        client = self._stops.get(remote)
        if client is None or not client.service_is_ready():
            return False
        client.call_async(Trigger.Request())
        return True

    def connect(self, remote: str) -> None:
        """
        Look for the service ``~/stop`` of a node, so that it is known when it is needed.

        :param remote: the node's full name; empty for none.
        """
        if remote and remote not in self._stops:
            self._stops[remote] = self._node.create_client(Trigger, f'{remote}/stop')
            self._node.main_executor.wake()
