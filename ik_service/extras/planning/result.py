"""Result of a motion plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.collision_test import Bodies


class PlanStatus(Enum):
    """Outcome of a motion plan."""

    SUCCESS = 'a motion was found, and all of it checked'
    NO_PLAN = 'no motion was found'
    TIMED_OUT = 'the time ran out'
    CANCELED = 'it was canceled'
    START_IN_COLLISION = 'something collides at the start'
    START_VIOLATES_CONSTRAINTS = 'the start does not meet the path constraints'
    GOAL_IN_COLLISION = 'something collides at every goal'
    GOAL_VIOLATES_CONSTRAINTS = 'no goal meets the path constraints'
    GOAL_OUT_OF_REACH = 'no posture within the joint limits meets a goal'


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """
    Motion from a start to a goal, or why there is none.

    :ivar status: the outcome.
    :ivar reason: the outcome in a sentence.
    :ivar trajectory: the timed motion; None without success.
    :ivar path: (k, n) the corners of the joint path before it is rounded and timed [rad] or [m];
        (0, n) without success.
    :ivar bodies: two bodies that are in the way, where that is the reason.
    :ivar planning_time: time that it took, with all checks [s].
    :ivar checks: joint vectors that were tested for collisions and constraints.
    """

    status: PlanStatus
    reason: str
    trajectory: JointTrajectory | None
    path: np.ndarray
    bodies: Bodies | None = None
    planning_time: float = 0.0
    checks: int = 0

    @property
    def success(self) -> bool:
        """Whether there is a motion."""
        return self.status is PlanStatus.SUCCESS
