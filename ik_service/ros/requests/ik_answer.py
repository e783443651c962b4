"""Answer of ``compute_ik``: error code, message and posture, from the result of a solve."""

from __future__ import annotations

import array
from typing import NamedTuple

from builtin_interfaces.msg import Time
from moveit_msgs.msg import RobotState
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup, PreparedSolver
from ik_service.ros.requests.errors import ErrorCode
from ik_service.solvers.result import IkResult, IkStatus

_CODES = {
    IkStatus.SUCCESS: ErrorCode.SUCCESS,
    IkStatus.TIMED_OUT: ErrorCode.TIMED_OUT,
    IkStatus.IN_COLLISION: ErrorCode.GOAL_IN_COLLISION,
}

_WITH_CLOSEST = ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT


class Outcome(NamedTuple):
    """
    Outcome of a request.

    :ivar code: the error code of the answer.
    :ivar message: the reason, in a sentence.
    :ivar posture: (m,) the full posture that reaches the target, or with NO_IK_SOLUTION and
        TIMED_OUT the one that comes closest [rad] or [m]; None without one.
    :ivar result: the solver's result; None when there was no solve.
    :ivar solver: name of the method.
    """

    code: ErrorCode
    message: str
    posture: np.ndarray | None = None
    result: IkResult | None = None
    solver: str = ''


def code_of(status: IkStatus) -> ErrorCode:
    """Return the error code of a solve."""
    return _CODES.get(status, ErrorCode.NO_IK_SOLUTION)


def outcome_of(
    result: IkResult,
    arm: Arm,
    chosen: PreparedSolver,
    posture: np.ndarray,
    notes: str,
    outside: list[str],
) -> Outcome:
    """
    Return the outcome of a solve.

    :param posture: (m,) full posture of the start [rad] or [m]; becomes that of the solution.
    """
    code, name = code_of(result.status), chosen.solver.name
    told = result.success or (code in _WITH_CLOSEST and bool(np.isfinite(result.q).all()))
    if told:
        posture[chosen.indices] = result.q
        arm.postures.complete(posture)
        outside += bring_inside(arm, chosen, posture)  # measured outside their limits
    if outside:
        notes += f'; brought inside their limits: {", ".join(outside)}'
    return Outcome(code, result.reason + notes, posture if told else None, result, name)


def write_solution(solution: RobotState, arm: Arm, posture: np.ndarray, stamp: Time) -> None:
    """
    Write a full posture to the field of an answer.

    :param posture: (m,) [rad] or [m].
    """
    joints = solution.joint_state
    joints.header.frame_id = arm.root_link
    joints.header.stamp = stamp
    joints.name = list(arm.postures.names)
    joints.position = array.array('d', posture.tobytes())


def bring_inside(
    arm: Arm,
    chosen: PreparedSolver | ArmGroup,
    posture: np.ndarray,
    among: np.ndarray | None = None,
    told: bool = False,
) -> list[str]:
    """
    Bring joints beside the chain inside their limits, unless they are ignored.

    :param posture: (m,) full posture [rad] or [m], changed in place.
    :param among: indices of the only joints that are checked; None for all.
    :param told: whether joints of the chain, which the solver brings inside, are reported too.
    :returns: the joints that were outside, with where they were.
    """
    if isinstance(chosen, PreparedSolver) and chosen.solver.options.joint_limits == 'ignore':
        return []
    return arm.postures.bring_inside(posture, chosen.indices, among, told)
