"""Conversion between the poses of ROS messages, in any frame, and matrices in the base frame."""

from __future__ import annotations

from collections.abc import Callable
import importlib
import importlib.util
import math
from typing import NoReturn

from geometry_msgs.msg import Point, Pose, Quaternion, Transform
import numpy as np
from rclpy.node import Node

from ik_service.arm.arm import Arm
from ik_service.common.quoting import quote, truncate
from ik_service.common.transforms import (
    inverse_transform,
    quaternion_xyzw_from_rotation,
    transform_from_xyz_quaternion_xyzw,
    UNIT_TOLERANCE,
)
from ik_service.ros.common.errors import ErrorCode, RequestError

TfLookup = Callable[[str, str], np.ndarray]
"""Of a target and a source frame: (4, 4) T_target_source, as tf knows it now."""

_LONGEST_FRAME = 1000  # characters of a frame that tf is asked for


def matrix_from_pose(pose: Pose, field: str = 'pose') -> np.ndarray:
    """
    Return a pose message as a matrix.

    :param pose: the message.
    :param field: name of the message in the request, for the error.
    :returns: (4, 4) transform, positions in [m].
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming the field that is NaN or infinite, or
        the quaternion that is none.
    """
    return _matrix(pose.position, pose.orientation, f'{field}.position', f'{field}.orientation')


def matrix_from_transform(transform: Transform, field: str = 'transform') -> np.ndarray:
    """
    Return a transform message as a matrix; raises as :func:`matrix_from_pose` does.

    :param transform: the message.
    :param field: name of the message, for the error.
    :returns: (4, 4) transform, positions in [m].
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


def base_from_frame(
    arm: Arm, frame_id: str, posture: np.ndarray, tf: TfLookup | None = None
) -> np.ndarray | None:
    """
    Return the pose of a frame in the base frame of the chain.

    :param arm: the arm.
    :param frame_id: empty for the robot's root link; the name of a link; or a frame of tf. The
        leading slash that frames had in ROS 1 is left out.
    :param posture: (m,) full posture at which links are looked up [rad] or [m].
    :param tf: looks up frames that are no links of the robot; None without tf.
    :returns: (4, 4) T_base_frame [m]; None for the base itself.
    :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
    """
    frame = frame_id.lstrip('/') or arm.root_link
    if frame == arm.chain.base_link:
        return None
    if arm.has_link(frame):
        return arm.base_from_link(frame, posture)
    if tf is None:
        raise RequestError(
            ErrorCode.FRAME_TRANSFORM_FAILURE,
            f'frame {quote(frame_id)} is no link of {arm.robot.name!r}, and tf is not in use',
        )
    if len(frame) > _LONGEST_FRAME:
        raise RequestError(
            ErrorCode.FRAME_TRANSFORM_FAILURE, f'frame {quote(frame_id)} is no name of a frame'
        )
    return arm.base_from_link(arm.root_link, posture) @ tf(arm.root_link, frame)


def in_base(
    arm: Arm, frame_id: str, T: np.ndarray, posture: np.ndarray, tf: TfLookup | None = None
) -> np.ndarray:
    """
    Return a pose that is given in some frame in the base frame of the chain.

    :param arm: the arm.
    :param frame_id: the frame; this, ``posture`` and ``tf`` as in :func:`base_from_frame`.
    :param T: (4, 4) T_frame_pose [m].
    :returns: (4, 4) T_base_pose [m].
    :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
    """
    T_base_frame = base_from_frame(arm, frame_id, posture, tf)
    return T if T_base_frame is None else T_base_frame @ T


def frame_from_root(
    arm: Arm, frame_id: str, posture: np.ndarray, tf: TfLookup | None = None
) -> np.ndarray:
    """
    Return the pose of the robot's root link in some frame.

    :param arm: the arm.
    :param frame_id: the frame; this, ``posture`` and ``tf`` as in :func:`base_from_frame`.
    :returns: (4, 4) T_frame_root [m].
    :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
    """
    T_base_root = arm.base_from_link(arm.root_link, posture)
    T_base_frame = base_from_frame(arm, frame_id, posture, tf)
    return T_base_root if T_base_frame is None else inverse_transform(T_base_frame) @ T_base_root


def tf_lookup(node: Node) -> TfLookup | None:
    """
    Listen to tf, and return what looks up its transforms.

    :param node: the node that listens.
    :returns: the lookup; None where tf2_ros is not installed, as on a machine without ROS 2.
    """
    if importlib.util.find_spec('tf2_ros') is None:
        return None
    tf2_ros = importlib.import_module('tf2_ros')
    time = importlib.import_module('rclpy.time')
    buffer = tf2_ros.Buffer()
    listener = tf2_ros.TransformListener(buffer, node, spin_thread=False)

    def look_up(target: str, source: str) -> np.ndarray:
        try:
            # The newest transform, and no waiting: a wait would block the callback.
            found = listener.buffer.lookup_transform(target, source, time.Time())
        except (tf2_ros.TransformException, ValueError) as error:
            raise RequestError(
                ErrorCode.FRAME_TRANSFORM_FAILURE,
                f'frame {quote(source)} is no link of the robot, and tf knows no way from '
                f'{target!r}: {truncate(str(error))}',
            ) from error
        return matrix_from_transform(found.transform, f'tf {target} <- {source}')

    return look_up


def _matrix(position: Point, orientation: Quaternion, where: str, how: str) -> np.ndarray:
    px, py, pz = position.x, position.y, position.z
    x, y, z, w = orientation.x, orientation.y, orientation.z, orientation.w
    if not math.isfinite(px + py + pz + x + y + z + w):
        _refuse_not_finite(where, x=px, y=py, z=pz)
        _refuse_not_finite(how, x=x, y=y, z=z, w=w)
    norm = math.hypot(x, y, z, w)
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        _refuse_norm(norm, how)
    return transform_from_xyz_quaternion_xyzw(px, py, pz, x / norm, y / norm, z / norm, w / norm)


def _refuse_not_finite(field: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise RequestError(
                ErrorCode.INVALID_GOAL_CONSTRAINTS,
                f'{field}.{name} is {value}; it has to be a finite number',
            )


def _refuse_norm(norm: float, field: str) -> NoReturn:
    if norm == 0.0:
        fault = 'is the zero quaternion, which is no rotation'
    else:
        fault = f'has the norm {norm:.6g}, which is not 1 within {UNIT_TOLERANCE:g}'
    raise RequestError(
        ErrorCode.INVALID_GOAL_CONSTRAINTS,
        f'{field} {fault}; "no rotation" is x 0, y 0, z 0, w 1',
    )
