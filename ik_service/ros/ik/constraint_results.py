"""Whether a state satisfies the constraints of a request, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import math

from moveit_msgs.msg import ConstraintEvalResult, Constraints
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.link_constraints import beyond, Bound, OrientationBound, SLACK
from ik_service.model.joint import JointType
from ik_service.ros.common.frames import FrameResolver
from ik_service.ros.ik.joint_constraints import checked_constraints
from ik_service.ros.ik.link_constraints import bounds_of

_ROUNDING = 1e-9  # of joint positions [rad or m]
_SMALLEST_WEIGHT = 1e-9  # below it a weight is not set


def constraint_results(
    constraints: Constraints, arm: Arm, posture: np.ndarray, frames: FrameResolver
) -> list[ConstraintEvalResult]:
    """
    Return the results of constraints in MoveIt's order: joints, positions, orientations.

    The distance is, times the weight, that of a joint from its position, of a point from the
    middle of the nearest region, and of an orientation from the wanted one [rad or m].

    :param constraints: the constraints.
    :param arm: the arm.
    :param posture: (m,) full posture [rad] or [m].
    :param frames: resolves their frames.
    :raises RequestError: a constraint is not supported or wrong; names it.
    """

    def to_root(frame_id: str, T: np.ndarray) -> np.ndarray:
        return frames.in_base(arm.root_link, frame_id, T)

    bounds = bounds_of(constraints, arm, to_root)
    return [
        *_joint_results(constraints, arm, posture),
        *_link_results(constraints, bounds, arm, posture),
    ]


def _joint_results(
    constraints: Constraints, arm: Arm, posture: np.ndarray
) -> Iterator[ConstraintEvalResult]:
    positions = arm.postures.by_name(posture)
    checked = checked_constraints(constraints.joint_constraints, arm.robot)
    for constraint, (low, high) in zip(constraints.joint_constraints, checked, strict=True):
        position = positions[constraint.joint_name]
        difference = position - constraint.position
        if arm.robot.joints[constraint.joint_name].type is JointType.CONTINUOUS:
            difference = math.remainder(difference, math.tau)
        above, below = high - constraint.position, constraint.position - low
        holds = -below - _ROUNDING <= difference <= above + _ROUNDING
        yield _result(holds, abs(difference), constraint.weight)


def _link_results(
    constraints: Constraints, bounds: list[Bound], arm: Arm, posture: np.ndarray
) -> Iterator[ConstraintEvalResult]:
    messages = (*constraints.position_constraints, *constraints.orientation_constraints)
    for bound, message in zip(bounds, messages, strict=True):
        T_root_link = arm.link_frames.root_from_link(bound.link, posture)
        holds = beyond(bound, T_root_link)[0] <= SLACK
        yield _result(holds, _distance(bound, T_root_link), message.weight)


def _distance(bound: Bound, T_root_link: np.ndarray) -> float:
    """Return how far a link is from the middle of what a constraint allows [rad or m]."""
    if isinstance(bound, OrientationBound):
        return beyond(replace(bound, tolerances=(0.0, 0.0, 0.0)), T_root_link)[0]
    point = T_root_link[:3, :3] @ bound.point + T_root_link[:3, 3]
    return min(float(np.linalg.norm(point - T[:3, 3])) for _, T in bound.regions)


def _result(holds: bool, distance: float, weight: float) -> ConstraintEvalResult:
    factor = weight if weight > _SMALLEST_WEIGHT else 1.0
    return ConstraintEvalResult(result=bool(holds), distance=float(factor * distance))
