"""
States in messages of joints with several degrees of freedom.

They are the virtual joints of an SRDF, which hold the robot's root in a frame beside it,
and the planar and floating joints of the URDF, whose degrees of freedom are joints of their own
here (:mod:`ik_service.model.expanded_joints`).
"""

from __future__ import annotations

from collections.abc import Mapping
import math

from geometry_msgs.msg import Transform
import numpy as np
from sensor_msgs.msg import MultiDOFJointState

from ik_service.arm.arm import Arm
from ik_service.common.quoting import quote
from ik_service.common.transforms import rpy_from_rotation
from ik_service.exceptions import ArgumentError
from ik_service.model.expanded_joints import FLOATING_PARTS, part_names
from ik_service.model.robot_model import RobotModel
from ik_service.robot import Robot
from ik_service.ros.common.conversions import matrix_from_transform
from ik_service.ros.common.errors import RequestError

MOST_JOINTS = 1000  # joints with several degrees of freedom that a state may name

_OUT_OF_PLANE = 1e-3  # largest deviation of a planar joint's pose from its plane [m] and [rad]
_UP = np.array([0.0, 0.0, 1.0])  # normal of the plane of a planar virtual joint, as in MoveIt


def virtual_frames(robot: Robot) -> dict[str, str]:
    """Return the virtual joints that hold the robot's root link, names by parent frames."""
    joints = robot.semantics.virtual_joints
    return {j.parent_frame: j.name for j in joints if j.child_link == robot.root_link}


def read_multi_dof(
    arm: Arm, state: MultiDOFJointState, posture: np.ndarray
) -> tuple[dict[str, np.ndarray], list[int]]:
    """
    Read a state of joints with several degrees of freedom.

    :param posture: (m,) full posture [rad] or [m]; planar and floating joints are written to it.
    :returns: (4, 4) T_frame_root [m] by the parent frames of virtual joints, and the indices in
        the posture that were written.
    :raises ArgumentError: there is no such joint, one is named twice, the lengths differ, a pose
        is none, or none of a planar or fixed joint, or the header names a frame that is not the
        joint's parent frame.
    """
    names = state.joint_names
    virtual = {name: frame for frame, name in virtual_frames(arm.robot).items()}
    kinds = {joint.name: joint.type for joint in arm.robot.semantics.virtual_joints}
    _check_names(state, arm.robot, virtual)
    poses: dict[str, np.ndarray] = {}
    written: list[int] = []
    for name, transform in zip(names, state.transforms, strict=True):
        T = _matrix(transform, name)
        if name in virtual:
            _check_frame(state, name, (virtual[name],))
            if kinds.get(name) == 'planar':
                _check_plane(name, T, _UP)
            elif kinds.get(name) == 'fixed' and np.abs(T - np.eye(4)).max() > _OUT_OF_PLANE:
                raise _fault(f'joint {quote(name)} is fixed, and its pose is not 0')
            poses[virtual[name]] = T
            continue
        values = _degrees_of_freedom(arm.robot, name, T)
        _check_frame(state, name, (arm.root_link, *virtual.values()))
        indices = arm.postures.overlay(posture, tuple(values), tuple(values.values()))
        written += indices.tolist()
    return poses, written


def _check_names(state: MultiDOFJointState, robot: RobotModel, virtual: Mapping[str, str]) -> None:
    names = state.joint_names
    if len(names) > MOST_JOINTS:
        raise _fault(f'names {len(names)} joints, more than {MOST_JOINTS}')
    for name in names:
        if name not in virtual and not part_names(name, robot.joints):
            raise _fault(f'joint {quote(name)}: the robot has no such joint')
    if len(names) != len(state.transforms):
        raise _fault(f'has {len(names)} names, but {len(state.transforms)} transforms')
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise _fault(f'joint {quote(twice)} is named twice')


def _check_frame(state: MultiDOFJointState, name: str, valid: tuple[str, ...]) -> None:
    frame = state.header.frame_id.lstrip('/')
    if frame and frame not in valid:
        raise _fault(
            f'joint {quote(name)} is given in frame {quote(frame)}, not in {" or ".join(valid)}'
        )


def _matrix(transform: Transform, name: str) -> np.ndarray:
    try:
        return matrix_from_transform(transform, f'joint {quote(name)}')
    except RequestError as error:
        raise _fault(str(error)) from error


def _degrees_of_freedom(robot: RobotModel, name: str, T: np.ndarray) -> Mapping[str, float]:
    """Return the positions [rad] or [m] of the joints that stand for a planar or floating one."""
    parts = part_names(name, robot.joints)
    if len(parts) == len(FLOATING_PARTS):
        roll, pitch, yaw = rpy_from_rotation(T[:3, :3])
        return dict(zip(parts, (*T[:3, 3].tolist(), yaw, pitch, roll), strict=True))
    along_x, along_y, about = (robot.joints[part] for part in parts)
    _check_plane(name, T, about.axis)
    turned = T[:3, :3] @ along_x.axis
    theta = math.atan2(float(turned @ along_y.axis), float(turned @ along_x.axis))
    positions = (float(T[:3, 3] @ along_x.axis), float(T[:3, 3] @ along_y.axis), theta)
    return dict(zip(parts, positions, strict=True))


def _check_plane(name: str, T: np.ndarray, normal: np.ndarray) -> None:
    """Refuse a pose of a planar joint that is not in the plane with a normal (3,)."""
    tilt = math.acos(max(-1.0, min(1.0, float(normal @ T[:3, :3] @ normal))))
    if abs(float(normal @ T[:3, 3])) > _OUT_OF_PLANE or tilt > _OUT_OF_PLANE:
        raise _fault(f'joint {quote(name)} is planar, and its pose is not in its plane')


def _fault(text: str) -> ArgumentError:
    return ArgumentError('multi_dof_joint_state', text)
