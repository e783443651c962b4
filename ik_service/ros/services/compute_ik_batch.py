"""Handler of the service ``compute_ik_batch``: many poses, each solved as by ``compute_ik``."""

from __future__ import annotations

import array
from dataclasses import dataclass
import math
import time

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import PositionIKRequest, RobotState
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.arm.arm import Arm
from ik_service.arm.compilation import BatchPreparation
from ik_service.arm.measured_state import MeasuredState
from ik_service.arm.postures import FARTHEST
from ik_service.common.quaternions import UNIT_TOLERANCE
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import CompilationError
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.requests.goals import group_of, PoseGoal
from ik_service.ros.requests.service_handler import bring_inside, ServiceContext, ServiceHandler
from ik_service.ros.services.compute_ik import (
    chain_start,
    ChainStart,
    code_of,
    constrained_solver,
    IkHandler,
    places_links,
)
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.result import IkStatus

MOST_POSES = 10_000  # poses of a request
_FARTHEST_POSE = 1e6  # beyond, the matrix of a pose loses its precision [m]


@dataclass(frozen=True)
class BatchRequest:
    """
    Poses and seeds of a request.

    :ivar question: settings of all poses, with the seed of the first row that has a valid one.
    :ivar poses: (N, 7) positions [m] and quaternions (x, y, z, w) as given.
    :ivar seeds: (N, k) a seed for each pose [rad] or [m]; None where one is for all.
    """

    question: PositionIKRequest
    request: GetCartesianPath.Request
    poses: np.ndarray
    seeds: np.ndarray | None

    @classmethod
    def of(cls, request: GetCartesianPath.Request) -> BatchRequest:
        """Return the poses and seeds of a request; raises RequestError for too many."""
        count = len(request.waypoints)
        if count > MOST_POSES:
            raise RequestError(
                ErrorCode.FAILURE,
                f'waypoints has {count} elements; at most {MOST_POSES} are solved in one call',
            )
        question = PositionIKRequest(
            group_name=request.group_name,
            ik_link_name=request.link_name,
            robot_state=request.start_state,
            constraints=request.path_constraints,
            avoid_collisions=request.avoid_collisions,
        )
        question.pose_stamped.header.frame_id = request.header.frame_id
        seeds = _seeds_of(request.start_state, count)
        batch = cls(question, request, _rows_of(request), seeds)
        if seeds is not None:
            sound = np.abs(seeds).max(axis=1) <= FARTHEST
            batch.seed(int(np.argmax(sound)))
        return batch

    def seed(self, row: int) -> None:
        """Make the seed of a row that of the question."""
        if self.seeds is not None:
            joints = self.question.robot_state.joint_state
            joints.position = array.array('d', self.seeds[row].tobytes())

    def goals(self, row: int, common: PoseGoal) -> list[PoseGoal]:
        """Return the goals of the request with the pose of a row."""
        pose = PoseStamped(header=common.pose.header, pose=self.request.waypoints[row])
        return [PoseGoal(common.link, pose, f'waypoints[{row}]', common.T_link_point)]

    def ordinary(self, arm: Arm, start: ChainStart) -> np.ndarray:
        """
        Return which rows differ from the question in ordinary poses and seeds of the chain only.

        The others have to be asked one by one: they may be at fault, or need more than a solve.

        :returns: (N,) bool.
        """
        with np.errstate(invalid='ignore', over='ignore'):
            near = np.abs(self.poses[:, :3]).max(axis=1, initial=0.0) <= _FARTHEST_POSE
            lengths = np.sqrt((self.poses[:, 3:] ** 2).sum(axis=1))
            rows = near & (np.abs(lengths - 1.0) <= UNIT_TOLERANCE)
            if self.seeds is None:
                return rows
            columns, others = self._columns(arm, start)
            first = np.array(self.question.robot_state.joint_state.position)
            differs = (self.seeds != first) & ~(np.isnan(self.seeds) & np.isnan(first))
            sound = np.abs(self.seeds[:, columns]).max(axis=1, initial=0.0) <= FARTHEST
            return rows & sound & ~differs[:, others].any(axis=1)

    def targets(
        self, rows: np.ndarray, goal: PoseGoal, T_base_frame: np.ndarray | None
    ) -> np.ndarray:
        """
        Return the poses of some rows.

        :param rows: (N,) bool, which are :meth:`ordinary`.
        :param goal: link and frame of all.
        :param T_base_frame: (4, 4) [m]; None for the base itself.
        :returns: (k, 4, 4) T_base_link [m].
        """
        T = _matrices_from_poses(self.poses[rows])
        if goal.T_link_point is not None:
            T = T @ inverse_transform(goal.T_link_point)
        return T if T_base_frame is None else T_base_frame @ T

    def seeds_of(self, rows: np.ndarray, arm: Arm, start: ChainStart) -> np.ndarray | None:
        """
        Return the seeds of some rows for the chain; None where one is for all.

        :param rows: (N,) bool, which are :meth:`ordinary`.
        :returns: (k, n) [rad] or [m].
        """
        if self.seeds is None:
            return None
        columns, _ = self._columns(arm, start)
        indices = start.chosen.indices.tolist()
        named = arm.postures.indices(self.question.robot_state.joint_state.name).tolist()
        seeds = np.tile(start.posture[indices], (int(rows.sum()), 1))
        for column in columns:
            seeds[:, indices.index(named[column])] = self.seeds[rows, column]
        return seeds

    def _columns(self, arm: Arm, start: ChainStart) -> tuple[list[int], list[int]]:
        """Return the columns of the seeds that are joints of the chain, and those beside it."""
        chain = set(start.chosen.indices.tolist())
        placed = chain.union(arm.postures.dependent)
        named = arm.postures.indices(self.question.robot_state.joint_state.name).tolist()
        own = [column for column, index in enumerate(named) if index in chain]
        return own, [column for column, index in enumerate(named) if index not in placed]


