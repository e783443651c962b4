"""Where a request starts: the measured state, overlaid by what the request says of it."""

from __future__ import annotations

from moveit_msgs.msg import RobotState
import numpy as np

from ik_service.arm.joint_state import MeasuredState
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.ros.common.errors import ErrorCode, RequestError


def seed_posture(
    measured: MeasuredState, state: RobotState, field: str = 'robot_state'
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the full posture that a request starts from.

    As with MoveIt, the measured state is overlaid by the positions given, whatever ``is_diff``
    says; velocities and efforts are not used. Joints that are neither measured nor given stand at
    :attr:`~ik_service.arm.arm.Arm.rest`.

    :param field: name of the message in the request, for the error.
    :returns: (m,) posture [rad] or [m], and the indices that the request gave.
    :raises RequestError: INVALID_ROBOT_STATE for an unknown joint, one named twice, lengths that
        differ, a position that is NaN, infinite or beyond 1e6 rad or m, or a joint with several
        degrees of freedom.
    """
    posture = measured.posture()
    postures = measured.arm.postures
    joints = state.joint_state
    try:
        given = postures.overlay(posture, joints.name, joints.position)
    except ArgumentError as error:
        raise _refused(f'{field}.{error}') from error
    except UnknownJointError as error:
        raise _refused(f'{field}.joint_state: {error}') from error
    if state.multi_dof_joint_state.joint_names:
        _refuse_multi_dof(state, postures.names, field)
    return postures.complete(posture), given


def assumed_joints(measured: MeasuredState, used: np.ndarray, given: np.ndarray) -> list[str]:
    """
    Return the joints whose position is neither measured nor given.

    :param used: indices of the joints that matter, in the full posture.
    :param given: indices of the joints that the request gave.
    """
    unmeasured = measured.unmeasured(used)
    if not len(unmeasured):
        return []
    said = set(given.tolist())
    return [measured.arm.postures.names[i] for i in unmeasured.tolist() if i not in said]


def _refuse_multi_dof(state: RobotState, names: tuple[str, ...], field: str) -> None:
    joint = state.multi_dof_joint_state.joint_names[0]
    parts = [name for name in names if name.startswith(f'{joint}/')]
    if parts:
        hint = f'give its degrees of freedom in joint_state: {", ".join(parts)}'
    else:
        hint = 'the robot has no such joint'
    raise _refused(f'{field}.multi_dof_joint_state: joint {quote(joint)}: {hint}')


def _refused(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_ROBOT_STATE, message)
