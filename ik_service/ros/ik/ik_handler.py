"""The service ``compute_ik``: from a request to its answer, without a node."""

from __future__ import annotations

import array
from collections.abc import Callable
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import PositionIKRequest, RobotState
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.arm.arm import Arm, Limb, SolverSettings
from ik_service.arm.joint_state import MeasuredState
from ik_service.common.quoting import quote
from ik_service.common.request_statistics import SolveStatistics
from ik_service.exceptions import ChainError
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode, RequestError, write_code
from ik_service.ros.ik.constraints import constrained_chain, has_constraints
from ik_service.ros.ik.frames import in_base
from ik_service.ros.ik.handler import Handler
from ik_service.ros.ik.seed import assumed_joints, seed_posture
from ik_service.solvers.result import IkResult, IkStatus
from ik_service.solvers.solver import Solver

_CODES = {
    IkStatus.SUCCESS: ErrorCode.SUCCESS,
    IkStatus.TIMED_OUT: ErrorCode.TIMED_OUT,
}

LONGEST_TIMEOUT = 60.0
"""Of a solve [s], that of the parameter solver.timeout: no request keeps a thread for longer."""


@dataclass(frozen=True)
class Outcome:
    """
    What came of a request.

    :ivar code: what the client is told.
    :ivar message: the same in a sentence.
    :ivar posture: (m,) the full posture that reaches the target [rad] or [m]; None without one.
    :ivar result: what the solver said; None when it was not asked.
    """

    code: ErrorCode
    message: str
    posture: np.ndarray | None = None
    result: IkResult | None = None


class IkHandler(Handler):
    """
    Answers ``compute_ik`` as MoveIt does, and says why where MoveIt is silent.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`.

    :param settings: returns the solver's settings as they are now.
    :param others: those of :class:`Handler`.
    """

    def __init__(self, settings: Callable[[], SolverSettings], *others: object) -> None:
        super().__init__(*others)
        self._settings = settings
        self.statistics = SolveStatistics()

    def handle(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response
    ) -> GetPositionIK.Response:
        """Fill in the response to a request and return it."""
        measured = self._state()
        outcome = self._outcome(request.ik_request, measured)
        if outcome.posture is not None:
            self._write_solution(response.solution, measured.arm, outcome.posture)
        write_code(response.error_code, outcome.code, outcome.message)
        solve_time = outcome.result.solve_time if outcome.result else None
        self.statistics.add(outcome.code.name, solve_time)
        return response

    def _outcome(self, request: PositionIKRequest, measured: MeasuredState) -> Outcome:
        try:
            return self._solve(request, measured)
        except Exception as error:
            return Outcome(*self._told(error))

    def _solve(self, request: PositionIKRequest, measured: MeasuredState) -> Outcome:
        arm = measured.arm
        if request.group_name and request.group_name not in arm.group_names:
            raise RequestError(
                ErrorCode.INVALID_GROUP_NAME,
                f'there is no group {quote(request.group_name)}; groups, which all mean the same '
                f'chain: {", ".join(arm.group_names)}',
            )
        link, target, field = _target_of(request)
        settings = self._settings()
        limb = _limb(arm, link, settings)
        posture, given = seed_posture(measured, request.robot_state)
        # Before frames are looked up, so that they are where the answer says that they are.
        outside = _bring_inside(arm, limb, posture, given)
        T = matrix_from_pose(target.pose, f'{field}.pose')
        T_base_target = in_base(arm, target.header.frame_id, T, posture, self._tf)
        timeout = _timeout(request)
        solver = _constrained(limb, request, settings, measured, posture)
        learned = settings.options.seed_source != 'given' and not len(given)
        seed = None if learned else posture[limb.indices]
        result = solver.solve(T_base_target, seed, timeout=timeout)
        notes = _notes(request, assumed_joints(measured, limb.indices, given))
        return self._judged(result, arm, limb, posture, notes, outside)

    def _judged(
        self,
        result: IkResult,
        arm: Arm,
        limb: Limb,
        posture: np.ndarray,
        notes: str,
        outside: list[str],
    ) -> Outcome:
        code = _CODES.get(result.status, ErrorCode.NO_IK_SOLUTION)
        if not result.success:
            return Outcome(code, result.reason + notes, None, result)
        posture[limb.indices] = result.q
        arm.postures.complete(posture)
        outside += _bring_inside(arm, limb, posture)  # what was measured there
        if outside:
            notes += f'; brought inside their limits: {", ".join(outside)}'
        return Outcome(code, result.reason + notes, posture, result)

    def _write_solution(self, solution: RobotState, arm: Arm, posture: np.ndarray) -> None:
        joints = solution.joint_state
        joints.header.frame_id = arm.robot.root_link
        joints.header.stamp = self._now()
        joints.name = list(arm.postures.names)
        joints.position = array.array('d', posture.tobytes())