def _rows_of(request: GetCartesianPath.Request) -> np.ndarray:
    rows = [
        (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
        for p, q in ((pose.position, pose.orientation) for pose in request.waypoints)
    ]
    return np.array(rows).reshape(-1, 7)


def _matrices_from_poses(poses: np.ndarray) -> np.ndarray:
    """
    Return many poses as matrices, each as
    :func:`~ik_service.ros.common.conversions.matrix_from_pose` does.

    :param poses: (N, 7) positions [m] and quaternions (x, y, z, w), of about unit length.
    :returns: (N, 4, 4).
    """
    norms = [math.hypot(*quaternion) for quaternion in poses[:, 3:].tolist()]
    x, y, z, w = poses[:, 3:].T / np.array(norms)
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    T = np.zeros((len(poses), 4, 4))
    T[:, 0, 0], T[:, 0, 1], T[:, 0, 2] = 1.0 - yy - zz, xy - wz, xz + wy
    T[:, 1, 0], T[:, 1, 1], T[:, 1, 2] = xy + wz, 1.0 - xx - zz, yz - wx
    T[:, 2, 0], T[:, 2, 1], T[:, 2, 2] = xz - wy, yz + wx, 1.0 - xx - yy
    T[:, :3, 3], T[:, 3, 3] = poses[:, :3], 1.0
    return T


def _seeds_of(state: RobotState, count: int) -> np.ndarray | None:
    """Return the rows of a state that has as many positions for each joint as there are poses."""
    names, positions = state.joint_state.name, state.joint_state.position
    if count < 2 or not names or len(positions) != count * len(names):
        return None
    return np.array(positions).reshape(count, len(names))


_LEFT = 'not solved: the time of the call was up before it was its turn'


class BatchAnswers:
    """
    Error code, message and full posture of each pose.

    :ivar codes: (N,) error codes; PREEMPTED of poses that are not solved yet.
    :ivar messages: the reason of each code; empty of poses that are solved.
    """

    def __init__(self, count: int, arm: Arm) -> None:
        self._arm = arm
        self._postures = np.full((count, len(arm.postures.names)), np.nan)
        self.codes = np.full(count, float(ErrorCode.PREEMPTED))
        self.messages = [_LEFT] * count

    @property
    def solved(self) -> np.ndarray:
        """Mask of the solved poses (N,)."""
        return self.codes == ErrorCode.SUCCESS

    def solve(self, rows: np.ndarray, postures: np.ndarray) -> None:
        """Take the full postures (k, m) of poses (k,) that are solved."""
        self._postures[rows] = postures
        self.codes[rows] = ErrorCode.SUCCESS
        for row in rows.tolist():
            self.messages[row] = ''

    def solve_chain(self, rows: np.ndarray, q: np.ndarray, start: ChainStart) -> list[str]:
        """
        Answer rows with postures of the chain that is solved for.

        :param q: (r, n) its joint vectors [rad] or [m].
        :returns: the other joints that are brought inside their limits, with where they were.
        """
        posture = start.posture.copy()
        outside = bring_inside(self._arm, start.chosen, posture)
        postures = np.tile(posture, (len(q), 1))
        postures[:, start.chosen.indices] = q
        self._arm.postures.complete(postures.T)
        self.solve(rows, postures)
        return outside

    def refuse(self, row: int, code: ErrorCode, message: str) -> None:
        """Take why there is no posture for a pose."""
        self.codes[row] = code
        self.messages[row] = message

    def write(self, response: GetCartesianPath.Response, stamp: Time) -> None:
        """Write the answers to a response, the postures row after row."""
        outcomes = response.start_state.joint_state
        outcomes.name = self.messages
        outcomes.effort = array.array('d', self.codes.tobytes())
        trajectory = response.solution.joint_trajectory
        trajectory.header.frame_id, trajectory.header.stamp = self._arm.root_link, stamp
        trajectory.joint_names = list(self._arm.postures.names)
        # One array for all: a point for each pose would take as long as its solve.
        rows = array.array('d', self._postures.tobytes())
        trajectory.points = [JointTrajectoryPoint(positions=rows)]
        response.fraction = float(self.solved.mean()) if len(self.codes) else 1.0


LONGEST_CALL = 2.0  # time after which no further pose of a call is begun [s]


class BatchHandler(ServiceHandler):
    """
    Handler of ``compute_ik_batch``, which answers every pose as ``compute_ik`` does.

    :param ik: handler of ``compute_ik``, with whose settings and world it solves.
    """

    background = 'batches'

    def __init__(self, context: ServiceContext, ik: IkHandler) -> None:
        super().__init__(context)
        self._ik = ik
        self.preparation = BatchPreparation()

    def _answer(
        self,
        request: GetCartesianPath.Request,
        measured: MeasuredState,
        response: GetCartesianPath.Response,
    ) -> str:
        batch = BatchRequest.of(request)
        question = batch.question
        group = group_of(measured.arm, question.group_name)
        common = self._ik.goals(question, measured)[0]
        answers = BatchAnswers(len(batch.poses), measured.arm)
        left = np.ones(len(batch.poses), bool)
        notes: list[str] = []
        deadline = time.monotonic() + LONGEST_CALL
        if not places_links(question, [common], group):
            settings = self._ik.settings
            start = chain_start(question, common, group, measured, settings, self._frames)
            try:
                self.preparation.finish(start.chosen.solver)
            except CompilationError as error:
                raise RequestError(ErrorCode.FAILURE, str(error)) from error
            deadline = time.monotonic() + LONGEST_CALL
            left, notes = self._solve_rows(batch, common, start, measured, answers, deadline)
        for row in np.flatnonzero(left).tolist():
            if time.monotonic() > deadline and (answers.codes != ErrorCode.PREEMPTED).any():
                break
            batch.seed(row)
            try:
                outcome = self._ik.outcome(question, measured, batch.goals(row, common))
            except Exception as error:
                answers.refuse(row, *self._code_and_message(error))
                continue
            if outcome.posture is None or outcome.code is not ErrorCode.SUCCESS:
                answers.refuse(row, outcome.code, outcome.message)
            else:
                answers.solve(np.array([row]), outcome.posture)
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
        test, unchecked = self._avoidance(
            question, question.robot_state, measured, start.chosen, start.posture
        )
        notes = [*start.assumed, *start.frames.notes, *unchecked]
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
            collisions=test(solver.chain.joint_names),
        )
        numbers, solved = np.flatnonzero(rows), result.success
        outside = start.outside + answers.solve_chain(numbers[solved], result.q[solved], start)
        for number in np.flatnonzero(~solved).tolist():
            status = result.status[number]
            if status is not IkStatus.INTERRUPTED:
                answers.refuse(int(numbers[number]), code_of(status), result.reason(number))
        if outside:
            notes.append(f'brought inside their limits: {", ".join(outside)}')
        return ~rows, notes


def _follows_seed(goal: PoseGoal, start: ChainStart, measured: MeasuredState) -> bool:
    """Return whether the frame of the poses may stand where the seed of each one puts it."""
    arm, base = measured.arm, start.group.base_link
    frame = goal.frame_id.lstrip('/') or arm.root_link
    fixed = frame in arm.link_frames.beside(base)
    return not fixed and len(measured.unmeasured(start.chosen.indices)) > 0
