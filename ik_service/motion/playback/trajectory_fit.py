"""Fitting of a trajectory to an arm: its joints, its limits, and its position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory, starting_from
from ik_service.paths.trajectory.limit_check import check_limits, TrajectoryLimits

START_TOLERANCE = (0.05, 0.01)
"""Largest distance of a trajectory's start from the arm: rotary joints [rad], prismatic [m]."""

GOAL_TOLERANCE = (0.02, 0.005)
"""Goal tolerance where none is given [rad], [m]."""


def fitted(
    trajectory: JointTrajectory,
    chain: KinematicChain,
    place: np.ndarray,
    limits: TrajectoryLimits | None = None,
    velocity: np.ndarray | None = None,
) -> JointTrajectory:
    """
    Return a trajectory as an arm can move along it, after all checks.

    :param trajectory: a trajectory of the joints of the chain, in any order.
    :param chain: the chain.
    :param place: (n,) its position, or its last command [rad] or [m].
    :param limits: limits of its joints; None for those of the robot, which has none of
        accelerations (:class:`~ik_service.model.motion_bounds.MotionBounds` may have).
    :param velocity: (n,) how fast it is commanded to move there [rad/s] or [m/s]; None at rest.
    :returns: in the order of the chain, starting at or near there, with continuous joints on
        its turn.
    :raises TrajectoryError: for other joints, it does not start there, leaves the limits, or does
        not end at rest; names the point and the joint.
    """
    ordered = trajectory.of_joints(chain.joint_names)
    unlimited = np.isinf(chain.lower) & np.isinf(chain.upper)
    turns = np.where(unlimited, chain.arrays.turn, 0.0)
    begun = starting_from(ordered, place, turns, per_joint(chain, START_TOLERANCE), velocity)
    limits = limits or limits_of(chain)
    # A joint that is outside its limits may stay there, or come back.
    lower, upper = np.minimum(limits.lower, place), np.maximum(limits.upper, place)
    bounds = replace(limits, lower=lower, upper=upper)
    check_limits(begun, bounds, len(ordered) - len(begun))
    return begun


def limits_of(chain: KinematicChain) -> TrajectoryLimits:
    """Return the limits of a chain's robot."""
    none = np.full(chain.n, np.inf)
    return TrajectoryLimits(chain.lower, chain.upper, chain.velocity, none)


def per_joint(chain: KinematicChain, sizes: tuple[float, float]) -> np.ndarray:
    """
    Return a size (n,) for each joint of a chain.

    :param sizes: that of rotary joints [rad], and that of prismatic ones [m].
    """
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    return np.array([sizes[kind is JointType.PRISMATIC] for kind in kinds])
