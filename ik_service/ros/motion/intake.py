"""Intake of joint states and of targets: their stamps, poses and velocities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import time

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from sensor_msgs.msg import JointState

from ik_service.arm.group import ArmGroup
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import nearest, quote
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.motion.target_follower import TargetFollower
from ik_service.motion.tracking.target_velocity import FASTEST, FASTEST_TURN, TargetTimes
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.scene.frames import Frames
from ik_service.solvers.result import IkResult

_MOST_SETS = 64  # sets of joints that are remembered
_CLOCK_STEP = 100_000_000  # difference of two clocks beyond which one of them was set [ns]

_AHEAD = 0.3
"""
Time by which a stamp lies in the future and two clocks disagree [s]: more than two steps of a
simulated one. A controller by such a clock finds all trajectories old.
"""

_LONGEST_WAIT = 60.0
"""Longest plausible wait of a message [s]; a longer or negative one means that a clock was set."""


class StampConverter:
    """
    Converter of stamps to times on the monotonic clock, which notices impossible ones.

    A message that is not newer than the last one of the same joints tells nothing new. One without
    a stamp counts from its arrival, and so does one from the future: that clock runs ahead.

    :param clock: the node's time [ns], which may be simulated.
    :ivar fault: fault of the last message; empty when it had none.
    :ivar age: age of the last message by its stamp, when it arrived [s].
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._last_clock = 0
        self._newest: dict[tuple[str, ...], int] = {}
        self.fault = ''
        self.age = 0.0

    def measured_at(self, message: JointState, now: float, waited: float = 0.0) -> float | None:
        """Return when a joint state that waited [s] was measured [s]; None for one not newer."""
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self.fault, self.age = '', 0.0
        if stamp <= 0:
            return now - waited
        clock = self._clock()
        if clock < self._last_clock - _CLOCK_STEP:  # the simulation was started again
            self._newest.clear()
        self._last_clock = clock
        if not self._is_newer(tuple(message.name), stamp, clock):
            return None
        ahead = 1e-9 * (stamp - clock)
        self.age = max(-ahead, waited)
        if max(self.age, ahead) > 1e6:
            self.fault = (
                f'stamped {1e-9 * stamp:.2f} s, while this clock reads {1e-9 * clock:.2f} s; '
                'is use_sim_time the same for both?'
            )
        elif ahead > _AHEAD:
            self.fault = (
                f'stamped {ahead:.2f} s ahead of this clock; the clocks of arm and node must agree'
            )
        return now - self.age

    def _is_newer(self, names: tuple[str, ...], stamp: int, now: int) -> bool:
        newest = self._newest.get(names)
        corrected = newest is not None and newest - _CLOCK_STEP > max(now, stamp)
        if newest is not None and stamp <= newest and not corrected:
            back = 1e-9 * (newest - stamp)
            self.fault = (
                f'the stamps run backwards, by {back:.3f} s' if back else 'the stamp stands still'
            )
            return False
        if len(self._newest) >= _MOST_SETS:
            self._newest.clear()
        self._newest[names] = stamp
        return True


def queue_delay(info: Mapping[str, int]) -> float:
    """
    Return how long a message has waited in the queue [s]; a busy process takes it out late.

    :param info: message information of rclpy; its time of arrival is 0 where the middleware does
        not give it.
    """
    received = info.get('received_timestamp', 0)
    waited = 1e-9 * (time.time_ns() - received) if received > 0 else 0.0
    return waited if 0.0 <= waited <= _LONGEST_WAIT else 0.0


_ELSEWHERE = 0.005
"""Distance from where a joint was with the same stamp, beyond which that is noted [rad] or [m]."""

_MOST_STRANGERS = 200  # names that are no joints, at most
_MOST_NAMED = 3  # joints that a message names


