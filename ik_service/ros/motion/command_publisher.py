"""Publication of joint commands, and the commands of other nodes to the same arm."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import sys
import threading
import time
from typing import cast

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import ROSClock
from rclpy.event_handler import SubscriptionEventCallbacks
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
from ik_service.motion.target_follower import OtherCommanders
from ik_service.ros.common.input_topics import polled
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.common.publishers import publishers_of
from ik_service.ros.common.qos import COMMAND_QOS
from ik_service.ros.motion.command_channels import (
    CommandChannel,
    CommandedGroup,
    JointCommandChannel,
    PositionChannel,
    VelocityChannel,
)
from ik_service.ros.motion.controller_goals import ControllerGoals
from ik_service.ros.motion.parameters import COMMAND_JOINTS
from ik_service.ros.motion.trajectory_channel import ControllerVersion, TrajectoryChannel

_REMEMBERED = 200  # own commands that may still be in transit
_RECENT = 2.0  # time for which a foreign command counts [s]
_CERTAIN = 1.5  # time since the last own command for which it surely counts for others [s]
_PATIENCE = 0.15  # time after which a namesake that has to give way would have done so [s]
_HEADER = 4  # of a serialised message, in which the middleware may note something
_ROUNDING = 1000  # of the time at which a message was sent, by the middleware [ns]
_QOS = QoSProfile(depth=_REMEMBERED, reliability=ReliabilityPolicy.BEST_EFFORT)
STALL = 0.1
"""
Time after which others may have taken over the arm from a process that was suspended, and after
which an arm without own commands follows a foreign one [s].
"""

_PAUSE = 0.02  # between two checks of the commands [s]
_ON_THE_WAY = 0.05  # time for which commands of others may be that, after a stall [s]
_WARY = 0.5  # time without such pauses, after a foreign command or where one may come [s]


@dataclass(slots=True)
class _Sent:
    """
    Own command; one that a namesake sends may be the same to the bit.

    :ivar at: when it was sent, on the monotonic clock [s].
    :ivar begun: when it was handed to the middleware [ns].
    :ivar ended: when the middleware had taken it [ns].
    :ivar stamp: the middleware's time of it [ns]; 0 until it has come back.
    """

    digest: int
    at: float
    begun: int
    ended: int = sys.maxsize
    stamp: int = 0

    def has_come(self, digest: int, stamp: int) -> bool:
        """Return whether a message is this one; a middleware without stamps gives 0."""
        if digest != self.digest:
            return False
        if self.stamp:
            return stamp == self.stamp
        return not stamp or self.begun - _ROUNDING <= stamp <= self.ended + _ROUNDING


@dataclass
class _Stream:
    """
    Commands of one source without a longer pause.

    :ivar began: when the first of them was sent, by the sender's clock [ns].
    :ivar since: the same on the monotonic clock, as far as is known [s].
    :ivar at: when the last of them was sent, likewise [s].
    """

    began: int = 0
    since: float = -float('inf')
    at: float = -float('inf')
    count: int = 0

    def note(self, sent_at: int, at: float) -> None:
        """Note a command that was sent at a time [ns], which is another on this clock [s]."""
        if at - self.at > _RECENT:
            self.began, self.since, self.count = sent_at, at, 0
        self.count += 1
        self.began, self.at = min(self.began, sent_at), max(self.at, at)

    def is_recent(self, seconds: float = _RECENT) -> bool:
        """Return whether there was a command lately."""
        return time.monotonic() - self.at < seconds


class CommandMonitor(OtherCommanders):
    """
    Monitor of the command topic and of the controller's actions, for other nodes that use them.

    Most commands are the node's own, and nothing has to happen when one comes. So they wake
    nobody: they are checked when the node has something else to do.

    Of nodes of one name, which may all begin at the same time, the one whose first command was
    handed to the middleware first goes before the others. They all compare the same times, so
    that their clocks need not agree. Where the others do not give way, it gives way, too.

    :param actions: full names of the actions.
    :param version: what the controller answers about itself; None where that is not asked.
    :ivar own: full name of the node.
    :ivar foreign_count: number of commands that this node did not send.
    :ivar group: callback group of the commands; needs no thread where :meth:`poll` is called.
    """

    def __init__(
        self,
        node: Node,
        publisher: Publisher,
        actions: Iterable[str] = (),
        version: ControllerVersion | None = None,
    ) -> None:
        self._node, self._version = node, version
        self._topic = publisher.topic_name
        self.own = node.get_fully_qualified_name()
        self._lock = threading.Lock()
        self._sent: deque[_Sent] = deque(maxlen=_REMEMBERED)
        self._called_at = self._known_from = self._polled_at = self._wary_until = -float('inf')
        self._ours, self._foreign = _Stream(), _Stream()
        self._of_namesake = False  # whether foreign commands may be those of a namesake
        self.foreign_count = 0
        self.group = MutuallyExclusiveCallbackGroup()
        self._commands = node.create_subscription(
            publisher.msg_type,
            self._topic,
            self._on_command,  # type: ignore[arg-type]  # rclpy's type lacks MessageInfo
            _QOS,
            callback_group=self.group,
            # An event would have to be waited for, and is triggered by every message.
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            raw=True,
        )
        self._goals = [ControllerGoals(node, action, self.group) for action in actions]

    def note_goal(self, goal: bytes, own: bool) -> None:
        """Note the identifier of a goal that is going to be sent to a controller, or was lost."""
        for goals in self._goals:
            goals.note_own(goal, own)

    def awaited(self) -> bool:
        """Return whether goals of a controller, or its answers, may not be known yet."""
        unknown = any(goals.awaited() for goals in self._goals)
        return unknown or (self._version is not None and self._version.awaited)

    def remember(self, serialized: bytes) -> _Sent:
        """Note an own command, before it is sent."""
        digest = hash(serialized[_HEADER:])
        sent = _Sent(digest, time.monotonic(), time.time_ns())
        with self._lock:
            self._sent.append(sent)
        return sent

    def poll(self, now: float, period: float) -> bool:
        """
        Check the commands received, unless that was done just now.

        :param now: on the motion clock [s].
        :param period: time between two calls [s].
        :returns: whether they are known by now: right after a stall, some are still on their way.
        """
        stall = now - self._called_at
        if stall > max(STALL, 3.0 * period):
            for goals in self._goals:
                goals.note_stall(stall)
            alone = self._commands.get_publisher_count() == 1
            alone = alone and not any(goals.served for goals in self._goals)
            self._known_from = now + (0.0 if alone else _ON_THE_WAY)
        self._called_at = now
        if now - self._polled_at >= _PAUSE or time.monotonic() < self._wary_until:
            self._polled_at = now
            self._look()
        return now > self._known_from

    def _look(self) -> None:
        self._take(polled(self._commands, _REMEMBERED))

    def others(self) -> str:
        """
        Return a goal of another node, or the names of those that command the arm; empty for none.

        A publisher of a node with the name of this one counts only when commands of it come, and
        this node does not go before it: discovery keeps a program that was killed for up to 20 s,
        and then this is its successor.
        """
        goal = self._goal()
        if goal:
            return goal
        self._look()
        # To count takes a hundredth of the time of names; the only one is that of this node.
        if self._commands.get_publisher_count() != 1:
            names = [name for name in publishers_of(self._node, self._topic) if name != self.own]
            if names:
                return ', '.join(names)
        if not self._foreign.is_recent():
            return ''
        if not self._of_namesake:
            return 'a publisher that is not visible'
        return '' if self._precedes() else f'a second {self.own}'

    def has_namesake(self) -> bool:
        """Return whether there is a publisher of another node of the same name."""
        return publishers_of(self._node, self._topic).count(self.own) > 1

    def rival(self) -> str:
        """Return who commands the arm, so that this node has to give way; empty for nobody."""
        return self.others() if self._foreign.is_recent() else self._goal()

    def _goal(self) -> str:
        """Return a goal of another node at a controller's action, in words; empty for none."""
        for goals in self._goals:
            goal = goals.foreign()
            if goal:
                return goal
        return ''

    @property
    def goes_on(self) -> bool:
        """Whether the foreign commands of late are more than a single one, or a goal."""
        return self._foreign.count > 1 or bool(self._goal())

    @property
    def overtaken(self) -> bool:
        """Whether the last foreign command came while this node was silent: after a stall."""
        return self._foreign.at - self._ours.at > STALL

    def is_contested(self) -> bool:
        """Return whether a node of the same name may begin to command the arm at this time."""
        alone = self._commands.get_publisher_count() == 1 or self._ours.is_recent(_CERTAIN)
        if alone or not self.has_namesake():
            return False
        self._wary_until = time.monotonic() + _WARY
        return True

    def _precedes(self) -> bool:
        """Return whether this node goes before another one of its name, which commands too."""
        with self._lock:
            ours, foreign = self._ours, self._foreign
            both = foreign.at - max(ours.since, foreign.since)
            return ours.is_recent() and ours.began <= foreign.began and both <= _PATIENCE

    def _on_command(self, serialized: bytes, info: Mapping[str, int]) -> None:
        self._take([(serialized, info)])

    def _take(self, commands: Iterable[tuple[bytes, Mapping[str, int]]]) -> None:
        before = self.foreign_count
        for serialized, info in commands:
            self._note(hash(bytes(serialized)[_HEADER:]), info['source_timestamp'])
        if self.foreign_count > before:
            self._of_namesake = self.has_namesake()

    def _note(self, digest: int, stamp: int) -> None:
        with self._lock:
            own = next(
                (sent for sent in reversed(self._sent) if sent.has_come(digest, stamp)), None
            )
            if own is not None:
                own.stamp = stamp
                self._ours.note(stamp, own.at)
                return
            now = time.monotonic()
            self.foreign_count += 1
            self._foreign.note(stamp, now)
            self._wary_until = now + _WARY


