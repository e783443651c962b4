"""Handler of the service ``compute_ik``: from a request to its answer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from moveit_msgs.msg import Constraints, PositionIKRequest
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.compilation import TreePreparation
from ik_service.arm.group import ArmGroup, PreparedSolver, SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.arm.task_solving import moving_only, solve_tasks
from ik_service.common.quoting import quote
from ik_service.exceptions import ChainError, CompilationError, ConstraintError
from ik_service.ros.common.conversions import write_solution
from ik_service.ros.common.errors import ErrorCode, invalid_goal, invalid_link, RequestError
from ik_service.ros.requests.constraints import bounds_of, constrained_chain, moved_bounds
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.goals import (
    goals_together,
    group_of,
    held_with,
    joints_of,
    pose_goals,
    PoseGoal,
)
from ik_service.ros.requests.service_handler import (
    bring_inside,
    RequestStatistics,
    require_arm,
    resolver_of,
    ServiceContext,
    ServiceHandler,
    SolveRecord,
    start_notes,
    start_posture,
    write_code,
)
from ik_service.ros.scene.frames import Frames
from ik_service.solvers.result import IkResult, IkStatus
from ik_service.solvers.solver import Solver

_CODES = {
    IkStatus.SUCCESS: ErrorCode.SUCCESS,
    IkStatus.TIMED_OUT: ErrorCode.TIMED_OUT,
    IkStatus.IN_COLLISION: ErrorCode.GOAL_IN_COLLISION,
}

_WITH_CLOSEST = ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT


class SolvedRequest(NamedTuple):
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
) -> SolvedRequest:
    """Return the outcome of a solve; the posture (m,) becomes that of the solution."""
    code, name = code_of(result.status), chosen.solver.name
    told = result.success or (code in _WITH_CLOSEST and bool(np.isfinite(result.q).all()))
    if told:
        posture[chosen.indices] = result.q
        arm.postures.complete(posture)
        outside += bring_inside(arm, chosen, posture)  # measured outside their limits
    if outside:
        notes += f'; brought inside their limits: {", ".join(outside)}'
    return SolvedRequest(code, result.reason + notes, posture if told else None, result, name)


class ChainStart(NamedTuple):
    """
    Start of the solves of one chain.

    :ivar chosen: the chain to the link, with its solver.
    :ivar posture: (m,) full posture of the start [rad] or [m].
    :ivar given: indices of the joints that the request gives.
    :ivar outside: joints given outside their limits, with where they were.
    :ivar frames: poses in the frames that the request names.
    :ivar assumed: remarks on joints that are neither measured nor given, and on mimic joints that
        are given elsewhere.
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
    """Return the start of a request's solves; raises RequestError."""
    check_whole([goal], settings)
    try:
        chosen = group.chain_solvers[goal.link, settings]
    except ChainError as error:
        raise invalid_link(f'ik_link_name: {error}') from error
    state = request.robot_state
    posture, given = start_posture(measured, state, chosen.indices)
    # Before frames are looked up, so that they are where the answer says that they are.
    outside = bring_inside(measured.arm, chosen, posture, given, told=True)
    notes = start_notes(measured, state, posture, chosen.indices, given, 'in the seed')
    resolver = resolver_of(measured, state, posture, frames)
    return ChainStart(group, chosen, posture, given, outside, resolver, notes)


