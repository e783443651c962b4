"""Publication of joint commands, as joint states or trajectories."""

from __future__ import annotations

import array
from collections.abc import Sequence

from builtin_interfaces.msg import Duration
import numpy as np
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_service.following.settings import FollowerCommand
from ik_service.ros.common.qos import COMMAND_QOS
from ik_service.ros.following.command_monitor import CommandMonitor


class CommandPublisher:
    """
    Publisher of commands on ``joint_command`` or ``joint_trajectory``.

    :param node: the node that publishes.
    :param interface: one of
        :data:`~ik_service.ros.following.follower_parameters.COMMAND_INTERFACES`.
    :ivar monitor: monitor of other publishers of commands.
    """

    def __init__(self, node: Node, interface: str) -> None:
        self._clock = node.get_clock()
        self._as_trajectory = interface == 'joint_trajectory'
        kind = JointTrajectory if self._as_trajectory else JointState
        self._publisher = node.create_publisher(kind, interface, COMMAND_QOS)
        self.monitor = CommandMonitor(node, self._publisher)

    def serialize(self, names: Sequence[str], command: FollowerCommand, period: float) -> bytes:
        """
        Return a command as a serialised message, for :meth:`publish`.

        :param names: names of the n joints.
        :param command: where they shall be, and how fast the commands move.
        :param period: time until the next command [s].
        """
        if self._as_trajectory:
            message = joint_trajectory(names, command, period)
        else:
            message = joint_command(names, command)
            message.header.stamp = self._clock.now().to_msg()
        serialized = serialize_message(message)
        self.monitor.remember(serialized)
        return serialized

    def publish(self, serialized: bytes) -> None:
        """
        Publish a command.

        :param serialized: a message of :meth:`serialize`.
        """
        self._publisher.publish(serialized)


def joint_command(names: Sequence[str], command: FollowerCommand) -> JointState:
    """
    Return a command as a ``sensor_msgs/JointState`` without a stamp.

    :param names: names of the n joints.
    :param command: positions [rad] or [m] and speeds [rad/s] or [m/s].
    """
    return JointState(
        name=list(names),
        position=_numbers(command.q),
        velocity=_numbers(command.velocity),
    )


def joint_trajectory(
    names: Sequence[str], command: FollowerCommand, period: float
) -> JointTrajectory:
    """
    Return a command as a trajectory of one point that is to be reached within the period.

    The stamp stays zero, "from now on": the present would have passed when it arrives. There are
    no velocities: ros2_control's controller refuses a trajectory that ends in motion.

    :param names: names of the n joints.
    :param command: positions [rad] or [m]; its speeds are left out.
    :param period: time until the next command [s].
    """
    nanoseconds = round(1e9 * period)
    point = JointTrajectoryPoint(
        positions=_numbers(command.q),
        time_from_start=Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9),
    )
    return JointTrajectory(joint_names=list(names), points=[point])


def _numbers(values: np.ndarray) -> array.array:
    return array.array('d', values.tobytes())
