"""Answers to the poses of a ``compute_ik_batch`` request, and how they stand in the response."""

from __future__ import annotations

import array

from builtin_interfaces.msg import Time
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.arm.arm import Arm
from ik_service.ros.requests.errors import ErrorCode

_LEFT = 'not solved: the time of the call was up before it was its turn'


class BatchAnswers:
    """
    Error code, message and full posture of each pose.

    :param count: the number of poses.
    :param arm: the arm.
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
        """
        Take the full postures of poses that are solved.

        :param rows: (k,) numbers of the poses.
        :param postures: (k, m) [rad] or [m].
        """
        self._postures[rows] = postures
        self.codes[rows] = ErrorCode.SUCCESS
        for row in rows.tolist():
            self.messages[row] = ''

    def refuse(self, row: int, code: ErrorCode, message: str) -> None:
        """
        Take why there is no posture for a pose.

        :param row: number of the pose.
        :param code: the error code.
        :param message: the reason.
        """
        self.codes[row] = code
        self.messages[row] = message

    def write(self, response: GetCartesianPath.Response, stamp: Time) -> None:
        """
        Write the answers to a response, the postures row after row.

        :param response: the response.
        :param stamp: time of the answer.
        """
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
