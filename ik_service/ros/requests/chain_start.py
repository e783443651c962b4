"""Chain, seed and limits of a ``compute_ik`` request for one link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moveit_msgs.msg import Constraints, PositionIKRequest
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup, PreparedSolver, SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import quote
from ik_service.exceptions import ChainError
from ik_service.ros.requests.constraints import constrained_chain
from ik_service.ros.requests.errors import ErrorCode, RequestError
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.frames import Frames
from ik_service.ros.requests.goals import PoseGoal
from ik_service.ros.requests.ik_answer import bring_inside
from ik_service.ros.requests.service_handler import assumed_note, resolver_of, start_posture
from ik_service.solvers.solver import Solver


class ChainStart(NamedTuple):
    """
    Start of the solves of one chain.

    :ivar group: the planning group.
    :ivar chosen: the chain to the link, with its solver.
    :ivar posture: (m,) full posture of the start [rad] or [m].
    :ivar given: indices of the joints that the request gives.
    :ivar outside: joints given outside their limits, with where they were.
    :ivar frames: poses in the frames that the request names.
    :ivar assumed: the remark on joints whose position is neither measured nor given, if any.
    """

    group: ArmGroup
    chosen: PreparedSolver
    posture: np.ndarray
    given: np.ndarray
    outside: list[str]
    frames: FrameResolver
    assumed: list[str]

    def seed(self, settings: SolverSettings) -> np.ndarray | None:
        """Return the (n,) seed of the solver [rad] or [m]; None for the learned one."""
        learned = settings.options.seed_source != 'given' and not len(self.given)
        return None if learned else self.posture[self.chosen.indices]


def chain_start(
    request: PositionIKRequest,
    goal: PoseGoal,
    group: ArmGroup,
    measured: MeasuredState,
    settings: SolverSettings,
    frames: Frames,
) -> ChainStart:
    """
    Return the start of a request's solves.

    :param frames: frames besides the links of the robot.
    :raises RequestError: INVALID_LINK_NAME, or INVALID_ROBOT_STATE.
    """
    check_whole([goal], settings)
    try:
        chosen = group.chain_solvers[goal.link, settings]
    except ChainError as error:
        raise RequestError(ErrorCode.INVALID_LINK_NAME, f'ik_link_name: {error}') from error
    posture, given = start_posture(measured, request.robot_state, chosen.indices)
    # Before frames are looked up, so that they are where the answer says that they are.
    outside = bring_inside(measured.arm, chosen, posture, given, told=True)
    return ChainStart(
        group,
        chosen,
        posture,
        given,
        outside,
        resolver_of(measured, request.robot_state, posture, frames),
        assumed_note(measured, chosen.indices, given, 'in the seed'),
    )


def check_whole(goals: Iterable[PoseGoal], settings: SolverSettings) -> None:
    """
    Refuse poses of attached objects where axes are free: a point beside the link would move.

    :raises RequestError: INVALID_LINK_NAME.
    """
    for goal in goals:
        if goal.T_link_point is not None and 0.0 in settings.options.task_weights:
            raise RequestError(
                ErrorCode.INVALID_LINK_NAME,
                f'{quote(goal.link)} carries the object that {goal.field} is for, which needs '
                'solver.task_weights without 0',
            )


def constrained_solver(
    chosen: PreparedSolver, constraints: Constraints, arm: Arm, posture: np.ndarray
) -> Solver:
    """
    Return the solver for the joint limits that joint constraints leave.

    :param posture: (m,) full posture of the start [rad] or [m].
    :raises RequestError: INVALID_GOAL_CONSTRAINTS.
    """
    solver = chosen.solver
    if not constraints.joint_constraints:
        return solver
    chain = constrained_chain(
        chosen.chain,
        constraints.joint_constraints,
        arm.postures.by_name(posture),
        solver.options.joint_limits,
    )
    return Solver(chain, solver.name, solver.options)