_KINDS: Mapping[str, tuple[type, type[CommandChannel]]] = {
    'joint_command': (JointState, JointCommandChannel),
    'joint_trajectory': (JointTrajectory, TrajectoryChannel),
    'position_commands': (Float64MultiArray, PositionChannel),
    'velocity_commands': (Float64MultiArray, VelocityChannel),
}
"""Type of the messages and channel of each command interface."""


_ACTION = 'follow_joint_trajectory'  # of a trajectory controller, and of the node itself


class CommandPublisher:
    """
    Publisher of commands on the topic of a command interface.

    :param interface: one of ``COMMAND_INTERFACES`` of ``follower_parameters``, and the name of the
        topic.
    :param command_joints: joints of the controller, in its order; empty for those of each group.
        ``joint_command`` does without them, as its messages name the joints, and only checks them.
    :param replacement: a trajectory controller's handling of a new one; 'auto' to ask it.
    :param watch: notes stalled calls; None for nothing.
    :param action: full name of a controller's action that moves the arm, too; empty for none.
    :raises OptionError: a joint is named twice.
    :ivar clock: the motion clock; commands are stamped by it.
    """

    def __init__(
        self,
        node: Node,
        interface: str,
        command_joints: Sequence[str] = (),
        replacement: str = 'auto',
        watch: StallWatch | None = None,
        action: str = '',
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
        controller, _, name = self._publisher.topic_name.rpartition('/')
        taker = f'{controller}/{_ACTION}' if interface == name == 'joint_trajectory' else ''
        actions = {action, taker} - {'', node.resolve_service_name(_ACTION)}
        self._version: ControllerVersion | None = None
        if interface == 'joint_trajectory':
            say = node.get_logger().warning
            self._version = ControllerVersion(node, interface, say, replacement)
        self.monitor = CommandMonitor(node, self._publisher, actions, self._version)
        self._shared: tuple[MeasuredState, CommandedJoints] | None = None

    def look(self) -> None:
        """Check the controllers that take the commands; called periodically."""
        self.monitor.awaited()
        if self._version is not None:
            self._version.look()

    def check(self, arm: Arm) -> None:
        """
        Refuse an arm that does not go with the joints of the controller.

        :raises OptionError: the robot has no such joint, or the controller cannot move the joints
            of the default group.
        """
        known = arm.postures.names
        unknown = [name for name in self._given if name not in known]
        if unknown:
            joints = ', '.join(known)
            reason = f'names {quote(unknown[0])}, which the robot does not have; it has {joints}'
            raise OptionError(COMMAND_JOINTS.name, reason)
        unfit = self.unfit(arm.chain.joint_names, arm)
        if unfit:
            raise OptionError(COMMAND_JOINTS.name, unfit)

    def unfit(self, names: Sequence[str], arm: Arm) -> str:
        """Return why the controller cannot move the joints of a group; empty when it can."""
        lacking = [name for name in names if self._names and name not in self._names]
        if lacking:
            return f'lacks {", ".join(lacking)}, which the group moves'
        for name in self._names:  # such a joint would be held against the one that it follows
            joint = arm.robot.joints[name]
            if joint.mimic is not None and arm.robot.resolve_mimic(name)[0] in names:
                return f'names {name}, which follows {joint.mimic.joint} by itself (mimic)'
        return ''

    def channel(self, names: Sequence[str], measured: MeasuredState) -> CommandChannel | None:
        """Return the channel of a group; None when the controller cannot move its joints."""
        if self.unfit(names, measured.arm):
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
        """Return a message in the form for :meth:`publish`."""
        return serialize_message(message)

    def publish(self, serialized: bytes) -> None:
        """Publish a message of :meth:`serialize`, and remember that it is an own one."""
        sent = self.monitor.remember(serialized)
        if self._watch is not None:
            self._watch.begin('the middleware did not accept a command')
        self._publisher.publish(serialized)
        sent.ended = time.time_ns()
        if self._watch is not None:
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
