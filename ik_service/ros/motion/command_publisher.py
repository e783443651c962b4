"""Publication of joint commands, through the interface that the arm's controller takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from rclpy.clock import ROSClock
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.common.quoting import quote
from ik_service.common.stall_watch import StallWatch, TICK_LASTS
from ik_service.exceptions import OptionError
from ik_service.motion.command.commanded_joints import CommandedJoints
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.common.qos import COMMAND_QOS
from ik_service.ros.motion.command_channels import (
    CommandChannel,
    CommandedGroup,
    JointCommandChannel,
    PositionChannel,
)
from ik_service.ros.motion.command_monitor import CommandMonitor
from ik_service.ros.motion.parameters import COMMAND_JOINTS
from ik_service.ros.motion.trajectory_channel import ControllerVersion, TrajectoryChannel
from ik_service.ros.motion.velocity_channel import VelocityChannel

_KINDS: Mapping[str, tuple[type, type[CommandChannel]]] = {
    'joint_command': (JointState, JointCommandChannel),
    'joint_trajectory': (JointTrajectory, TrajectoryChannel),
    'position_commands': (Float64MultiArray, PositionChannel),
    'velocity_commands': (Float64MultiArray, VelocityChannel),
}
"""Type of the messages and channel of each command interface."""


class CommandPublisher:
    """
    Publisher of commands on the topic of a command interface.

    :param interface: one of ``COMMAND_INTERFACES`` of ``follower_parameters``, and the name of the
        topic.
    :param command_joints: joints of the controller, in its order; empty for those of each group.
        ``joint_command`` does without them, as its messages name the joints, and only checks them.
    :param replacement: a trajectory controller's handling of a new one; 'auto' to ask it.
    :param watch: notes stalled calls; None for nothing.
    :raises OptionError: a joint is named twice.
    :ivar monitor: monitor of other publishers of commands.
    :ivar clock: the motion clock; commands are stamped by it.
    """

    def __init__(
        self,
        node: Node,
        interface: str,
        command_joints: Sequence[str] = (),
        replacement: str = 'auto',
        watch: StallWatch | None = None,
    ) -> None:
        self._watch = watch
        self.clock = MotionClock(cast(ROSClock, node.get_clock()))
        self._interface = interface
        names_joints = interface == 'joint_command'
        self._given = tuple(command_joints)
        self._names = () if names_joints else self._given
        twice = [name for name, count in Counter(command_joints).items() if count > 1]
        if twice:
            raise OptionError(COMMAND_JOINTS.name, f'names the joint {quote(twice[0])} twice')
        kind, self._channel = _KINDS[interface]
        self._publisher = node.create_publisher(kind, interface, COMMAND_QOS)
        self.monitor = CommandMonitor(node, self._publisher)
        self._version: ControllerVersion | None = None
        if interface == 'joint_trajectory':
            say = node.get_logger().warning
            self._version = ControllerVersion(node, interface, say, replacement)
        self._shared: tuple[MeasuredState, CommandedJoints] | None = None

    def look(self) -> None:
        """Check the subscribers of the commands; called periodically."""
        if self._version is not None:
            self._version.look()

    def check(self, arm: Arm) -> None:
        """
        Refuse an arm that does not go with the joints of the controller.

        :raises OptionError: the robot has no such joint, or the controller lacks one of the
            joints of the default group.
        """
        known = arm.postures.names
        unknown = [name for name in self._given if name not in known]
        if unknown:
            joints = ', '.join(known)
            reason = f'names {quote(unknown[0])}, which the robot does not have; it has {joints}'
            raise OptionError(COMMAND_JOINTS.name, reason)
        missing = self.missing(arm.chain.joint_names)
        if missing:
            raise OptionError(
                COMMAND_JOINTS.name, f'has to name {", ".join(missing)} too, which the arm moves'
            )

    def missing(self, names: Sequence[str]) -> list[str]:
        """Return the joints that the controller does not have."""
        return [name for name in names if self._names and name not in self._names]

    def channel(self, names: Sequence[str], measured: MeasuredState) -> CommandChannel | None:
        """Return the channel of a group; None when the controller lacks its joints."""
        if self.missing(names):
            return None
        group = CommandedGroup(names, self._joints(names, measured), measured, self.clock)
        if self._version is not None:
            return TrajectoryChannel(group, self._version)
        return self._channel(group)

    def _joints(self, names: Sequence[str], measured: MeasuredState) -> CommandedJoints:
        if not self._names:
            return self._channel.joints(names)
        if self._shared is None or self._shared[0] is not measured:
            self._shared = measured, self._channel.joints(self._names)
        return self._shared[1]

    def serialize(self, message: object) -> bytes:
        """Return a message in the form for :meth:`publish`, and remember that it is an own one."""
        serialized = serialize_message(message)
        self.monitor.remember(serialized)
        return serialized

    def publish(self, serialized: bytes) -> None:
        """
        Publish a command.

        :param serialized: a message of :meth:`serialize`.
        """
        if self._watch is None:
            self._publisher.publish(serialized)
            return
        self._watch.begin('the middleware did not accept a command')
        self._publisher.publish(serialized)
        self._watch.begin(TICK_LASTS)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        listeners = self._publisher.get_subscription_count() - 1  # without the monitor
        version = {} if self._version is None else {'new windows are': self._version.report()}
        return {
            'command interface': self._interface,
            'command topic': self._publisher.topic_name,
            'listeners to the commands': str(max(listeners, 0)),
            **version,
        }
