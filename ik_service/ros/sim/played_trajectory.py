"""Trajectory that a simulated arm plays, as a joint_trajectory_controller would."""

from __future__ import annotations

from dataclasses import dataclass

from builtin_interfaces.msg import Duration
import numpy as np
from trajectory_msgs.msg import JointTrajectory as Message

from ik_service.exceptions import TrajectoryError
from ik_service.sim.real_time_simulation import JointCommand
from ik_service.trajectory.joint_trajectory import JointTrajectory


@dataclass(frozen=True)
class PlayedTrajectory:
    """
    Trajectory with the time at which it begins.

    :ivar trajectory: the trajectory.
    :ivar start: when it begins, on the monotonic clock [s].
    """

    trajectory: JointTrajectory
    start: float

    @classmethod
    def of(cls, message: Message, stamped_now: int, now: float) -> PlayedTrajectory | str:
        """
        Return the trajectory of a message; a sentence about what is wrong with it otherwise.

        :param message: the message; a stamp of 0 means "now".
        :param stamped_now: present time of the ROS graph [ns].
        :param now: present time on the monotonic clock [s].
        """
        points, stamp = message.points, message.header.stamp
        stamped = stamp.sec * 10**9 + stamp.nanosec
        try:
            trajectory = JointTrajectory(
                tuple(message.joint_names),
                np.array([_seconds(point.time_from_start) for point in points]),
                _rows([point.positions for point in points]),
                _rows([point.velocities for point in points])
                if all(len(point.velocities) for point in points)
                else None,
            )
        except TrajectoryError as error:
            return f'the trajectory {error}'
        return cls(trajectory, now + (1e-9 * (stamped - stamped_now) if stamped else 0.0))

    def command(self, now: float) -> JointCommand:
        """
        Return the command of a moment: names, positions and velocities.

        :param now: on the monotonic clock [s].
        """
        q, velocity, _ = self.trajectory.at(now - self.start)
        return self.trajectory.joint_names, q.tolist(), velocity.tolist()

    def has_ended(self, now: float) -> bool:
        """
        Return whether nothing changes any more.

        :param now: on the monotonic clock [s].
        """
        return now - self.start > self.trajectory.duration


def _rows(values: list) -> np.ndarray:
    return np.array([list(row) for row in values], dtype=np.float64)


def _seconds(duration: Duration) -> float:
    return duration.sec + 1e-9 * duration.nanosec
