"""Interface of MoveIt Servo for every group: commands from topics, status, and two services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
import threading
import time
from typing import Any

from builtin_interfaces.msg import Time
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from moveit_msgs.msg import ServoStatus as StatusMessage
from moveit_msgs.srv import ServoCommandType
import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.exceptions import InvalidTopicNameException
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.validate_full_topic_name import validate_full_topic_name
from std_srvs.srv import SetBool

from ik_service.arm.arm import Arm
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.motion.servo.commands import (
    HIGHEST,
    joint_command,
    pose_command,
    ServoCommand,
    ServoSettings,
    twist_command,
)
from ik_service.motion.servo.servo_goal import NO_WARNING, ServoCode, ServoGoal, ServoStatus
from ik_service.motion.servo.velocity_solver import warm_up
from ik_service.motion.settings import FollowerState
from ik_service.ros.capabilities.capability import Capability, NodeParts
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.motion.follower_interface import FollowerInterface
from ik_service.ros.motion.followers import Followers
from ik_service.ros.motion.parameters import check_servo, servo_settings

Noted = tuple[ServoCommand, str]  # a command, and a remark about it; empty for none

_DISPLACEMENTS = 'displacements are ignored, as MoveIt Servo does; velocities count'


def twist_from(
    message: TwistStamped, following: FollowerInterface, settings: ServoSettings
) -> Noted:
    """
    Return the velocity of the tip that a message asks for.

    :param message: a velocity of the tip, in the axes of the frame of its header.
    :raises IkServiceError: naming the number or the frame that cannot be.
    """
    linear, angular = message.twist.linear, message.twist.angular
    twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
    chain = following.chain
    frame = message.header.frame_id.lstrip('/') or chain.base_link
    beside = following.measured.arm.link_frames.beside(chain.tip_link).get(frame)
    if beside is not None:
        return twist_command(twist, settings, beside[:3, :3], turns=True)
    T = following.frames().base_from_frame(chain.base_link, frame)
    return twist_command(twist, settings, None if T is None else T[:3, :3])


def joints_from(message: JointJog, following: FollowerInterface, settings: ServoSettings) -> Noted:
    """Return the joint velocities that a message asks for; raises ArgumentError."""
    names, velocities = list(message.joint_names), list(message.velocities)
    if names and not velocities and len(message.displacements):
        raise ArgumentError('velocities', f'are missing: {_DISPLACEMENTS}')
    if len(names) != len(velocities):
        raise ArgumentError(
            'velocities', f'are {len(velocities)} numbers for {len(names)} joint_names'
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError('joint_names', f'name {quote(twice)} twice')
    given = dict(zip(names, velocities, strict=True))
    command, note = joint_command(given, settings, following.chain)
    return command, note or (_DISPLACEMENTS if len(message.displacements) else '')


def pose_from(
    message: PoseStamped, following: FollowerInterface, settings: ServoSettings
) -> Noted:
    """Return the pose that a message asks for; raises IkServiceError, naming field or frame."""
    base_link = following.chain.base_link
    T = matrix_from_pose(message.pose, 'pose')
    frame = message.header.frame_id or base_link
    T_base_target = following.frames().in_base(base_link, frame, T)
    for axis, value in zip('xyz', T_base_target[:3, 3].tolist(), strict=True):
        if abs(value) > HIGHEST:
            raise ArgumentError(
                f'pose.position.{axis}', f'is {value:g} m from {base_link}, which can be no target'
            )
    return pose_command(T_base_target, settings), ''


_AHEAD = 0.1  # largest lead of a sender's clock [s]


_HINT = '; the clocks of sender and node have to agree, and use_sim_time has to be the same'


# Only the newest command counts, and best effort receives from publishers of either kind.
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

_INVALID_FOR = 1.0  # time for which the status reports a command that was ignored [s]

_SWITCH = 'switch_command_type'
_PAUSE = 'pause_servo'


@dataclass(frozen=True)
class _Kind:
    number: int  # in moveit_msgs/srv/ServoCommandType
    message: type
    topic: str
    convert: Callable[[Any, FollowerInterface, ServoSettings], Noted]


_KINDS = (
    _Kind(ServoCommandType.Request.JOINT_JOG, JointJog, 'delta_joint_cmds', joints_from),
    _Kind(ServoCommandType.Request.TWIST, TwistStamped, 'delta_twist_cmds', twist_from),
    _Kind(ServoCommandType.Request.POSE, PoseStamped, 'pose_target_cmds', pose_from),
)
_ANY = -1  # number with which all kinds are listened to again


@dataclass
class _Servo:
    group: str  # its name; empty for the default one
    ignored: FaultLogger
    status: Publisher
    subscriptions: list[Subscription] = field(default_factory=list)
    goal: ServoGoal | None = None  # the current goal, or else the last one
    used: bool = False  # whether a command has come
    invalid_until: float = -float('inf')  # until when the status reports an ignored command [s]


class ServoInterface(Capability):
    """
    Commands of MoveIt Servo for the default group of an arm, and for every other that is followed.

    The two services are for all groups.

    :raises OptionError: naming a parameter whose value cannot be.
    """

    def __init__(self, parts: NodeParts) -> None:
        servo_settings(parts.parameters)
        self._node, self._log = parts.node, parts.node.get_logger()
        self._followers, self._parameters = parts.followers, parts.parameters
        self._clock, self._ticks = parts.clock, parts.ticks
        self._notes = FaultLogger(self._log.warning)
        self._unstamped: set[str] = set()
        self._lock = threading.Lock()
        self._servos: dict[str, _Servo] = {}
        self._only: _Kind | None = None
        self._used = self._paused = self._ended = False
        self._callbacks = MutuallyExclusiveCallbackGroup()

    def start(self) -> None:
        """Subscribe, and offer the services."""
        warm_up()  # before anything moves, as the compiler would delay the commands
        self._servos[''] = self._begin('')
        services = (
            (ServoCommandType, _SWITCH, self._on_switch),
            (SetBool, _PAUSE, self._on_pause),
        )
        for service, name, answer in services:
            self._node.create_service(
                service, name, answer, qos_profile=SERVICE_QOS, callback_group=self._callbacks
            )

    def check(self, arm: Arm) -> None:
        """Refuse an arm that does not go with the parameters of servoing."""
        check_servo(self._parameters, arm)

    def adopt(self, followers: Followers) -> None:
        """Subscribe to the commands of the groups that are followed, and to no others."""
        wanted = ['', *followers.others]
        with self._lock:
            gone = [self._servos.pop(name) for name in [*self._servos] if name not in wanted]
        for servo in gone:
            self._destroy(servo)
        for name in wanted:
            if name not in self._servos:
                # Too long a name is reported with the targets of the group.
                with suppress(InvalidTopicNameException, RuntimeError):
                    servo = self._begin(name)
                    with self._lock:
                        self._servos = {**self._servos, name: servo}

    def end(self) -> None:
        """Take no more commands."""
        with self._lock:
            self._ended = True

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        if not self._used:
            return {}
        now, servos = self._clock.now(), [*self._servos.values()]
        ignored = [servo.ignored for servo in servos]
        others = {
            f'servo {servo.group}': self._status_at(servo, now).message
            for servo in servos
            if servo.group and servo.used
        }
        return {
            'servo': self._status_at(self._servos[''], now).message,
            **others,
            'ignored servo commands': str(sum(log.count for log in ignored)),
            'last ignored servo command': next((log.last for log in ignored if log.last), 'none'),
        }

    def _publish_status(self, now: float) -> None:
        """Publish the status, in every tick once servoing was used."""
        for servo in [*self._servos.values()]:
            if servo.used or not servo.group:
                status = self._status_at(servo, now)
                servo.status.publish(StatusMessage(code=int(status.code), message=status.message))

    def _note_use(self) -> None:
        self._used = True
        self._ticks.add(self._publish_status)

    def _begin(self, group: str) -> _Servo:
        prefix = f'{group}/' if group else ''
        for kind in _KINDS:
            validate_full_topic_name(self._node.resolve_topic_name(prefix + kind.topic))
        status = self._node.create_publisher(StatusMessage, f'{prefix}status', 10)
        servo = _Servo(group, FaultLogger(self._log.warning), status)
        for kind in _KINDS:
            servo.subscriptions.append(
                self._node.create_subscription(
                    kind.message,
                    prefix + kind.topic,
                    partial(self._take, servo, kind),
                    _NEWEST,
                    callback_group=self._callbacks,
                )
            )
        return servo

    def _destroy(self, servo: _Servo) -> None:
        for subscription in servo.subscriptions:
            self._node.destroy_subscription(subscription)
        self._node.destroy_publisher(servo.status)

    # Callbacks

    def _take(self, servo: _Servo, kind: _Kind, message: Any) -> None:  # noqa: ANN401 - of three
        now = self._clock.now()
        with self._lock:
            if self._ended:
                return
            servo.used = True
            self._note_use()
            try:
                self._follow(servo, kind, message, now)
            except IkServiceError as error:
                servo.invalid_until = now + _INVALID_FOR
                topic = f'{servo.group}/{kind.topic}' if servo.group else kind.topic
                servo.ignored.report(f'{topic} ignored: {error}')
            else:
                servo.invalid_until = -float('inf')
                servo.ignored.clear()

    def _follow(
        self,
        servo: _Servo,
        kind: _Kind,
        message: Any,  # noqa: ANN401
        now: float,
    ) -> None:
        asked_at, followers = time.monotonic(), self._followers()
        following = None if followers is None else followers.of(servo.group)
        if following is None:
            raise ArgumentError('arm', 'there is no robot description yet')
        if self._paused:
            raise ArgumentError(_PAUSE, 'servoing is paused; data: false resumes it')
        if self._only not in (None, kind):
            raise ArgumentError(
                _SWITCH,
                f'has selected {self._only.topic} only; command_type {kind.number} selects this '
                f'one, and {_ANY} all kinds',
            )
        settings = servo_settings(self._parameters)
        until = self._until(kind.topic, message.header.stamp, settings.timeout, now)
        command, note = kind.convert(message, following, settings)
        if note:
            self._notes.report(f'{kind.topic}: {note}', kind.topic)
        goal = servo.goal
        if goal is not None and goal.end is None:
            goal.command(command, until)
        elif not command.is_zero:  # a joystick at rest takes over from nothing
            goal = ServoGoal(following.chain, settings)
            goal.command(command, until)
            goal.asked_at = asked_at
            following.follow_goal(goal)
            servo.goal = goal

    def _until(self, topic: str, stamp: Time, timeout: float, now: float) -> float:
        """
        Return until when a command counts, on the motion clock [s].

        :param stamp: its stamp; without one it counts as sent now, which is said once.
        :param timeout: for how long commands count [s].
        :raises ArgumentError: it is older than that, or from the future.
        """
        sent = stamp.sec * 1_000_000_000 + stamp.nanosec
        if sent == 0:
            if topic not in self._unstamped:
                self._unstamped.add(topic)
                self._log.warning(f'{topic} has no stamp: each message counts from its arrival')
            return now + timeout
        age = 1e-9 * (self._node.get_clock().now().nanoseconds - sent)
        if age >= timeout:
            raise ArgumentError(
                'header.stamp', f'is {age:.3g} s old; commands are valid for {timeout:g} s{_HINT}'
            )
        if age < -_AHEAD:
            raise ArgumentError('header.stamp', f'lies {-age:.3g} s in the future{_HINT}')
        return now + timeout - max(age, 0.0)

    def _on_switch(
        self, request: ServoCommandType.Request, answer: ServoCommandType.Response
    ) -> ServoCommandType.Response:
        kinds: dict[int, _Kind | None] = {kind.number: kind for kind in _KINDS}
        kinds[_ANY] = None
        answer.success = request.command_type in kinds
        if not answer.success:
            numbers = ', '.join(f'{kind.number} {kind.topic}' for kind in _KINDS)
            self._log.warning(
                f'{_SWITCH} refused: {request.command_type} is none of {numbers}, {_ANY} all'
            )
            return answer
        with self._lock:
            self._note_use()
            self._only = kinds[request.command_type]
            self._rest()
        chosen = 'all kinds of commands' if self._only is None else f'only {self._only.topic}'
        self._log.info(f'{_SWITCH}: {chosen}')
        return answer

    def _on_pause(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._note_use()
            self._paused = request.data
            self._rest()
            if request.data:
                self._release()
        answer.success = True
        paused = 'paused: the arm comes to rest, and servo commands are ignored'
        answer.message = paused if request.data else 'the next command is followed'
        self._log.info(f'{_PAUSE} {request.data}: {answer.message}')
        return answer

    def _release(self) -> None:
        """Let the followers send nothing more once they rest, as nothing is sent while paused."""
        followers = self._followers()
        for servo in self._servos.values():
            following = None if followers is None else followers.of(servo.group)
            if servo.goal is not None and following is not None:
                following.follower.release(servo.goal)

    def _rest(self) -> None:
        for servo in self._servos.values():
            if servo.goal is not None:
                servo.goal.command(None)

    def _status_at(self, servo: _Servo, now: float) -> ServoStatus:
        if now < servo.invalid_until:
            return ServoStatus(ServoCode.INVALID, servo.ignored.last)
        if self._paused:
            return ServoStatus(ServoCode.NO_WARNING, 'paused')
        goal = servo.goal
        if goal is None:
            return NO_WARNING
        if goal.end:
            return ServoStatus(ServoCode.NO_WARNING, f'at rest: {goal.end}')
        followers = self._followers()
        following = None if followers is None else followers.of(servo.group)
        state = None if following is None else following.follower.state
        if state in (FollowerState.AWAITING_REST, FollowerState.AWAITING_CONTROLLER):
            return ServoStatus(ServoCode.NO_WARNING, state.value)
        return goal.status
