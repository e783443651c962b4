"""Handler of the service ``compute_ik``: from a request to its answer."""

from __future__ import annotations

import array
from collections.abc import Callable
from dataclasses import dataclass

from builtin_interfaces.msg import Time
from moveit_msgs.msg import Constraints, PositionIKRequest, RobotState
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.arm.group import ArmGroup, PreparedSolver, SolverSettings
from ik_service.arm.task_solving import moving_only, solve_tasks
from ik_service.arm.tree_preparation import TreePreparation
from ik_service.exceptions import ChainError, CompilationError, ConstraintError
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.common.frames import Frames
from ik_service.ros.common.solve_record import SolveRecord
from ik_service.ros.ik.goals import goals_together, group_of, joints_of, pose_goals, PoseGoal
from ik_service.ros.ik.joint_constraints import constrained_chain
from ik_service.ros.ik.link_constraints import bounds_of, moved_bounds
from ik_service.ros.ik.service_handler import (
    assumed_joints,
    RequestStatistics,
    require_arm,
    resolver_of,
    ServiceHandler,
    StampClock,
    start_posture,
    write_code,
)
from ik_service.solvers.result import IkResult, IkStatus
from ik_service.solvers.solver import Solver

_CODES = {
    IkStatus.SUCCESS: ErrorCode.SUCCESS,
    IkStatus.TIMED_OUT: ErrorCode.TIMED_OUT,
}

LONGEST_TIMEOUT = 60.0
"""Longest time of a solve [s], that of solver.timeout: no request keeps a thread for longer."""


@dataclass(frozen=True)
class Outcome:
    """
    Outcome of a request.

    :ivar code: the error code of the answer.
    :ivar message: the reason, in a sentence.
    :ivar posture: (m,) the full posture that reaches the target [rad] or [m]; None without one.
    :ivar result: the solver's result; None when there was no solve.
    :ivar solver: name of the method.
    """

    code: ErrorCode
    message: str
    posture: np.ndarray | None = None
    result: IkResult | None = None
    solver: str = ''


