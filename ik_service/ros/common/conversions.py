"""Conversions between ROS pose messages and transforms."""

from __future__ import annotations

import math

from geometry_msgs.msg import Point, Pose, Quaternion, Transform
import numpy as np

from ik_service.common.transforms import (
    normalized_quaternion,
    quaternion_xyzw_from_rotation,
    rigid_transform,
    rotation_from_quaternion_xyzw,
    UNIT_TOLERANCE,
)
from ik_service.ros.common.errors import ErrorCode, RequestError


def matrix_from_pose(pose: Pose, field: str = 'pose') -> np.ndarray:
    """
    Return a pose message as a matrix.

    :param field: name of the message in the request, for the error.
    :returns: (4, 4) transform, positions in [m].
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming the field that is NaN or infinite, or
        the quaternion that is none.
    """
    return _matrix(pose.position, pose.orientation, f'{field}.position', f'{field}.orientation')


def matrix_from_transform(transform: Transform, field: str = 'transform') -> np.ndarray:
    """
    Return a transform message as a (4, 4) matrix; raises as :func:`matrix_from_pose` does.

    :param field: name of the message, for the error.
    """
    return _matrix(
        transform.translation, transform.rotation, f'{field}.translation', f'{field}.rotation'
    )


def pose_from_matrix(T: np.ndarray) -> Pose:
    """
    Return a matrix as a pose message.

    :param T: (4, 4) rigid transform [m].
    """
    x, y, z, w = quaternion_xyzw_from_rotation(T[:3, :3])
    px, py, pz = T[:3, 3].tolist()
    return Pose(
        position=Point(x=px, y=py, z=pz),
        orientation=Quaternion(x=x, y=y, z=z, w=w),
    )


def _matrix(position: Point, orientation: Quaternion, where: str, how: str) -> np.ndarray:
    px, py, pz = position.x, position.y, position.z
    x, y, z, w = orientation.x, orientation.y, orientation.z, orientation.w
    if not math.isfinite(px + py + pz + x + y + z + w):
        _refuse_not_finite(where, x=px, y=py, z=pz)
        _refuse_not_finite(how, x=x, y=y, z=z, w=w)
    unit, norm = normalized_quaternion((x, y, z, w))
    _check_norm(norm, how)
    return rigid_transform(rotation_from_quaternion_xyzw(*unit), (px, py, pz))


def _refuse_not_finite(field: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise RequestError(
                ErrorCode.INVALID_GOAL_CONSTRAINTS,
                f'{field}.{name} is {value}; it has to be a finite number',
            )


def _check_norm(norm: float, field: str) -> None:
    if abs(norm - 1.0) <= UNIT_TOLERANCE:
        return
    if norm == 0.0:
        fault = 'is the zero quaternion, which is no rotation'
    else:
        fault = f'has the norm {norm:.6g}, which is not 1 within {UNIT_TOLERANCE:g}'
    raise RequestError(
        ErrorCode.INVALID_GOAL_CONSTRAINTS,
        f'{field} {fault}; "no rotation" is x 0, y 0, z 0, w 1',
    )
