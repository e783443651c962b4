"""Conversion between the poses and postures of ROS messages and arrays."""

from __future__ import annotations

import array
import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform
from moveit_msgs.msg import RobotState
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.common.quaternions import (
    normalized_quaternion,
    quaternion_xyzw_from_rotation,
    transform_from_xyz_quaternion_xyzw,
    UNIT_TOLERANCE,
)
from ik_service.ros.common.errors import invalid_goal


def matrix_from_pose(pose: Pose, field: str = 'pose') -> np.ndarray:
    """
    Return a pose message as a matrix; its quaternion is normalised.

    :returns: (4, 4) transform, positions in [m].
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming the field that is NaN or infinite, or
        the quaternion that is zero.
    """
    return _matrix(pose.position, pose.orientation, f'{field}.position', f'{field}.orientation')


def matrix_from_transform(transform: Transform, field: str = 'transform') -> np.ndarray:
    """Return a transform message as a matrix (4, 4), as :func:`matrix_from_pose` does."""
    return _matrix(
        transform.translation, transform.rotation, f'{field}.translation', f'{field}.rotation'
    )


def pose_from_matrix(T: np.ndarray) -> Pose:
    """Return a rigid transform (4, 4) as a pose message."""
    x, y, z, w = quaternion_xyzw_from_rotation(T[:3, :3])
    px, py, pz = T[:3, 3].tolist()
    return Pose(position=Point(x=px, y=py, z=pz), orientation=Quaternion(x=x, y=y, z=z, w=w))


def _matrix(position: Point, orientation: Quaternion, where: str, how: str) -> np.ndarray:
    px, py, pz = position.x, position.y, position.z
    x, y, z, w = orientation.x, orientation.y, orientation.z, orientation.w
    if not math.isfinite(px + py + pz + x + y + z + w):
        _refuse_not_finite(where, x=px, y=py, z=pz)
        _refuse_not_finite(how, x=x, y=y, z=z, w=w)
    norm = math.hypot(x, y, z, w)
    if abs(norm - 1.0) > UNIT_TOLERANCE:  # such as a hand-typed 0.7, 0.7
        (x, y, z, w), length = normalized_quaternion((x, y, z, w))
        if length == 0.0:
            raise invalid_goal(
                f'{how} is the zero quaternion, which is no rotation; "no rotation" is '
                'x 0, y 0, z 0, w 1'
            )
        norm = 1.0
    return transform_from_xyz_quaternion_xyzw(px, py, pz, x / norm, y / norm, z / norm, w / norm)


def _refuse_not_finite(field: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise invalid_goal(f'{field}.{name} is {value}; it has to be a finite number')


def write_solution(solution: RobotState, arm: Arm, posture: np.ndarray, stamp: Time) -> None:
    """Write a full posture (m,) [rad] or [m] to the field of an answer."""
    joints = solution.joint_state
    joints.header.frame_id = arm.root_link
    joints.header.stamp = stamp
    joints.name = list(arm.postures.names)
    joints.position = array.array('d', posture.tobytes())
