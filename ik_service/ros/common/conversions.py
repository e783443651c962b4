"""Between ROS messages and arrays; the only file with quaternions, in ROS's order x, y, z, w."""

from __future__ import annotations

import math

from geometry_msgs.msg import Point, Pose, Quaternion, Transform
import numpy as np

from ik_service.ros.common.errors import ErrorCode, RequestError

QUATERNION_TOLERANCE = 1e-2
"""How far from 1 the norm of a quaternion may be; within, it is normalised."""


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
    rows = T.tolist()
    x, y, z, w = _quaternion(rows)
    return Pose(
        position=Point(x=rows[0][3], y=rows[1][3], z=rows[2][3]),
        orientation=Quaternion(x=x, y=y, z=z, w=w),
    )


def inverse(T: np.ndarray) -> np.ndarray:
    """Return the inverse of a (4, 4) rigid transform."""
    R_t = T[:3, :3].T
    result = np.eye(4)
    result[:3, :3] = R_t
    result[:3, 3] = -(R_t @ T[:3, 3])
    return result


def _matrix(position: Point, orientation: Quaternion, where: str, how: str) -> np.ndarray:
    px, py, pz = position.x, position.y, position.z
    x, y, z, w = orientation.x, orientation.y, orientation.z, orientation.w
    if not math.isfinite(px + py + pz + x + y + z + w):
        _refuse_not_finite(where, x=px, y=py, z=pz)
        _refuse_not_finite(how, x=x, y=y, z=z, w=w)
    s = 1.0 / _checked_norm(x, y, z, w, how)
    x, y, z, w = s * x, s * y, s * z, s * w
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    return np.array(
        [
            [1.0 - yy - zz, xy - wz, xz + wy, px],
            [xy + wz, 1.0 - xx - zz, yz - wx, py],
            [xz - wy, yz + wx, 1.0 - xx - yy, pz],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def _refuse_not_finite(field: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise RequestError(
                ErrorCode.INVALID_GOAL_CONSTRAINTS,
                f'{field}.{name} is {value}; it has to be a finite number',
            )


def _checked_norm(x: float, y: float, z: float, w: float, field: str) -> float:
    norm = math.hypot(x, y, z, w)
    if abs(norm - 1.0) <= QUATERNION_TOLERANCE:
        return norm
    if norm == 0.0:
        fault = 'is the zero quaternion, which is no rotation'
    else:
        fault = f'has the norm {norm:.6g}, which is not 1 within {QUATERNION_TOLERANCE:g}'
    raise RequestError(
        ErrorCode.INVALID_GOAL_CONSTRAINTS,
        f'{field} {fault}; "no rotation" is x 0, y 0, z 0, w 1',
    )


def _quaternion(rows: list[list[float]]) -> tuple[float, float, float, float]:
    """
    Return the unit quaternion (x, y, z, w ≥ 0) of a rotation matrix.

    By way of its largest component, so that nothing small is divided by (Shepperd, "Quaternion
    from rotation matrix", Journal of Guidance and Control 1(3), 1978).
    """
    (a, ab, ac, _), (ba, b, bc, _), (ca, cb, c, _), _ = rows
    trace = a + b + c
    largest = max(a, b, c, trace)
    if largest == trace:
        x, y, z, w = cb - bc, ac - ca, ba - ab, 1.0 + trace
    elif largest == a:
        x, y, z, w = 1.0 + 2.0 * a - trace, ab + ba, ac + ca, cb - bc
    elif largest == b:
        x, y, z, w = ab + ba, 1.0 + 2.0 * b - trace, bc + cb, ac - ca
    else:
        x, y, z, w = ac + ca, bc + cb, 1.0 + 2.0 * c - trace, ba - ab
    s = math.copysign(1.0 / math.hypot(x, y, z, w), w)
    return s * x, s * y, s * z, s * w
