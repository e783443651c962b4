"""Constraints of a ``compute_cartesian_path`` request, as bounds on joints, poses and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.link_constraints import beyond, Bound, SLACK
from ik_service.kinematics.chain import KinematicChain
from ik_service.ros.common.frames import FrameResolver
from ik_service.ros.ik.joint_constraints import constrained_chain
from ik_service.ros.ik.link_constraints import bounds_of, moved_bounds
from ik_service.ros.paths.line_request import MovedPoint
from ik_service.trajectory.cartesian_path import FaultOf

_ROUNDING = 1e-9  # of the start, which may be at a limit [rad] or [m]


def limited_chain(
    request: GetCartesianPath.Request,
    arm: Arm,
    point: MovedPoint,
    posture: np.ndarray,
    still: np.ndarray,
    joint_limits: str,
) -> tuple[KinematicChain, str]:
    """
    Return the chain with the limits that joint constraints leave.

    :param request: the request.
    :param arm: the arm.
    :param point: the point that is moved.
    :param posture: (m,) full posture of the start [rad] or [m].
    :param still: (n,) bool: joints that do not move, because their velocity limit is 0.
    :param joint_limits: strategy of the solver.
    :returns: the chain, and why the start is not within its limits; empty where it is.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming what is not supported or wrong.
    """
    chain, q = point.chain, posture[point.prepared.indices]
    if still.any() and joint_limits != 'ignore':
        lower, upper = np.where(still, q, chain.lower), np.where(still, q, chain.upper)
        chain = chain.with_limits(lower, upper)
    constraints = request.path_constraints.joint_constraints
    if not constraints:
        return chain, ''
    positions = arm.postures.by_name(posture)
    narrowed = constrained_chain(chain, constraints, positions, joint_limits)
    assert isinstance(narrowed, KinematicChain)
    outside = (q < narrowed.lower - _ROUNDING) | (q > narrowed.upper + _ROUNDING)
    if not outside.any():
        return narrowed, ''
    i = int(np.argmax(outside))
    return narrowed, (
        f'the start has {chain.joint_names[i]} at {q[i]:.4g}, outside the {narrowed.lower[i]:.4g} '
        f'… {narrowed.upper[i]:.4g} of path_constraints.joint_constraints'
    )


def bounds_on_links(
    request: GetCartesianPath.Request,
    arm: Arm,
    point: MovedPoint,
    posture: np.ndarray,
    frames: FrameResolver,
) -> list[Bound]:
    """
    Return the constraints on links that the group moves; the others hold already.

    :param request: the request.
    :param arm: the arm.
    :param point: the point that is moved.
    :param posture: (m,) full posture of the start [rad] or [m].
    :param frames: resolves their frames.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming what is not supported or wrong, or one
        on a link that stays which does not hold; FRAME_TRANSFORM_FAILURE for an unknown frame.
    """
    base = point.group.base_link

    def to_base(frame_id: str, T: np.ndarray) -> np.ndarray:
        return frames.in_base(base, frame_id, T)

    bounds = bounds_of(request.path_constraints, arm, to_base)
    return moved_bounds(bounds, arm, point.group, posture)


def fault_of_poses(bounds: Sequence[Bound], placed: Mapping[str, np.ndarray]) -> FaultOf | None:
    """
    Return what looks for a constraint that a pose of the moved link breaks.

    :param bounds: the constraints.
    :param placed: (4, 4) T_link_other [m] of the links that are rigidly attached to the moved one.
    :returns: takes a pose (4, 4), and returns what it breaks in words; None where no constraint is
        on those links.
    """
    own = [bound for bound in bounds if bound.link in placed]
    if not own:
        return None

    def fault_of(T_base_tip: np.ndarray) -> str:
        for bound in own:
            if beyond(bound, T_base_tip @ placed[bound.link])[0] > SLACK:
                return broken(bound.field, bound.link)
        return ''

    return fault_of


def broken(field: str, link: str) -> str:
    """
    Return in words that a constraint does not hold.

    :param field: its field.
    :param link: the link that it is for.
    """
    return f'path_constraints.{field} does not hold for {link}'
