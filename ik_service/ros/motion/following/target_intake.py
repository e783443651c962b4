"""Intake of the messages about a target: its pose, its time and its velocity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from std_msgs.msg import Header

from ik_service.arm.arm import MeasuredState
from ik_service.arm.group import ArmGroup
from ik_service.exceptions import ArgumentError
from ik_service.motion.tracking.target_velocity import FASTEST, FASTEST_TURN, TargetTimes
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.motion.following.node_context import NodeContext
from ik_service.ros.requests.frames import FrameResolver

_TWIST_TIMEOUT = 0.1
"""Time for which a velocity counts for the poses that come [s]."""


@dataclass(frozen=True)
class Target:
    """
    Target as the follower takes it.

    :ivar T_base_tip: (4, 4) pose in the frame of the base link.
    :ivar at: when it was there, on the monotonic clock [s].
    :ivar twist: (6,) its velocity there [m/s, rad/s]; None when no message tells it.
    :ivar arrived: when the message arrived, on the monotonic clock [s].
    """

    T_base_tip: np.ndarray
    at: float
    twist: np.ndarray | None
    arrived: float


class TargetIntake:
    """
    Intake of the poses and velocities of the target of one group.

    :param measured: the measured state of the arm, for frames that move with it.
    :param group: the group.
    :param context: access to the frames and to the node's time.
    :param clock: the clock of what moves the arm [s]; None for that of the context.
    """

    def __init__(
        self,
        measured: MeasuredState,
        group: ArmGroup,
        context: NodeContext,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._measured = measured
        self._group = group
        self._context = context
        self._clock = clock or context.motion_clock.now
        self._times = TargetTimes()
        self._twist = np.zeros(6)
        self._twist_at = -np.inf

    def target(self, message: PoseStamped, waited: float = 0.0) -> Target:
        """
        Return what a message says about the target.

        :param message: its pose.
        :param waited: how long the message has waited in the queue [s].
        :raises RequestError: the pose or the frame of the message cannot be.
        """
        T = matrix_from_pose(message.pose, 'pose')
        frame = self.frames().in_base(self._group.base_link, message.header.frame_id, T)
        arrived = self._clock() - waited
        known = abs(arrived - self._twist_at) <= _TWIST_TIMEOUT
        at = self._times.time_of(self._stamp(message.header), arrived)
        return Target(frame, at, self._twist if known else None, arrived)

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
        self._twist, self._twist_at = twist, self._clock() - waited

    def frames(self) -> FrameResolver:
        """Return the frames of the robot as it is measured now, and of its surroundings."""
        posture = self._measured.arm.postures.complete(self._measured.posture())
        return FrameResolver(self._measured, posture, self._context.frames)

    def _stamp(self, header: Header) -> float | None:
        """Return the stamp of a message on the monotonic clock [s]; None without one."""
        stamp = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
        return self._clock() - 1e-9 * (self._context.clock() - stamp) if stamp > 0 else None