def _bring_inside(
    arm: Arm, limb: Limb, posture: np.ndarray, among: np.ndarray | None = None
) -> list[str]:
    """Bring joints beside the chain inside their limits, unless they are ignored; name them."""
    if limb.solver.options.joint_limits == 'ignore':
        return []
    return arm.postures.bring_inside(posture, limb.indices, among)


def _target_of(request: PositionIKRequest) -> tuple[str, PoseStamped, str]:
    """Return the link, the pose and the pose's field, by MoveIt's rules of precedence."""
    poses, links = request.pose_stamped_vector, request.ik_link_names
    if not poses:
        return request.ik_link_name, request.pose_stamped, 'pose_stamped'
    if len(poses) > 1 and len(links) != len(poses):
        raise RequestError(
            ErrorCode.INVALID_LINK_NAME,
            f'pose_stamped_vector has {len(poses)} poses, but ik_link_names has {len(links)} '
            'links; each pose needs one',
        )
    if len(poses) > 1:
        raise RequestError(
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            f'pose_stamped_vector has {len(poses)} poses; one link at a time can be placed',
        )
    return links[0] if links else request.ik_link_name, poses[0], 'pose_stamped_vector[0]'


def _limb(arm: Arm, link: str, settings: SolverSettings) -> Limb:
    try:
        return arm.limb(link, settings)
    except ChainError as error:
        raise RequestError(ErrorCode.INVALID_LINK_NAME, f'ik_link_name: {error}') from error


def _seconds(request: PositionIKRequest) -> float:
    return request.timeout.sec + 1e-9 * request.timeout.nanosec


def _timeout(request: PositionIKRequest) -> float | None:
    """Return the time for the solve [s], bounded; None is the default."""
    seconds = _seconds(request)
    if seconds < 0.0:
        raise RequestError(
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            f'timeout is {seconds:g} s; it has to be positive, or 0 for the default',
        )
    return min(seconds, LONGEST_TIMEOUT) or None


def _constrained(
    limb: Limb,
    request: PositionIKRequest,
    settings: SolverSettings,
    measured: MeasuredState,
    posture: np.ndarray,
) -> Solver:
    """Return the solver, for the limits that the constraints leave."""
    if not has_constraints(request.constraints):
        return limb.solver
    positions = measured.arm.postures.by_name(posture)
    chain = constrained_chain(
        limb.chain, request.constraints, positions, settings.options.joint_limits
    )
    return Solver(chain, settings.name, settings.options)


def _notes(request: PositionIKRequest, assumed: list[str]) -> str:
    """Return what the client should know besides the outcome."""
    notes = ''
    seconds = _seconds(request)
    if seconds > LONGEST_TIMEOUT:
        notes += f'; the timeout of {seconds:g} s is cut to {LONGEST_TIMEOUT:g} s'
    if assumed:
        notes += (
            f'; neither measured nor in the seed, so started in the middle of the range: '
            f'{", ".join(assumed)}'
        )
    if request.avoid_collisions:
        notes += '; collisions are not checked'
    if request.robot_state.attached_collision_objects:
        notes += '; attached objects are not considered'
    return notes
