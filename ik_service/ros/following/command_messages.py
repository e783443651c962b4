"""Joint commands as messages of each interface."""

from __future__ import annotations

import array
from collections.abc import Sequence

from builtin_interfaces.msg import Duration, Time
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_service.following.settings import FollowerCommand
from ik_service.trajectory import joint_trajectory as motion

_SECOND = 10**9  # [ns]


def joint_command(
    names: Sequence[str], command: FollowerCommand, used: JointState | None = None
) -> JointState:
    """
    Return a command as a ``sensor_msgs/JointState`` without a stamp.

    :param names: names of the n joints.
    :param command: positions [rad] or [m] and speeds [rad/s] or [m/s].
    :param used: message of these joints that is not needed any more, to be filled again; None to
        make one, which takes as long as all the rest.
    """
    message = JointState(name=list(names)) if used is None else used
    message.position, message.velocity = _numbers(command.q), _numbers(command.velocity)
    return message


def joint_trajectory(trajectory: motion.JointTrajectory, start: int) -> JointTrajectory:
    """
    Return a trajectory as a message.

    :param trajectory: the trajectory, with velocities.
    :param start: when it starts [ns] by the clock of the ROS graph; of a clock that does not run
        yet, it is sent as 0, which means "now".
    """
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    if start > 0:
        message.header.stamp = Time(sec=start // _SECOND, nanosec=start % _SECOND)
    velocities = trajectory.velocities
    assert velocities is not None
    for time, q, velocity in zip(
        trajectory.times.tolist(), trajectory.positions, velocities, strict=True
    ):
        nanoseconds = round(_SECOND * time)
        message.points.append(
            JointTrajectoryPoint(
                positions=_numbers(q),
                velocities=_numbers(velocity),
                time_from_start=Duration(
                    sec=nanoseconds // _SECOND, nanosec=nanoseconds % _SECOND
                ),
            )
        )
    return message


def multi_array(values: np.ndarray) -> Float64MultiArray:
    """
    Return numbers as a ``std_msgs/Float64MultiArray``.

    :param values: (m,) positions [rad] or [m], or velocities [rad/s] or [m/s].
    """
    return Float64MultiArray(data=_numbers(values))


def _numbers(values: np.ndarray) -> array.array:
    return array.array('d', np.ascontiguousarray(values, dtype=np.float64).tobytes())
