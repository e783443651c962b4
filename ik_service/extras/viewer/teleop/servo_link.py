"""Motions of the arm by hand, and the topics that take them in the units of the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import ServoStatus
from rclpy.client import Client
from std_srvs.srv import Trigger

from ik_service.extras.viewer.link.viewer_node import NEWEST_QOS, ViewerNode

SCALES = ('scale.linear', 'scale.rotational', 'scale.joint')
UNITS = 'command_in_type'
PARAMETERS = (UNITS, *SCALES)  # parameters of the node that commands depend on

_DEFAULT_SCALES = (0.4, 0.8, 0.5)  # MoveIt Servo's [m/s], [rad/s], [rad/s] or [m/s]
_SPEED_UNITS = 'speed_units'

AXES = ('x', 'y', 'z')  # names of the axes


@dataclass(frozen=True)
class HandMotion:
    """Twist (6,), linear first, or motion of a joint: shares of the largest speed, or speeds."""

    frame: str = ''
    twist: tuple[float, ...] = (0.0,) * 6
    joint: str = ''
    speed: float = 0.0

    @property
    def rest(self) -> HandMotion:
        """The same command for no motion."""
        return replace(self, twist=(0.0,) * 6, speed=0.0)

    @property
    def text(self) -> str:
        """Axis or joint that moves, in a few words."""
        if self.joint:
            return self.joint
        axis = next((i for i, value in enumerate(self.twist) if value), 0)
        way = 'along' if axis < 3 else 'about'
        return f'{way} {AXES[axis % 3]} of {self.frame}'


@dataclass(frozen=True)
class SpeedUnits:
    """Units of the node's commands, with linear, angular and joint speeds [m/s], [rad/s]."""

    scales: tuple[float, float, float] = _DEFAULT_SCALES
    is_unitless: bool = True

    def axis_motion(self, axis: int, share: float, frame: str) -> HandMotion:
        """Return a share, −1 to 1, of the largest motion along (0 to 2) or about (3 to 5) axes."""
        twist = [0.0] * 6
        twist[axis] = share * self._unit(0 if axis < 3 else 1)
        return HandMotion(frame, tuple(twist))

    def joint_motion(self, joint: str, share: float) -> HandMotion:
        """Return the motion of a joint by a share of its largest speed, −1 to 1."""
        return HandMotion(joint=joint, speed=share * self._unit(2))

    def _unit(self, which: int) -> float:
        return 1.0 if self.is_unitless else self.scales[which]


def read_units(values: Mapping[str, object], before: SpeedUnits) -> SpeedUnits:
    """Units as the node's parameters tell them; ``before`` for what they leave open."""
    scales = tuple(
        float(value) if isinstance(value := values.get(name), (int, float)) else old
        for name, old in zip(SCALES, before.scales, strict=True)
    )
    units = values.get(UNITS)
    is_unitless = before.is_unitless if units is None else units != _SPEED_UNITS
    return SpeedUnits((scales[0], scales[1], scales[2]), is_unitless)


TWISTS, JOGS, STATUS = 'delta_twist_cmds', 'delta_joint_cmds', 'status'


class ServoLink:
    """Publishers of commands as a servo node takes them; they may be used in any thread."""

    def __init__(self, node: ViewerNode) -> None:
        self._node = node
        self._twists = node.create_publisher(TwistStamped, TWISTS, 10)
        self._jogs = node.create_publisher(JointJog, JOGS, 10)
        self._stops: dict[str, Client] = {}

    def subscribe(self, on_status: Callable[[int, str], object]) -> None:
        """Subscribe to the status of the commands: a code of ``ServoStatus`` and a sentence."""

        def take(message: ServoStatus) -> None:
            on_status(int(message.code), message.message)

        group = self._node.state_group
        self._node.create_subscription(ServoStatus, STATUS, take, NEWEST_QOS, callback_group=group)

    def missing(self) -> tuple[str, ...]:
        """Return the topics that nobody listens to."""
        publishers = {TWISTS: self._twists, JOGS: self._jogs}
        return tuple(t for t, p in publishers.items() if not p.get_subscription_count())

    def publish(self, motion: HandMotion) -> None:
        """Publish a command."""
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
        """Stop the arm by ``~/stop`` of a node, if it has that; return whether it was asked."""
        client = self._stops.get(remote)
        if client is None or not client.service_is_ready():
            return False
        client.call_async(Trigger.Request())
        return True

    def connect(self, remote: str) -> None:
        """Search for ``~/stop`` of a node, so that it is known when it is needed."""
        if remote and remote not in self._stops:
            self._stops[remote] = self._node.create_client(Trigger, f'{remote}/stop')
            self._node.main_executor.wake()