def check_whole(goals: Iterable[PoseGoal], settings: SolverSettings) -> None:
    """Refuse poses of attached objects where axes are free: a point beside the link would move."""
    for goal in goals:
        if goal.T_link_point is not None and 0.0 in settings.options.task_weights:
            raise invalid_link(
                f'{quote(goal.link)} carries the object that {goal.field} is for, which needs '
                'solver.task_weights without 0'
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


LONGEST_TIMEOUT = 60.0
"""Longest time of a solve [s], that of solver.timeout: no request keeps a thread for longer."""


class IkHandler(ServiceHandler):
    """
    Handler of ``compute_ik``, which answers as MoveIt does, but with reasons.

    :ivar settings: may be replaced at any time.
    :ivar trees: compilation for requests with several poses or tolerances.
    """

    def __init__(self, context: ServiceContext, settings: SolverSettings) -> None:
        super().__init__(context)
        self.settings = settings
        self.trees = TreePreparation()
        self.statistics = RequestStatistics(solves=True)

    def handle(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response
    ) -> GetPositionIK.Response:
        """Fill in the response to a request and return it."""
        measured = self.measured
        try:
            outcome = self.outcome(request.ik_request, require_arm(measured))
        except Exception as error:
            outcome = SolvedRequest(*self._code_and_message(error))
        solve = None
        if outcome.result is not None:
            now = self._clock.now()
            solve = SolveRecord(now, 'compute_ik', outcome.solver, outcome.result)
            if outcome.posture is not None and measured is not None:
                write_solution(response.solution, measured.arm, outcome.posture, now.to_msg())
        write_code(response.error_code, outcome.code, outcome.message)
        self.statistics.add(outcome.code.name, solve)
        return response

    def outcome(
        self,
        request: PositionIKRequest,
        measured: MeasuredState,
        goals: list[PoseGoal] | None = None,
    ) -> SolvedRequest:
        """Return the outcome of a request; raises RequestError where it has none as it stands."""
        arm = measured.arm
        group = group_of(arm, request.group_name)
        goals = goals or self.goals(request, measured)
        if places_links(request, goals, group):
            return self._solve_together(request, goals, group, measured)
        goal, settings = goals[0], self.settings
        start = chain_start(request, goal, group, measured, settings, self._frames)
        T = goal.matrix()
        T_base_target = start.frames.in_base(group.base_link, goal.frame_id, T)
        seconds = _timeout(request)
        chosen, posture = start.chosen, start.posture
        solver = constrained_solver(chosen, request.constraints, arm, posture)
        test, unchecked = self._avoidance(request, request.robot_state, measured, chosen, posture)
        result = solver.solve(
            T_base_target,
            start.seed(settings),
            timeout=min(seconds, LONGEST_TIMEOUT) or None,
            collisions=test(solver.chain.joint_names),
        )
        notes = _notes(goals, seconds, [*start.assumed, *start.frames.notes, *unchecked])
        return outcome_of(result, arm, chosen, posture, notes, start.outside)

    def goals(self, request: PositionIKRequest, measured: MeasuredState) -> list[PoseGoal]:
        """Return the poses that a request asks for; raises RequestError."""
        known, state = self._collisions.known, request.robot_state
        return pose_goals(request, held_with(state, known, measured, self._frames))

    def _solve_together(
        self,
        request: PositionIKRequest,
        goals: list[PoseGoal],
        group: ArmGroup,
        measured: MeasuredState,
    ) -> SolvedRequest:
        check_whole(goals, self.settings)
        arm = measured.arm
        posture, given = start_posture(measured, request.robot_state, group.indices)
        limited = self.settings.options.joint_limits != 'ignore'
        outside = bring_inside(arm, group, posture, given, told=limited)
        if limited:  # tips that are left out stay where an answer can have them
            lower, upper = group.chain.lower, group.chain.upper
            posture[group.indices] = np.clip(posture[group.indices], lower, upper)
            arm.postures.complete(posture)
        seconds = _timeout(request)
        frames = resolver_of(measured, request.robot_state, posture, self._frames)
        to_base = partial(frames.in_base, group.base_link)
        # A constraint on another link moves no joint beside the group.
        moving = joints_of(goals, arm, group)

        def narrow(prepared: PreparedSolver) -> Solver:
            self.trees.finish(prepared.solver)
            solver = constrained_solver(prepared, request.constraints, arm, posture)
            return moving_only(solver, moving, posture[prepared.indices])

        poses = goals_together(goals, arm, group, posture, to_base)
        bounds = moved_bounds(bounds_of(request.constraints, arm, to_base), arm, group, posture)
        time = min(seconds, LONGEST_TIMEOUT) or self.settings.options.timeout
        test, unchecked = self._avoidance(request, request.robot_state, measured, group, posture)
        try:
            found = solve_tasks(
                arm.link_frames.beside, group, self.settings, poses, bounds, posture, narrow, time,
                test,
            )  # fmt: skip
        except ConstraintError as error:
            raise invalid_goal(str(error)) from error
        except ChainError as error:
            raise invalid_link(str(error)) from error
        except CompilationError as error:
            raise RequestError(ErrorCode.FAILURE, str(error)) from error
        chosen, state = found.prepared, request.robot_state
        remarks = start_notes(measured, state, posture, chosen.indices, given, 'in the seed')
        if found.loosened and found.result.success:
            remarks.append('not the pose itself, but one within the tolerances of the constraints')
        notes = _notes(goals, seconds, [*remarks, *frames.notes, *unchecked])
        return outcome_of(found.result, arm, chosen, posture, notes, outside)


def _timeout(request: PositionIKRequest) -> float:
    """Return the time that a request gives [s]; 0 for the default."""
    seconds = request.timeout.sec + 1e-9 * request.timeout.nanosec
    if seconds < 0.0:
        raise invalid_goal(
            f'timeout is {seconds:g} s; it has to be positive, or 0 for the default'
        )
    return seconds


def places_links(request: PositionIKRequest, goals: list[PoseGoal], group: ArmGroup) -> bool:
    """Return whether a request places several links, or limits where links may be."""
    constraints = request.constraints
    return (
        len(goals) > 1
        or len(group.tip_links) > 1
        or bool(
            constraints.position_constraints
            or constraints.orientation_constraints
            or constraints.visibility_constraints
        )
    )


def _notes(goals: list[PoseGoal], seconds: float, others: list[str]) -> str:
    notes = [note for goal in goals for note in goal.notes()]
    if seconds > LONGEST_TIMEOUT:
        notes.append(f'the timeout of {seconds:g} s is cut to {LONGEST_TIMEOUT:g} s')
    return ''.join([f'; {note}' for note in (*notes, *others)])
