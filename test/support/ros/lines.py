"""Requests of compute_cartesian_path, and measures of their answers."""

from moveit_msgs.srv import GetCartesianPath
import numpy as np
from support.ros.messages import motion_of

from ik_service.kinematics.pose_error import pose_error
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode

HOME = (0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8)  # of the Panda


def line_request(waypoints, names=(), positions=(), frame='', **fields):
    """Return a request through waypoints (4, 4), from a posture of some joints."""
    fields = {'max_step': 0.01, **fields}
    request = GetCartesianPath.Request(**fields)
    request.waypoints = [pose_from_matrix(T) for T in waypoints]
    request.header.frame_id = frame
    request.start_state.joint_state.name = list(names)
    request.start_state.joint_state.position = [float(value) for value in positions]
    return request


def from_home(arm, waypoints, **fields):
    """Return a request that starts at the Panda's home."""
    return line_request(waypoints, arm.chain.joint_names, HOME, **fields)


def moved(T, *offset, rotation=None):
    """Return a pose that is moved, and turned about axes of its own."""
    T = np.array(T)
    T[:3, 3] += offset
    if rotation is not None:
        T[:3, :3] = T[:3, :3] @ rotation
    return T


def trajectory_of(answer):
    """Return the trajectory of an answer that must be a success."""
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    return motion_of(answer.solution.joint_trajectory)


def samples(trajectory, count=1001):
    """Return times, positions, velocities and accelerations between the points."""
    times = np.linspace(0.0, trajectory.duration, count)
    return (times, *(np.array(part) for part in zip(*map(trajectory.at, times), strict=True)))


def beside_lines(chain, q, corners):
    """Return the largest distance of the tip from the lines through (k, 4, 4) poses [m]."""
    points = np.array([chain.forward(row)[:3, 3] for row in q])
    starts, ends = np.array(corners)[:-1, :3, 3], np.array(corners)[1:, :3, 3]
    distances = []
    for start, end in zip(starts, ends, strict=True):
        way = end - start
        part = np.clip((points - start) @ way / max(way @ way, 1e-12), 0.0, 1.0)
        distances.append(np.linalg.norm(points - start - part[:, None] * way, axis=1))
    return float(np.min(distances, axis=0).max())


def turn_from_line(chain, q, T_start, T_end):
    """Return the largest rotation [rad] from where the tip is on one line in steady turning."""
    way = T_end[:3, 3] - T_start[:3, 3]
    whole = pose_error(T_start, T_end)[3:]
    worst = 0.0
    for row in q:
        T = chain.forward(row)
        part = (T[:3, 3] - T_start[:3, 3]) @ way / (way @ way)
        turned = pose_error(T_start, T)[3:]
        worst = max(worst, float(np.linalg.norm(turned - part * whole)))
    return worst


def limits_kept(trajectory, velocity, acceleration):
    """Return the largest shares of velocity and acceleration limits, also between the points."""
    _, _, velocities, accelerations = samples(trajectory, 4001)
    return (
        float((np.abs(velocities) / velocity).max()),
        float((np.abs(accelerations) / acceleration).max()),
    )