class JointStateIntake:
    """
    Intake of joint states into the measured state of an arm.

    :ivar stamps: converter of the stamps, with the faults that it has noticed.
    :ivar strangers: names in joint states that are no joints of the robot.
    """

    def __init__(
        self, measured: MeasuredState, clock: MotionClock, warn: Callable[[str], object]
    ) -> None:
        self.measured, self._clock = measured, clock
        self.stamps = StampConverter(clock.graph_time)
        self.ignored = FaultLogger(warn, recovered='joint states are good again')
        self._taken: tuple[JointState, float] | None = None
        self._seen: set[tuple[str, ...]] = set()
        self.strangers: tuple[str, ...] = ()

    def take(self, message: JointState, waited: float = 0.0) -> bool:
        """
        Take in a message; a bad one is ignored.

        One with the stamp of the last one tells nothing new, unless the joints are elsewhere:
        there may be two sources of joint states with the same clock.

        :param waited: how long it has waited in the queue [s].
        :returns: whether it tells something new.
        """
        now = self.stamps.measured_at(message, self._clock.now(), waited)
        now = self._same_time(message) if now is None else now
        if now is None:
            return False
        try:
            self.measured.update(message.name, message.position, now, message.velocity)
        except IkServiceError as error:
            self.ignored.report(f'joint state ignored: {error}')
            return False
        self.ignored.clear()
        self._note_names(tuple(message.name))
        self._taken = message, now
        return True

    def unmatched(self, missing: Sequence[str]) -> str:
        """Return a sentence about names that may be meant for joints without a state; or ''."""
        pairs = [(nearest(name, self.strangers), name) for name in missing]
        meant = [f'{quote(stranger)} (is {name} meant?)' for stranger, name in pairs if stranger]
        if not meant:
            return ''
        more = ', …' if len(meant) > _MOST_NAMED else ''
        return (
            f'joint_states name {", ".join(meant[:_MOST_NAMED])}{more}, which the robot '
            'description does not have'
        )

    def _note_names(self, names: tuple[str, ...]) -> None:
        if names in self._seen or len(self._seen) >= _MOST_SETS:
            return
        self._seen.add(names)
        own = self.measured.arm.postures.names
        strange = (name for name in (*self.strangers, *names) if name not in own)
        self.strangers = tuple(dict.fromkeys(strange))[:_MOST_STRANGERS]

    def _same_time(self, message: JointState) -> float | None:
        """Return when the last message was measured, if this one is of then but differs."""
        if self._taken is None:
            return None
        last, then = self._taken
        if message.header.stamp != last.header.stamp or message.name != last.name:
            return None
        if len(message.position) != len(last.position):
            return None
        away = np.abs(np.subtract(message.position, last.position))
        return then if (away > _ELSEWHERE).any() else None


_TWIST_TIMEOUT = 0.1  # time for which a velocity counts for the poses that come [s]


class TargetIntake:
    """
    Intake of the poses and velocities of the target of one group.

    :param measured: the measured state of the arm, for frames that move with it.
    """

    def __init__(
        self, measured: MeasuredState, group: ArmGroup, clock: MotionClock, frames: Frames
    ) -> None:
        self._measured, self._group = measured, group
        self._clock, self._frames = clock, frames
        self._times = TargetTimes()
        self._twist = np.zeros(6)
        self._twist_at = -np.inf

    def give(
        self, message: PoseStamped, waited: float, follower: TargetFollower, asked_at: float
    ) -> IkResult:
        """
        Give a follower the target of a message; return the result of its solve.

        :param waited: how long the message has waited in the queue [s].
        :param asked_at: when it came, on the monotonic clock, which stops go by [s].
        :raises RequestError: the pose or its frame cannot be.
        :raises IkServiceError: the follower refuses it.
        """
        T, frame = matrix_from_pose(message.pose, 'pose'), message.header.frame_id
        if frame != self._group.base_link:
            T = self.frames().in_base(self._group.base_link, frame, T)
        arrived = self._clock.now() - waited
        known = abs(arrived - self._twist_at) <= _TWIST_TIMEOUT
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        stamped = self._clock.moment_of(stamp) if stamp > 0 else None
        at = self._times.time_of(stamped, arrived)
        return follower.set_target(T, at, self._twist if known else None, arrived, asked_at)

    def take_twist(self, message: TwistStamped, waited: float = 0.0) -> None:
        """
        Take in the velocity of the target.

        :param message: velocities of its origin and its turning, along the axes of a frame.
        :param waited: how long the message has waited in the queue [s].
        :raises ArgumentError: they are not finite, or too large.
        :raises RequestError: the frame of the message cannot be.
        """
        linear, angular = message.twist.linear, message.twist.angular
        twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        if not np.isfinite(twist).all():
            raise ArgumentError('twist', 'holds NaN or infinity')
        parts = (
            ('linear', twist[:3], FASTEST, 'm/s'),
            ('angular', twist[3:], FASTEST_TURN, 'rad/s'),
        )
        for name, part, most, unit in parts:
            if np.abs(part).max() > most:
                raise ArgumentError(f'twist.{name}', f'is beyond {most:.3g} {unit}')
        frames, header = self.frames(), message.header
        T_base_frame = frames.base_from_frame(self._group.base_link, header.frame_id)
        if T_base_frame is not None:
            R = T_base_frame[:3, :3]
            twist = np.concatenate([R @ twist[:3], R @ twist[3:]])
        self._twist, self._twist_at = twist, self._clock.now() - waited

    def frames(self) -> FrameResolver:
        """Return the frames of the robot as it is measured now, and of its surroundings."""
        posture = self._measured.arm.postures.complete(self._measured.posture())
        return FrameResolver(self._measured, posture, self._frames)
