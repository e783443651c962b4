"""Trajectories as messages."""

from __future__ import annotations

import numpy as np
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.trajectory.joint_trajectory import JointTrajectory


def read_trajectory(message: JointTrajectoryMessage) -> JointTrajectory:
    """
    Return a trajectory from its message.

    :param message: the message; velocities and accelerations count where all points have them.
    :raises TrajectoryError: the message makes no trajectory.
    """
    points = message.points

    def rows(field: str) -> np.ndarray | None:
        values = [getattr(point, field) for point in points]
        return np.array(values) if all(len(row) for row in values) else None

    times = [Duration.from_msg(point.time_from_start).nanoseconds * 1e-9 for point in points]
    positions = np.array([point.positions for point in points])
    velocities = rows('velocities')
    accelerations = None if velocities is None else rows('accelerations')
    return JointTrajectory(
        tuple(message.joint_names), np.array(times), positions, velocities, accelerations
    )


def trajectory_message(trajectory: JointTrajectory) -> JointTrajectoryMessage:
    """
    Return the message of a trajectory.

    :param trajectory: the trajectory.
    """
    message = JointTrajectoryMessage(joint_names=list(trajectory.joint_names))
    for i, time in enumerate(trajectory.times.tolist()):
        point = JointTrajectoryPoint(positions=trajectory.positions[i].tolist())
        if trajectory.velocities is not None:
            point.velocities = trajectory.velocities[i].tolist()
        if trajectory.accelerations is not None:
            point.accelerations = trajectory.accelerations[i].tolist()
        point.time_from_start = Duration(nanoseconds=round(time * 1e9)).to_msg()
        message.points.append(point)
    return message
