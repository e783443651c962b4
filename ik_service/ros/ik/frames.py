"""Poses in any frame that the robot or tf knows, brought to the base of the chain."""

from __future__ import annotations

from collections.abc import Callable
import importlib
import importlib.util
from typing import TYPE_CHECKING

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.common.quoting import cut, echo
from ik_service.common.transforms import inverse_transform
from ik_service.ros.common.conversions import matrix_from_transform
from ik_service.ros.common.errors import ErrorCode, RequestError

if TYPE_CHECKING:
    from rclpy.node import Node

_LONGEST_FRAME = 1000  # characters that tf is asked for

TfLookup = Callable[[str, str], np.ndarray]
"""Of a target and a source frame: (4, 4) T_target_source, as tf knows it now."""


def base_from_frame(
    arm: Arm, frame_id: str, posture: np.ndarray, tf: TfLookup | None = None
) -> np.ndarray | None:
    """
    Return the pose of a frame in the frame of the chain's base.

    :param frame_id: empty for the robot's root link; the name of a link; or a frame of tf. The
        leading slash that frames had in ROS 1 is left out.
    :param posture: (m,) full posture at which links are looked up [rad] or [m].
    :returns: (4, 4) T_base_frame [m]; None for the base itself.
    :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
    """
    frame = frame_id.lstrip('/') or arm.robot.root_link
    if frame == arm.chain.base_link:
        return None
    if arm.has_link(frame):
        return arm.base_from_link(frame, posture)
    if tf is None:
        raise RequestError(
            ErrorCode.FRAME_TRANSFORM_FAILURE,
            f'frame {echo(frame_id)} is no link of {arm.robot.name!r}, and tf is not in use',
        )
    if len(frame) > _LONGEST_FRAME:
        raise RequestError(
            ErrorCode.FRAME_TRANSFORM_FAILURE, f'frame {echo(frame_id)} is no name of a frame'
        )
    root = arm.robot.root_link
    return arm.base_from_link(root, posture) @ tf(root, frame)


def in_base(
    arm: Arm, frame_id: str, T: np.ndarray, posture: np.ndarray, tf: TfLookup | None = None
) -> np.ndarray:
    """Return a pose given in some frame (4, 4) as T_base; see :func:`base_from_frame`."""
    T_base_frame = base_from_frame(arm, frame_id, posture, tf)
    return T if T_base_frame is None else T_base_frame @ T


def frame_from_root(
    arm: Arm, frame_id: str, posture: np.ndarray, tf: TfLookup | None = None
) -> np.ndarray:
    """Return (4, 4) T_frame_root; raises as :func:`base_from_frame` does."""
    T_base_root = arm.base_from_link(arm.robot.root_link, posture)
    T_base_frame = base_from_frame(arm, frame_id, posture, tf)
    return T_base_root if T_base_frame is None else inverse_transform(T_base_frame) @ T_base_root


def tf_of(node: Node) -> TfLookup | None:
    """
    Start to listen to tf.

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
                f'frame {echo(source)} is no link of the robot, and tf knows no way from '
                f'{target!r}: {cut(str(error))}',
            ) from error
        return matrix_from_transform(found.transform, f'tf {target} <- {source}')

    return look_up
