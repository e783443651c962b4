"""
Joint constraints of a ``compute_ik`` request as joint limits.

They become narrower joint limits of the chain for that one solve, so that every method keeps
them, and the search is steered by them.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from moveit_msgs.msg import JointConstraint

from ik_service.common.quoting import quote
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel
from ik_service.ros.requests.errors import ErrorCode, RequestError

_MOST = 1000  # joint constraints in a request


def constrained_chain(
    chain: KinematicChain | KinematicTree,
    constraints: Sequence[JointConstraint],
    positions: dict[str, float],
    joint_limits: str,
) -> KinematicChain | KinematicTree:
    """
    Return the chain with the joint limits that the constraints leave.

    A constraint on a continuous joint holds for the turn that lies nearest to the seed. One on a
    joint that the chain does not move must already hold. One on a joint that follows another holds
    for that, as MoveIt's clients constrain all joints of a group. Weights are not used, as in
    MoveIt.

    :param chain: the chain or tree to be solved.
    :param constraints: the joint constraints of the request.
    :param positions: position of every movable joint at the seed [rad] or [m].
    :param joint_limits: the solver's strategy; with 'ignore' joint constraints cannot be kept.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming what is not supported or wrong.
    """
    if joint_limits == 'ignore':
        raise _refused("joint_constraints need joint limits, but solver.joint_limits is 'ignore'")
    lower, upper = chain.lower.copy(), chain.upper.copy()
    intervals = checked_constraints(constraints, chain.robot)
    for number, (constraint, (low, high)) in enumerate(zip(constraints, intervals, strict=True)):
        name, multiplier, offset = chain.robot.resolve_mimic(constraint.joint_name)
        if name in chain.joint_names and multiplier != 0.0:
            i = chain.joint_names.index(name)
            low, high = sorted(((low - offset) / multiplier, (high - offset) / multiplier))
            turns = _turns_to(chain, i, (low + high) / 2, positions[name])
            low, high = low + turns, high + turns
            if not max(lower[i], low) <= min(upper[i], high):
                raise _nothing_left(number, chain, i, (low, high), (lower[i], upper[i]))
            lower[i], upper[i] = max(lower[i], low), min(upper[i], high)
        else:
            own = constraint.joint_name
            _check_holds(own, low, high, positions[own])
    return chain.with_limits(lower, upper)


def checked_constraints(
    constraints: Sequence[JointConstraint], robot: RobotModel
) -> list[tuple[float, float]]:
    """
    Return the lowest and highest position that each constraint allows [rad or m].

    :param constraints: the joint constraints of the request.
    :param robot: the robot.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming what is wrong.
    """
    if len(constraints) > _MOST:
        raise _refused(
            f'joint_constraints has {len(constraints)} elements, more than the {_MOST} that are '
            'looked at'
        )
    return [
        _interval(constraint, robot, f'joint_constraints[{number}]')
        for number, constraint in enumerate(constraints)
    ]


def _interval(constraint: JointConstraint, robot: RobotModel, field: str) -> tuple[float, float]:
    """Return the lowest and highest position that a constraint allows."""
    name = constraint.joint_name
    joint = robot.joints.get(name)
    if joint is None or not joint.movable:
        raise _refused(f'{field}.joint_name: the robot has no movable joint {quote(name)}')
    if not math.isfinite(constraint.position):
        raise _refused(f'{field}.position is {constraint.position}; it has to be finite')
    for tolerance in ('tolerance_above', 'tolerance_below'):
        if not getattr(constraint, tolerance) >= 0.0:
            raise _refused(
                f'{field}.{tolerance} is {getattr(constraint, tolerance)}; '
                'it has to be 0 or more [rad or m]'
            )
    return (
        constraint.position - constraint.tolerance_below,
        constraint.position + constraint.tolerance_above,
    )


def _turns_to(chain: KinematicChain | KinematicTree, i: int, middle: float, seed: float) -> float:
    """Return the full turns [rad] from an interval's middle to near the seed, where unlimited."""
    joint = chain.robot.joints[chain.joint_names[i]]
    limited = math.isfinite(chain.lower[i]) or math.isfinite(chain.upper[i])
    if joint.type is not JointType.CONTINUOUS or limited or not math.isfinite(middle):
        return 0.0
    return math.tau * round((seed - middle) / math.tau)


def _check_holds(name: str, low: float, high: float, position: float) -> None:
    if not low <= position <= high:
        raise _refused(
            f'joint {name!r} is not moved by this chain, and its position {position:g} '
            f'is not within the {low:g} … {high:g} of its constraint'
        )


def _nothing_left(
    number: int,
    chain: KinematicChain | KinematicTree,
    i: int,
    allowed: tuple[float, float],
    before: tuple[float, float],
) -> RequestError:
    """Return the error for a constraint that leaves a joint no position."""
    alone = before == (chain.lower[i], chain.upper[i])
    return _refused(
        f'joint_constraints[{number}] allows {allowed[0]:g} … {allowed[1]:g} for joint '
        f'{chain.joint_names[i]!r}, but {"its limits" if alone else "others"} only '
        f'{before[0]:g} … {before[1]:g}'
    )


def _refused(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_GOAL_CONSTRAINTS, message)