class IkHandler(ServiceHandler):
    """
    Handler of ``compute_ik``, which answers as MoveIt does, but with reasons.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`.

    :param settings: name and options of the solver.
    :param clock: fills in the stamps of answers.
    :param frames: frames besides the links of the robot; None for none.
    :param on_error: called with an unexpected exception.
    :param on_refused: called with the reason why a request could not be answered as it stood.
    :ivar settings: name and options of the solver; may be replaced at any time.
    :ivar trees: compilation for requests with several poses or tolerances.
    """

    def __init__(
        self,
        settings: SolverSettings,
        clock: StampClock,
        frames: Frames | None = None,
        on_error: Callable[[Exception], object] = lambda error: None,
        on_refused: Callable[[str], object] = lambda message: None,
    ) -> None:
        super().__init__(clock, frames, on_error, on_refused)
        self.settings = settings
        self.trees = TreePreparation()
        self.statistics = RequestStatistics(solves=True)

    def handle(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response
    ) -> GetPositionIK.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """
        measured = self.measured
        try:
            outcome = self._solve(request.ik_request, require_arm(measured))
        except Exception as error:
            outcome = Outcome(*self._code_and_message(error))
        solve = None
        if outcome.result is not None:
            now = self._clock.now()
            solve = SolveRecord(now, 'compute_ik', outcome.solver, outcome.result)
            if outcome.posture is not None and measured is not None:
                _write_solution(response.solution, measured.arm, outcome.posture, now.to_msg())
        write_code(response.error_code, outcome.code, outcome.message)
        self.statistics.add(outcome.code.name, solve)
        return response

    def _solve(self, request: PositionIKRequest, measured: MeasuredState) -> Outcome:
        arm = measured.arm
        group = group_of(arm, request.group_name)
        goals = pose_goals(request)
        if len(goals) > 1 or len(group.tip_links) > 1 or _limits_links(request.constraints):
            return self._solve_together(request, goals, group, measured)
        goal = goals[0]
        settings = self.settings
        chosen = _chain_solver(group, goal.link, settings)
        posture, given = start_posture(measured, request.robot_state, chosen.indices)
        # Before frames are looked up, so that they are where the answer says that they are.
        outside = _bring_inside(arm, chosen, posture, given)
        T = matrix_from_pose(goal.pose.pose, f'{goal.field}.pose')
        frames = resolver_of(measured, request.robot_state, posture, self._frames)
        T_base_target = frames.in_base(group.base_link, goal.pose.header.frame_id, T)
        seconds = _timeout(request)
        solver = chosen.solver
        if request.constraints.joint_constraints:
            solver = _constrained_solver(chosen, request.constraints, arm, posture)
        learned = settings.options.seed_source != 'given' and not len(given)
        seed = None if learned else posture[chosen.indices]
        result = solver.solve(T_base_target, seed, timeout=min(seconds, LONGEST_TIMEOUT) or None)
        notes = _notes(request, seconds, assumed_joints(measured, chosen.indices, given))
        if frames.notes:
            notes += '; ' + '; '.join(frames.notes)
        return _outcome_of(result, arm, chosen, posture, notes, outside)

    def _solve_together(
        self,
        request: PositionIKRequest,
        goals: list[PoseGoal],
        group: ArmGroup,
        measured: MeasuredState,
    ) -> Outcome:
        """Answer a request with several poses, or with constraints on links."""
        arm = measured.arm
        posture, given = start_posture(measured, request.robot_state, group.indices)
        outside = _bring_inside(arm, group, posture, given)
        seconds = _timeout(request)
        frames = resolver_of(measured, request.robot_state, posture, self._frames)

        def to_base(frame_id: str, T: np.ndarray) -> np.ndarray:
            return frames.in_base(group.base_link, frame_id, T)

        # A constraint on another link moves no joint beside the group.
        moving = joints_of(goals, arm, group)

        def narrow(prepared: PreparedSolver) -> Solver:
            self.trees.finish(prepared.solver)
            solver = _constrained_solver(prepared, request.constraints, arm, posture)
            return moving_only(solver, moving, posture[prepared.indices])

        poses = goals_together(goals, arm, group, posture, to_base)
        bounds = moved_bounds(bounds_of(request.constraints, arm, to_base), arm, group, posture)
        time = min(seconds, LONGEST_TIMEOUT) or self.settings.options.timeout
        try:
            found = solve_tasks(
                arm.link_frames.beside, group, self.settings, poses, bounds, posture, narrow, time
            )
        except ConstraintError as error:
            raise RequestError(ErrorCode.INVALID_GOAL_CONSTRAINTS, str(error)) from error
        except ChainError as error:
            raise RequestError(ErrorCode.INVALID_LINK_NAME, str(error)) from error
        except CompilationError as error:
            raise RequestError(ErrorCode.FAILURE, str(error)) from error
        chosen = found.prepared
        notes = _notes(request, seconds, assumed_joints(measured, chosen.indices, given))
        if found.loosened and found.result.success:
            notes += '; not the pose itself, but one within the tolerances of the constraints'
        notes += ''.join(f'; {note}' for note in frames.notes)
        return _outcome_of(found.result, arm, chosen, posture, notes, outside)


def _timeout(request: PositionIKRequest) -> float:
    """Return the time that a request gives [s]; 0 for the default."""
    seconds = request.timeout.sec + 1e-9 * request.timeout.nanosec
    if seconds < 0.0:
        raise RequestError(
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            f'timeout is {seconds:g} s; it has to be positive, or 0 for the default',
        )
    return seconds


def _outcome_of(
    result: IkResult,
    arm: Arm,
    chosen: PreparedSolver,
    posture: np.ndarray,
    notes: str,
    outside: list[str],
) -> Outcome:
    """Return the outcome of a solve; ``posture`` becomes that of the solution."""
    code, name = _CODES.get(result.status, ErrorCode.NO_IK_SOLUTION), chosen.solver.name
    if not result.success:
        return Outcome(code, result.reason + notes, None, result, name)
    posture[chosen.indices] = result.q
    arm.postures.complete(posture)
    outside += _bring_inside(arm, chosen, posture)  # measured outside their limits
    if outside:
        notes += f'; brought inside their limits: {", ".join(outside)}'
    return Outcome(code, result.reason + notes, posture, result, name)


def _write_solution(solution: RobotState, arm: Arm, posture: np.ndarray, stamp: Time) -> None:
    joints = solution.joint_state
    joints.header.frame_id = arm.root_link
    joints.header.stamp = stamp
    joints.name = list(arm.postures.names)
    joints.position = array.array('d', posture.tobytes())


def _chain_solver(group: ArmGroup, link: str, settings: SolverSettings) -> PreparedSolver:
    try:
        return group.chain_solvers[link, settings]
    except ChainError as error:
        raise RequestError(ErrorCode.INVALID_LINK_NAME, f'ik_link_name: {error}') from error


def _constrained_solver(
    chosen: PreparedSolver, constraints: Constraints, arm: Arm, posture: np.ndarray
) -> Solver:
    """Return the solver for the joint limits that joint constraints leave."""
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


def _limits_links(constraints: Constraints) -> bool:
    return bool(
        constraints.position_constraints
        or constraints.orientation_constraints
        or constraints.visibility_constraints
    )


def _bring_inside(
    arm: Arm,
    chosen: PreparedSolver | ArmGroup,
    posture: np.ndarray,
    among: np.ndarray | None = None,
) -> list[str]:
    """Bring joints beside the chain inside their limits, unless they are ignored; name them."""
    if isinstance(chosen, PreparedSolver) and chosen.solver.options.joint_limits == 'ignore':
        return []
    return arm.postures.bring_inside(posture, chosen.indices, among)


def _notes(request: PositionIKRequest, seconds: float, assumed: list[str]) -> str:
    """Return remarks for the client: what was cut, assumed, or is not considered."""
    notes = ''
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
