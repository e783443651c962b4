"""Status of servoing, with the codes of MoveIt Servo."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ServoCode(IntEnum):
    """Codes of ``moveit_msgs/msg/ServoStatus``."""

    INVALID = -1
    NO_WARNING = 0
    DECELERATE_FOR_APPROACHING_SINGULARITY = 1
    HALT_FOR_SINGULARITY = 2
    DECELERATE_FOR_LEAVING_SINGULARITY = 3
    DECELERATE_FOR_COLLISION = 4
    HALT_FOR_COLLISION = 5
    JOINT_BOUND = 6


@dataclass(frozen=True)
class ServoStatus:
    """
    What keeps the arm from doing what a command asks for.

    :ivar code: the code.
    :ivar message: a sentence.
    """

    code: ServoCode = ServoCode.NO_WARNING
    message: str = 'no warnings'


NO_WARNING = ServoStatus()

APPROACHING = ServoStatus(
    ServoCode.DECELERATE_FOR_APPROACHING_SINGULARITY,
    'close to a singularity: motion towards it slows down',
)
HALTED = ServoStatus(
    ServoCode.HALT_FOR_SINGULARITY,
    'at a singularity: the component towards it is removed',
)
LEAVING = ServoStatus(
    ServoCode.DECELERATE_FOR_LEAVING_SINGULARITY,
    'leaving a singularity, as fast as the joints can',
)
