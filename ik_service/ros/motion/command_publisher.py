"""Publication of joint commands, and the commands of other nodes to the same arm."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
import threading
import time
from typing import cast

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import ROSClock
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ik_service.arm.arm import Arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import quote
from ik_service.common.stall_watch import StallWatch, TICK_LASTS
from ik_service.exceptions import OptionError
from ik_service.motion.command.gate import CommandedJoints
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.common.publishers import publishers_of
from ik_service.ros.common.qos import COMMAND_QOS
from ik_service.ros.motion.command_channels import (
    CommandChannel,
    CommandedGroup,
    JointCommandChannel,
    PositionChannel,
)
from ik_service.ros.motion.parameters import COMMAND_JOINTS
from ik_service.ros.motion.trajectory_channel import ControllerVersion, TrajectoryChannel
from ik_service.ros.motion.velocity_channel import VelocityChannel

_REMEMBERED = 200  # own commands that may still be in transit
_RECENT = 2.0  # time for which a foreign command counts [s]
_HEADER = 4  # of a serialised message, in which the middleware may note something
_QOS = QoSProfile(depth=_REMEMBERED, reliability=ReliabilityPolicy.BEST_EFFORT)
_PAUSE = 0.05  # between two checks of the commands [s]


class CommandMonitor:
    """
    Monitor of the command topic, for other publishers and foreign commands.

    Most commands are the node's own, and nothing has to happen when one comes. So they wake
    nobody: they are checked when the node has something else to do.

    :ivar own: full name of the node.
    :ivar foreign_count: number of commands that this node did not send.
    :ivar group: callback group of the commands; needs no thread where :meth:`poll` is called.
    """

    def __init__(self, node: Node, publisher: Publisher) -> None:
        self._node = node
        self._topic = publisher.topic_name
        self.own = node.get_fully_qualified_name()
        self._lock = threading.Lock()
        self._ours: deque[int] = deque(maxlen=_REMEMBERED)
        self._foreign_at = self._polled_at = float('-inf')
        self._ours_began, self._foreign_began = _Stream(), _Stream()
        self.foreign_count = 0
        self.group = MutuallyExclusiveCallbackGroup()
        self._commands = node.create_subscription(
            publisher.msg_type,
            self._topic,
            self._on_command,
            _QOS,
            callback_group=self.group,
            # An event would have to be waited for, and is triggered by every message.
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            raw=True,
        )

    def remember(self, serialized: bytes) -> None:
        """Note an own command, before it is sent."""
        with self._lock:
            self._ours.append(hash(serialized[_HEADER:]))

    def poll(self, now: float) -> None:
        """Check the commands received, unless that was done just now."""
        if now - self._polled_at >= _PAUSE:
            self._polled_at = now
            self._look()

    def _look(self) -> None:
        take, kind = self._commands.handle.take_message, self._commands.msg_type
        with suppress(InvalidHandle), self._commands.handle:  # unless the node is gone
            for _ in range(_REMEMBERED):
                taken = take(kind, True)
                if taken is None:
                    return
                self._note(taken[0], taken[1]['source_timestamp'])

    def others(self) -> str:
        """
        Return the names of the other nodes that command the arm; empty for none.

        A publisher of a node with the name of this one counts only when commands of it come:
        discovery keeps a program that was killed for up to 20 s, and then this is its successor.
        """
        self._look()
        # To count takes a hundredth of the time of names; the only one is that of this node.
        if self._commands.get_publisher_count() != 1:
            names = [name for name in publishers_of(self._node, self._topic) if name != self.own]
            if names:
                return ', '.join(names)
        if time.monotonic() - self._foreign_at >= _RECENT:
            return ''
        return f'a second {self.own}' if self.has_namesake() else 'a publisher that is not visible'

    def has_namesake(self) -> bool:
        """Return whether there is a publisher of another node of the same name."""
        return publishers_of(self._node, self._topic).count(self.own) > 1

    def predecessor(self) -> str:
        """
        Return who has begun to command the arm before this node did; empty for nobody.

        Commands are distinguished by when they were handed to the middleware, so that of two nodes
        that both ask exactly one is the later one.
        """
        recent = time.monotonic() - self._foreign_at < _RECENT
        with self._lock:
            later = self._ours_began.began > self._foreign_began.began
        return self.others() if recent and later else ''

    def _on_command(self, serialized: bytes) -> None:
        """Note a command that somebody else has taken from the queue."""
        self._note(serialized, time.time_ns())

    def _note(self, serialized: bytes, sent_at: int) -> None:
        with self._lock:
            if hash(bytes(serialized)[_HEADER:]) in self._ours:
                self._ours_began.note(sent_at)
            else:
                self.foreign_count += 1
                self._foreign_at = time.monotonic()
                self._foreign_began.note(sent_at)


@dataclass
class _Stream:
    """
    Commands of one source without a longer pause.

    :ivar began: when the first of them was sent [ns].
    :ivar last: when the last of them was sent [ns].
    """

    began: int = 0
    last: int = 0

    def note(self, sent_at: int) -> None:
        """Note a command that was sent at a time [ns]."""
        if sent_at - self.last > _RECENT * 1e9:
            self.began = sent_at
        self.last = sent_at


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
        """Publish a message of :meth:`serialize`."""
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
