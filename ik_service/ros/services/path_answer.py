"""Answer of ``compute_cartesian_path``: trajectory and message, from a path and its timing."""

from __future__ import annotations

import array
from collections.abc import Sequence
import math

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import RobotTrajectory
import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.arm.arm import Arm
from ik_service.paths.cartesian_path import CartesianPath
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.services.line_request import MovedPoint


def group_trajectory(
    trajectory: JointTrajectory, point: MovedPoint, arm: Arm, posture: np.ndarray
) -> JointTrajectory:
    """
    Return a trajectory of the joints of a chain as one of all joints of its group.

    :param trajectory: the trajectory.
    :param point: the point that it moves.
    :param arm: the arm.
    :param posture: (m,) full posture [rad] or [m], where the other joints stay.
    """
    own = trajectory.joint_names
    names = tuple(dict.fromkeys((*point.group.chain.joint_names, *own)))
    if names == own:
        return trajectory
    rows = len(trajectory)
    at = [names.index(name) for name in own]
    positions = np.tile(posture[arm.postures.indices(names)], (rows, 1))
    positions[:, at] = trajectory.positions
    others = np.zeros((2, rows, len(names)))
    others[0][:, at], others[1][:, at] = trajectory.velocities, trajectory.accelerations
    return JointTrajectory(names, trajectory.times, positions, *others)


def write_trajectory(message: RobotTrajectory, trajectory: JointTrajectory, frame_id: str) -> None:
    """
    Write a trajectory to the field of an answer.

    Its stamp is 0, as MoveIt's: it begins when it is sent to a controller, however late that is.

    :param message: the field.
    :param trajectory: the trajectory.
    :param frame_id: the frame of the header: that of the model.
    """
    assert trajectory.velocities is not None
    assert trajectory.accelerations is not None
    joints = message.joint_trajectory
    joints.header.frame_id = frame_id
    joints.joint_names = list(trajectory.joint_names)
    joints.points = [
        JointTrajectoryPoint(
            positions=array.array('d', q.tobytes()),
            velocities=array.array('d', v.tobytes()),
            accelerations=array.array('d', a.tobytes()),
            time_from_start=_duration(t),
        )
        for t, q, v, a in zip(
            trajectory.times.tolist(),
            trajectory.positions,
            trajectory.velocities,
            trajectory.accelerations,
            strict=True,
        )
    ]


def _duration(seconds: float) -> Duration:
    whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=nanoseconds)


def path_message(
    path: CartesianPath, trajectory: JointTrajectory, timing: str, notes: Sequence[str]
) -> str:
    """
    Return what the client is told about a path.

    :param path: the path.
    :param trajectory: its trajectory.
    :param timing: by what it was timed.
    :param notes: remarks.
    """
    passed, part = math.floor(path.progress), path.progress % 1.0
    text = f'fraction {path.fraction:.4g}: {passed} of {path.waypoints} way points'
    if path.reason:
        text += f' and {part:.1%} of the line to waypoints[{passed}]; there {path.reason}'
    text += (
        f'. {len(trajectory)} points, {path.length:.3f} m in {trajectory.duration:.3f} s by '
        f'timing {timing!r}, largest step {path.largest_step:.3g}'
    )
    if path.deviation > 0.0:
        text += f', at most {path.deviation * 1e3:.2g} mm beside the lines'
    text += f'; found in {path.solve_time:.3g} s'
    return '; '.join((text, *notes))
