"""MoveIt's error codes, and the error that carries one to a client."""

from __future__ import annotations

from enum import IntEnum

from moveit_msgs.msg import MoveItErrorCodes

from ik_service.exceptions import IkServiceError

_SOURCE = 'ik_service'
_HAS_MESSAGE = hasattr(MoveItErrorCodes(), 'message')  # ROS 2 Humble has only the number


class ErrorCode(IntEnum):
    """The values of ``moveit_msgs/MoveItErrorCodes`` that the services answer with."""

    SUCCESS = 1
    FAILURE = 99999
    TIMED_OUT = -6
    INVALID_GROUP_NAME = -15
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    NO_IK_SOLUTION = -31


class RequestError(IkServiceError):
    """
    A request that cannot be answered as it stands.

    :ivar code: what the client is told.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def write_code(error_code: MoveItErrorCodes, code: ErrorCode, message: str) -> None:
    """Fill in an answer's error code, with the message where the distribution has the field."""
    error_code.val = int(code)
    if _HAS_MESSAGE:
        error_code.message = message
        error_code.source = _SOURCE
