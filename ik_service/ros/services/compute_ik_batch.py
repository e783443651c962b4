"""Handler of the service ``compute_ik_batch``: many poses, each solved as by ``compute_ik``."""

from __future__ import annotations

import time

from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.arm import MeasuredState
from ik_service.arm.compilation import BatchPreparation
from ik_service.exceptions import CompilationError
from ik_service.ros.requests.background_handler import IkRowsHandler
from ik_service.ros.requests.chain_start import chain_start, ChainStart, constrained_solver
from ik_service.ros.requests.errors import ErrorCode, RequestError
from ik_service.ros.requests.goals import group_of, PoseGoal
from ik_service.ros.requests.ik_answer import bring_inside, code_of
from ik_service.ros.requests.service_handler import Around
from ik_service.ros.services.batch_answers import BatchAnswers
from ik_service.ros.services.batch_request import BatchRequest
from ik_service.ros.services.compute_ik import IkHandler, note_of_assumed, places_links
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.result import IkBatchResult, IkStatus

LONGEST_CALL = 2.0
"""Time after which no further pose of a call is begun [s]."""


class BatchHandler(IkRowsHandler):
    """
    Handler of ``compute_ik_batch``, which answers every pose as ``compute_ik`` does.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`. The work is
    done in threads of its own, which give way to others.

    :param ik: handler of ``compute_ik``, with whose settings and world it solves.
    :param around: as for :class:`~ik_service.ros.requests.service_handler.ServiceHandler`.
    :ivar preparation: compilation of the kernels.
    """

    work = 'batches'

    def __init__(self, ik: IkHandler, *around: *Around) -> None:
        super().__init__(ik, *around)
        self.preparation = BatchPreparation()

    def _answer(
        self,
        request: GetCartesianPath.Request,
        measured: MeasuredState,
        response: GetCartesianPath.Response,
    ) -> str:
        """Fill in the answers and return the message."""
        batch = BatchRequest.of(request)
        question = batch.question
        group = group_of(measured.arm, question.group_name)
        common = self._ik.goals(question, measured)[0]
        answers = BatchAnswers(len(batch.poses), measured.arm)
        left = np.ones(len(batch.poses), bool)
        notes: list[str] = []
        deadline = time.monotonic() + LONGEST_CALL
        if not places_links(question, [common], group):
            around = measured, self._ik.settings, self._frames
            start = chain_start(question, common, group, *around)
            try:
                self.preparation.finish(start.chosen.solver)
            except CompilationError as error:
                raise RequestError(ErrorCode.FAILURE, str(error)) from error
            deadline = time.monotonic() + LONGEST_CALL
            left, notes = self._solve_rows(batch, common, start, measured, answers, deadline)
        for row in np.flatnonzero(left).tolist():
            if time.monotonic() > deadline and (answers.codes != ErrorCode.PREEMPTED).any():
                break
            self._solve_alone(batch, row, common, measured, answers)
        answers.write(response, self._clock.now().to_msg())
        count = f'{int(answers.solved.sum())} of {len(batch.poses)} poses are solved'
        return '; '.join([count, *notes])

    def _solve_rows(
        self,
        batch: BatchRequest,
        goal: PoseGoal,
        start: ChainStart,
        measured: MeasuredState,
        answers: BatchAnswers,
        deadline: float,
    ) -> tuple[np.ndarray, list[str]]:
        """Solve the ordinary rows together; return which are left, and remarks for the client."""
        question, arm, group = batch.question, measured.arm, start.group
        T_base_frame = start.frames.base_from_frame(group.base_link, goal.frame_id)
        solver = constrained_solver(start.chosen, question.constraints, arm, start.posture)
        avoided = self._ik.avoided(question, arm, start.chosen, start.posture)
        notes = [*note_of_assumed(start.assumed), *start.frames.notes, *avoided.notes]
        rows = batch.ordinary(arm, start)
        if batch.seeds is not None and _follows_seed(goal, start, measured):
            rows[:] = False
        if not rows.any():
            return ~rows, notes
        seeds = batch.seeds_of(rows, arm, start)
        result = solve_ik_batch(
            solver.chain,
            batch.targets(rows, goal, T_base_frame),
            start.seed(self._ik.settings) if seeds is None else seeds,
            solver.name,
            solver.options,
            lambda done, total: time.monotonic() < deadline,
            collisions=avoided.test(solver.chain.joint_names),
        )
        outside = start.outside + _write(result, np.flatnonzero(rows), start, measured, answers)
        if outside:
            notes.append(f'brought inside their limits: {", ".join(outside)}')
        return ~rows, notes

    def _solve_alone(
        self,
        batch: BatchRequest,
        row: int,
        common: PoseGoal,
        measured: MeasuredState,
        answers: BatchAnswers,
    ) -> None:
        """Answer a pose by the handler of single requests."""
        batch.seed(row)
        try:
            outcome = self._ik.outcome(batch.question, measured, batch.goals(row, common))
        except Exception as error:
            answers.refuse(row, *self._code_and_message(error))
            return
        if outcome.posture is None or outcome.code is not ErrorCode.SUCCESS:
            answers.refuse(row, outcome.code, outcome.message)
        else:
            answers.solve(np.array([row]), outcome.posture)


def _follows_seed(goal: PoseGoal, start: ChainStart, measured: MeasuredState) -> bool:
    """Return whether the frame of the poses may stand where the seed of each one puts it."""
    arm, base = measured.arm, start.group.base_link
    frame = goal.frame_id.lstrip('/') or arm.root_link
    fixed = frame in arm.link_frames.beside(base)
    return not fixed and len(measured.unmeasured(start.chosen.indices)) > 0


def _write(
    result: IkBatchResult,
    rows: np.ndarray,
    start: ChainStart,
    measured: MeasuredState,
    answers: BatchAnswers,
) -> list[str]:
    """Write the answers to some rows; return the joints that were brought inside their limits."""
    posture, arm = start.posture.copy(), measured.arm
    outside = bring_inside(arm, start.chosen, posture)
    found = np.flatnonzero(result.success)
    postures = np.tile(posture, (len(found), 1))
    postures[:, start.chosen.indices] = result.q[found]
    arm.postures.complete(postures.T)
    answers.solve(rows[found], postures)
    for number in np.flatnonzero(~result.success).tolist():
        status = result.status[number]
        if status is not IkStatus.INTERRUPTED:
            answers.refuse(int(rows[number]), code_of(status), result.reason(number))
    return outside
