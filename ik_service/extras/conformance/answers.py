"""Answers of MoveIt's services: their codes, their solutions, and how these are judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
import math
from types import ModuleType
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.common.quoting import truncate
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.errors import ErrorCode as Code

COMPUTE_IK, COMPUTE_FK = 'compute_ik', 'compute_fk'
STATE_VALIDITY = 'check_state_validity'
CARTESIAN_PATH = 'compute_cartesian_path'
PLAN, PLANNERS, MOVE = 'plan_kinematic_path', 'query_planner_interface', 'move_action'
JOINT_STATES = 'joint_states'
COLLISION_OBJECT = 'collision_object'
APPLY_SCENE, GET_SCENE = 'apply_planning_scene', 'get_planning_scene'

SUCCESS = int(MoveItErrorCodes.SUCCESS)
HAS_MESSAGE = hasattr(MoveItErrorCodes(), 'message')  # ROS 2 Humble has only the number


class CheckFailedError(IkServiceError):
    """Response other than the required one."""

    def __init__(self, asked: str, came: str, expected: str) -> None:
        super().__init__(f'asked {asked}; came {came}; expected {expected}')
        self.asked = asked
        self.came = came
        self.expected = expected


class NoAnswerError(CheckFailedError):
    """Request that was never answered."""


class NotSupportedError(IkServiceError):
    """Feature that the server does not have, and honestly says so, or that cannot be seen here."""


_NAMES = {
    value: name
    for name in dir(MoveItErrorCodes)
    if name.isupper() and isinstance(value := getattr(MoveItErrorCodes, name), int)
}


def code_name(code: int) -> str:
    """Return an error code in words, such as ``NO_IK_SOLUTION (-31)``."""
    return f'{_NAMES.get(code, "unknown code")} ({code})'


@dataclass(frozen=True)
class ServerAnswer:
    """Answer of ``compute_ik`` with positions [rad] or [m] and the reason, if any."""

    asked: str
    code: int
    message: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    seconds: float

    @classmethod
    def of(cls, asked: str, answer: GetPositionIK.Response, seconds: float) -> ServerAnswer:
        """Return an answer that has come."""
        joints, code = answer.solution.joint_state, answer.error_code
        message = code.message if HAS_MESSAGE else ''
        return cls(asked, code.val, message, tuple(joints.name), tuple(joints.position), seconds)

    @property
    def solved(self) -> bool:
        """Whether it says SUCCESS."""
        return self.code == SUCCESS

    @property
    def text(self) -> str:
        """Code and message, for people."""
        return f'{code_name(self.code)}: {truncate(self.message) or "no message"}'

    def fail(self, expected: str, came: str = '') -> CheckFailedError:
        """Return the error for another answer than the required one; ``came`` is its text."""
        return CheckFailedError(self.asked, came or self.text, expected)

    def positions(self) -> Mapping[str, float]:
        """Return the joint positions by name [rad] or [m], where it has to be a solution."""
        if not self.solved:
            raise self.fail('SUCCESS')
        if len(self.names) != len(self.values):
            came = f'SUCCESS with {len(self.names)} names and {len(self.values)} positions'
            raise self.fail('as many positions as names', came)
        found = dict(zip(self.names, self.values, strict=True))
        if len(found) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise self.fail('every joint once', f'SUCCESS that names {twice} twice')
        for name, value in found.items():
            if not math.isfinite(value):
                raise self.fail('finite positions', f'SUCCESS with {name} at {value}')
        return found

    def refused(self, *codes: int) -> str:
        """Make sure that it is one of some errors, without a solution; return it in words."""
        if self.code not in codes:
            raise self.fail(' or '.join(map(code_name, codes)))
        self.without_solution()
        return code_name(self.code)

    def no_success(self, why: str) -> str:
        """Make sure that it is any error, without a solution; return it in words."""
        if self.solved:
            raise self.fail(f'an error, as {why}')
        self.without_solution()
        return code_name(self.code)

    def without_solution(self) -> None:
        """Make sure that it holds no joint positions but, where unsolved, the closest ones."""
        closest = self.code in (Code.NO_IK_SOLUTION, Code.TIMED_OUT)
        if closest and len(self.names) == len(self.values):
            return
        if self.names or self.values:
            came = f'{code_name(self.code)} with positions of {len(self.names)} joints'
            raise self.fail('no joint positions, as it is an error', came)

    def supported(self, feature: str, codes: Collection[int]) -> None:
        """Raise NotSupportedError where one of some codes refuses a feature."""
        if self.code in codes:
            raise NotSupportedError(f'{feature}: {self.text}')


def require_success(code: int, asked: str) -> None:
    """Make sure that an error code is SUCCESS."""
    if code != SUCCESS:
        raise CheckFailedError(asked, code_name(code), 'SUCCESS')


def require_error(code: int, asked: str, *codes: int) -> str:
    """Make sure that a code is an error, or one of some; return it in words."""
    if code == SUCCESS or (codes and code not in codes):
        expected = ' or '.join(map(code_name, codes)) or 'an error'
        raise CheckFailedError(asked, code_name(code), expected)
    return code_name(code)


def moveit_type(module: ModuleType, name: str) -> Any:  # noqa: ANN401 - a class without types
    """Return a type of a module of ``moveit_msgs``; NotSupportedError where the build lacks it."""
    if not hasattr(module, name):
        raise NotSupportedError(f'moveit_msgs has no {name} here')
    return getattr(module, name)


def offset(T: np.ndarray, T_wanted: np.ndarray) -> tuple[float, float]:
    """Return the distance [m] and the angle [rad] between two poses (4, 4)."""
    distance = float(np.linalg.norm(T[:3, 3] - T_wanted[:3, 3]))
    # ‖A − B‖ = 2 √2 sin(angle / 2) in Frobenius' norm, which is exact for small angles too.
    sine = float(np.linalg.norm(T[:3, :3] - T_wanted[:3, :3])) / (2.0 * math.sqrt(2.0))
    return distance, 2.0 * math.asin(min(1.0, sine))
