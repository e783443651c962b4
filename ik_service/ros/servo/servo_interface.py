"""Interface of MoveIt Servo: commands from topics, the status, and two services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
import threading
from typing import Any, TYPE_CHECKING

from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from moveit_msgs.msg import ServoStatus as StatusMessage
from moveit_msgs.srv import ServoCommandType
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_srvs.srv import SetBool

from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.following.servo.commands import ServoCommand
from ik_service.following.servo.servo_aim import ServoAim
from ik_service.following.servo.settings import ServoSettings
from ik_service.following.servo.status import NO_WARNING, ServoCode, ServoStatus
from ik_service.following.servo.velocity_solver import warm_up
from ik_service.following.settings import FollowerState
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.following.follower_interface import FollowerInterface
from ik_service.ros.following.followers import Followers
from ik_service.ros.servo.command_age import CommandAge
from ik_service.ros.servo.command_messages import (
    chain_of,
    joints_from,
    Noted,
    pose_from,
    twist_from,
)
from ik_service.ros.servo.servo_parameters import servo_settings

if TYPE_CHECKING:
    from ik_service.ros.ik.parameters import NodeParameters

# Only the newest command counts, and best effort receives from publishers of either kind.
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

_INVALID_FOR = 1.0
"""Time for which the status tells of a command that was ignored [s]."""

_SWITCH = 'switch_command_type'
_PAUSE = 'pause_servo'


@dataclass(frozen=True)
class _Kind:
    """
    A kind of commands.

    :ivar number: its number in ``moveit_msgs/srv/ServoCommandType``.
    :ivar message: type of its messages.
    :ivar topic: their topic.
    :ivar convert: makes commands of them.
    """

    number: int
    message: type
    topic: str
    convert: Callable[[Any, FollowerInterface, ServoSettings], Noted]


_KINDS = (
    _Kind(ServoCommandType.Request.JOINT_JOG, JointJog, 'delta_joint_cmds', joints_from),
    _Kind(ServoCommandType.Request.TWIST, TwistStamped, 'delta_twist_cmds', twist_from),
    _Kind(ServoCommandType.Request.POSE, PoseStamped, 'pose_target_cmds', pose_from),
)
_ANY = -1
"""Number with which all kinds are listened to again."""


class ServoInterface:
    """
    Commands of MoveIt Servo for the default group of an arm.

    :param node: the node that offers them.
    :param followers: returns the followers of the present arm; None before there is one.
    :param parameters: the node's parameters.
    :param clock: the clock of what moves the arm.
    :ivar group: None: the callbacks are short.
    :raises OptionError: naming a parameter whose value cannot be.
    """

    group: CallbackGroup | None = None

    def __init__(
        self,
        node: Node,
        followers: Callable[[], Followers | None],
        parameters: NodeParameters,
        clock: MotionClock,
    ) -> None:
        servo_settings(parameters)
        self._node, self._followers, self._parameters = node, followers, parameters
        self._clock = clock
        self._log = node.get_logger()
        self._ignored, self._notes = FaultLogger(self._log.warning), FaultLogger(self._log.warning)
        self._age = CommandAge(lambda: node.get_clock().now().nanoseconds, self._log.warning)
        self._lock = threading.Lock()
        self._aim: ServoAim | None = None
        self._only: _Kind | None = None
        self._used = self._paused = self._ended = False
        self._invalid_until = -float('inf')

    def start(self) -> None:
        """Subscribe, and offer the services."""
        warm_up()  # before anything moves, as the compiler would delay the commands
        group = MutuallyExclusiveCallbackGroup()
        for kind in _KINDS:
            take = partial(self._take, kind)
            self._node.create_subscription(
                kind.message, kind.topic, take, _NEWEST, callback_group=group
            )
        self._status = self._node.create_publisher(StatusMessage, 'status', 10)
        services = (
            (ServoCommandType, _SWITCH, self._on_switch),
            (SetBool, _PAUSE, self._on_pause),
        )
        for service, name, answer in services:
            self._node.create_service(service, name, answer, callback_group=group)

    def tick(self, now: float) -> None:
        """
        Publish the status, once servoing was used.

        :param now: time on the monotonic clock [s].
        """
        if self._used:
            status = self._status_at(now)
            self._status.publish(StatusMessage(code=int(status.code), message=status.message))

    def end(self) -> None:
        """Take no more commands."""
        with self._lock:
            self._ended = True

    def preempt(self, reason: str) -> None:
        """
        Do nothing: commands are no goals, and end with the motion of the follower.

        :param reason: what stops the goals.
        """

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        if not self._used:
            return {}
        return {
            'servo': self._status_at(self._clock.now()).message,
            'ignored servo commands': str(self._ignored.count),
            'last ignored servo command': self._ignored.last or 'none',
        }

    # Callbacks

    def _take(self, kind: _Kind, message: Any) -> None:  # noqa: ANN401 - one of three types
        """Take in a command; a bad one is ignored."""
        now = self._clock.now()
        with self._lock:
            if self._ended:
                return
            self._used = True
            try:
                self._follow(kind, message, now)
            except IkServiceError as error:
                self._invalid_until = now + _INVALID_FOR
                self._ignored.report(f'{kind.topic} ignored: {error}')
            else:
                self._invalid_until = -float('inf')
                self._ignored.clear()

    def _follow(self, kind: _Kind, message: Any, now: float) -> None:  # noqa: ANN401
        followers = self._followers()
        if followers is None:
            raise ArgumentError('arm', 'there is no robot description yet')
        if self._paused:
            raise ArgumentError(_PAUSE, 'servoing is paused; data: false goes on')
        if self._only not in (None, kind):
            raise ArgumentError(
                _SWITCH,
                f'has chosen {self._only.topic} alone; command_type: {kind.number} chooses this, '
                f'and {_ANY} all kinds',
            )
        settings = servo_settings(self._parameters)
        until = self._age.until(kind.topic, message.header.stamp, settings.timeout, now)
        command, note = kind.convert(message, followers.default, settings)
        if note:
            self._notes.report(f'{kind.topic}: {note}', kind.topic)
        self._give(followers.default, command, settings, until)

    def _give(
        self,
        following: FollowerInterface,
        command: ServoCommand,
        settings: ServoSettings,
        until: float,
    ) -> None:
        """Give a command to the aim that is followed, or begin with one."""
        aim = self._aim
        if aim is not None and aim.end is None:
            aim.command(command, until)
        elif not command.is_zero:  # a joystick at rest takes over from nothing
            aim = ServoAim(chain_of(following), settings)
            aim.command(command, until)
            following.follow_aim(aim)
            self._aim = aim

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
            self._used, self._only = True, kinds[request.command_type]
            self._rest()
        chosen = 'all kinds of commands' if self._only is None else f'only {self._only.topic}'
        self._log.info(f'{_SWITCH}: {chosen}')
        return answer

    def _on_pause(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._used, self._paused = True, request.data
            self._rest()
            followers = self._followers()
            if request.data and self._aim is not None and followers is not None:
                followers.default.follower.release(self._aim)  # nothing is sent while paused
        answer.success = True
        paused = 'paused: the commands come to rest and end, and further ones are ignored'
        answer.message = paused if request.data else 'the next command is followed'
        self._log.info(f'{_PAUSE} {request.data}: {answer.message}')
        return answer

    def _rest(self) -> None:
        if self._aim is not None:
            self._aim.command(None)

    def _status_at(self, now: float) -> ServoStatus:
        if now < self._invalid_until:
            return ServoStatus(ServoCode.INVALID, self._ignored.last)
        if self._paused:
            return ServoStatus(ServoCode.NO_WARNING, 'paused')
        aim = self._aim
        if aim is None:
            return NO_WARNING
        if aim.end:
            return ServoStatus(ServoCode.NO_WARNING, f'at rest: {aim.end}')
        followers = self._followers()
        state = None if followers is None else followers.default.follower.state
        if state is FollowerState.AWAITING_REST:
            return ServoStatus(ServoCode.NO_WARNING, state.value)
        return aim.status
