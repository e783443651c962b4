"""MoveIt's error codes, and the exception that carries one from a fault in a request."""

from __future__ import annotations

from enum import IntEnum

from ik_service.exceptions import IkServiceError


class ErrorCode(IntEnum):
    """The values of ``moveit_msgs/MoveItErrorCodes`` that the services answer with."""

    SUCCESS = 1
    FAILURE = 99999
    PLANNING_FAILED = -1
    INVALID_MOTION_PLAN = -2
    MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE = -3
    CONTROL_FAILED = -4
    TIMED_OUT = -6
    PREEMPTED = -7
    START_STATE_IN_COLLISION = -10
    START_STATE_VIOLATES_PATH_CONSTRAINTS = -11
    GOAL_IN_COLLISION = -12
    GOAL_VIOLATES_PATH_CONSTRAINTS = -13
    INVALID_GROUP_NAME = -15
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    COLLISION_CHECKING_UNAVAILABLE = -22
    NO_IK_SOLUTION = -31


class RequestError(IkServiceError):
    """A request that cannot be answered as it stands, with the error code of the answer."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def invalid_goal(message: str) -> RequestError:
    """Return the error for a goal that cannot be, or is not supported."""
    return RequestError(ErrorCode.INVALID_GOAL_CONSTRAINTS, message)


class UnmetConstraintError(RequestError):
    """Constraint that no posture of the group meets: beyond limits, or on joints of others."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_GOAL_CONSTRAINTS, message)


def invalid_link(message: str) -> RequestError:
    """Return the error for a link that cannot be placed, or poses and links that do not match."""
    return RequestError(ErrorCode.INVALID_LINK_NAME, message)


def invalid_state(message: str) -> RequestError:
    """Return the error for a state that the robot cannot have."""
    return RequestError(ErrorCode.INVALID_ROBOT_STATE, message)
