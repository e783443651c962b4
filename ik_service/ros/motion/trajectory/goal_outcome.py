"""Outcomes of an action's goal, and the error codes for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from control_msgs.action import FollowJointTrajectory
from moveit_msgs.msg import MoveItErrorCodes

from ik_service.exceptions import IkServiceError
from ik_service.motion.playback.trajectory_goal import TrajectoryEnd, TrajectoryOutcome


class GoalEnd(Enum):
    """Outcome of a goal."""

    SUCCEEDED = 'the arm is at the end of the trajectory'
    CANCELED = 'it was canceled'
    INVALID = 'the trajectory is invalid'
    INVALID_JOINTS = 'the trajectory names the wrong joints'
    OLD_STAMP = 'the trajectory has already ended by its stamp'
    OFF_PATH = 'the arm left the path tolerance'
    OFF_GOAL = 'the arm did not come within the goal tolerance'
    REFUSED = 'the arm may not be moved now'
    STOPPED = 'aborted'
    PREEMPTED = 'preempted by a stop of all motion, or by a newer goal'


_RESULT = FollowJointTrajectory.Result
CONTROL_CODES = {
    GoalEnd.SUCCEEDED: _RESULT.SUCCESSFUL,
    GoalEnd.CANCELED: _RESULT.SUCCESSFUL,
    GoalEnd.INVALID: _RESULT.INVALID_GOAL,
    GoalEnd.INVALID_JOINTS: _RESULT.INVALID_JOINTS,
    GoalEnd.OLD_STAMP: _RESULT.OLD_HEADER_TIMESTAMP,
    GoalEnd.OFF_PATH: _RESULT.PATH_TOLERANCE_VIOLATED,
    GoalEnd.OFF_GOAL: _RESULT.GOAL_TOLERANCE_VIOLATED,
    GoalEnd.REFUSED: _RESULT.INVALID_GOAL,
    GoalEnd.STOPPED: _RESULT.INVALID_GOAL,
    GoalEnd.PREEMPTED: _RESULT.INVALID_GOAL,
}
"""
Codes of control_msgs/FollowJointTrajectory, which has none for a stop or a refusal: it is the one
with which joint_trajectory_controller aborts a goal that another one has replaced.
"""

_OF_CONTROL_CODES = {
    _RESULT.SUCCESSFUL: GoalEnd.SUCCEEDED,
    _RESULT.INVALID_GOAL: GoalEnd.INVALID,
    _RESULT.INVALID_JOINTS: GoalEnd.INVALID_JOINTS,
    _RESULT.OLD_HEADER_TIMESTAMP: GoalEnd.OLD_STAMP,
    _RESULT.PATH_TOLERANCE_VIOLATED: GoalEnd.OFF_PATH,
    _RESULT.GOAL_TOLERANCE_VIOLATED: GoalEnd.OFF_GOAL,
}

MOVEIT_CODES = {
    GoalEnd.SUCCEEDED: MoveItErrorCodes.SUCCESS,
    GoalEnd.CANCELED: MoveItErrorCodes.PREEMPTED,
    GoalEnd.INVALID: MoveItErrorCodes.INVALID_MOTION_PLAN,
    GoalEnd.INVALID_JOINTS: MoveItErrorCodes.INVALID_MOTION_PLAN,
    GoalEnd.OLD_STAMP: MoveItErrorCodes.INVALID_MOTION_PLAN,
    GoalEnd.OFF_PATH: MoveItErrorCodes.CONTROL_FAILED,
    GoalEnd.OFF_GOAL: MoveItErrorCodes.CONTROL_FAILED,
    GoalEnd.REFUSED: MoveItErrorCodes.CONTROL_FAILED,
    GoalEnd.STOPPED: MoveItErrorCodes.CONTROL_FAILED,
    GoalEnd.PREEMPTED: MoveItErrorCodes.PREEMPTED,
}
"""Codes of moveit_msgs/MoveItErrorCodes."""

_OF_TRAJECTORY_ENDS = {
    TrajectoryEnd.REACHED: GoalEnd.SUCCEEDED,
    TrajectoryEnd.CANCELED: GoalEnd.CANCELED,
    TrajectoryEnd.OFF_PATH: GoalEnd.OFF_PATH,
    TrajectoryEnd.OFF_GOAL: GoalEnd.OFF_GOAL,
    TrajectoryEnd.STOPPED: GoalEnd.STOPPED,
    TrajectoryEnd.PREEMPTED: GoalEnd.PREEMPTED,
}


@dataclass(frozen=True)
class GoalOutcome:
    """
    How a goal has ended, and why.

    :ivar end: how.
    :ivar text: why, in a sentence.
    """

    end: GoalEnd
    text: str

    @classmethod
    def of(cls, outcome: TrajectoryOutcome) -> GoalOutcome:
        """
        Return the outcome of a goal from that of its trajectory.

        :param outcome: the outcome of the trajectory.
        """
        return cls(_OF_TRAJECTORY_ENDS[outcome.end], outcome.reason)

    @classmethod
    def of_control_code(cls, code: int, text: str) -> GoalOutcome:
        """
        Return the outcome of a goal from the result of a controller.

        :param code: its error code.
        :param text: its error string.
        """
        end = _OF_CONTROL_CODES.get(code, GoalEnd.STOPPED)
        return cls(end, text or f'{end.value} (error code {code})')


CANCELED_EARLY = GoalOutcome(GoalEnd.CANCELED, 'it was canceled before it began')
"""Outcome of a goal that was canceled before anything moved."""


def preempted(reason: str) -> GoalOutcome:
    """
    Return the outcome of a goal that a stop of all motion has ended.

    :param reason: what has stopped it.
    """
    return GoalOutcome(GoalEnd.PREEMPTED, reason)


class GoalRefusedError(IkServiceError):
    """
    Goal that is refused before anything moves.

    :ivar outcome: why.
    """

    def __init__(self, end: GoalEnd, text: str) -> None:
        super().__init__(text)
        self.outcome = GoalOutcome(end, text)
