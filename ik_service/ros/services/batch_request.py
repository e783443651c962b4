"""Content of a ``compute_ik_batch`` request: a ``compute_ik`` request for each of its poses."""

from __future__ import annotations

import array
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import PositionIKRequest, RobotState
from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.joint_state import FARTHEST
from ik_service.common.transforms import inverse_transform, UNIT_TOLERANCE
from ik_service.ros.common.conversions import matrices_from_poses
from ik_service.ros.requests.chain_start import ChainStart
from ik_service.ros.requests.errors import ErrorCode, RequestError
from ik_service.ros.requests.goals import PoseGoal

MOST_POSES = 10_000
"""Poses of a request."""
_FARTHEST_POSE = 1e6  # beyond, the matrix of a pose loses its precision [m]


@dataclass(frozen=True)
class BatchRequest:
    """
    Poses and seeds of a request.

    :ivar question: what holds for all poses, with the seed of the first row that has a sound one.
    :ivar request: the request.
    :ivar poses: (N, 7) positions [m] and quaternions (x, y, z, w) as given.
    :ivar seeds: (N, k) a seed for each pose [rad] or [m]; None where one is for all.
    """

    question: PositionIKRequest
    request: GetCartesianPath.Request
    poses: np.ndarray
    seeds: np.ndarray | None

    @classmethod
    def of(cls, request: GetCartesianPath.Request) -> BatchRequest:
        """
        Return what a request asks for.

        :param request: the request.
        :raises RequestError: FAILURE for more than :data:`MOST_POSES`.
        """
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
        """
        Make the seed of a row that of the question.

        :param row: number of the pose.
        """
        if self.seeds is not None:
            joints = self.question.robot_state.joint_state
            joints.position = array.array('d', self.seeds[row].tobytes())

    def goals(self, row: int, common: PoseGoal) -> list[PoseGoal]:
        """
        Return what the question asks for with the pose of a row.

        :param row: number of the pose.
        :param common: link and frame of all.
        """
        pose = PoseStamped(header=common.pose.header, pose=self.request.waypoints[row])
        return [PoseGoal(common.link, pose, f'waypoints[{row}]', common.T_link_point)]

    def ordinary(self, arm: Arm, start: ChainStart) -> np.ndarray:
        """
        Return which rows differ from the question in ordinary poses and seeds of the chain only.

        The others have to be asked one by one: they may be at fault, or need more than a solve.

        :param arm: the arm.
        :param start: start of the solves.
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
        T = matrices_from_poses(self.poses[rows])
        if goal.T_link_point is not None:
            T = T @ inverse_transform(goal.T_link_point)
        return T if T_base_frame is None else T_base_frame @ T

    def seeds_of(self, rows: np.ndarray, arm: Arm, start: ChainStart) -> np.ndarray | None:
        """
        Return the seeds of some rows for the chain; None where one is for all.

        :param rows: (N,) bool, which are :meth:`ordinary`.
        :param arm: the arm.
        :param start: start of the solves.
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


def _seeds_of(state: RobotState, count: int) -> np.ndarray | None:
    """Return the rows of a state that has as many positions for each joint as there are poses."""
    names, positions = state.joint_state.name, state.joint_state.position
    if count < 2 or not names or len(positions) != count * len(names):
        return None
    return np.array(positions).reshape(count, len(names))
