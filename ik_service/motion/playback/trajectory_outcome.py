"""Tolerances, progress and outcome of a trajectory that is executed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

GOAL_TIME = 5.0
"""Time after its end in which the arm has to arrive, where none is given [s]."""


class TrajectoryEnd(Enum):
    """Outcome of a trajectory; each value is a sentence about it."""

    REACHED = 'the arm is at the end of the trajectory'
    CANCELED = 'canceled; the arm has come to rest on the trajectory'
    OFF_PATH = 'the path tolerance was exceeded'
    OFF_GOAL = 'the goal tolerance was not met in time'
    STOPPED = 'the trajectory was aborted'
    PREEMPTED = 'the trajectory was preempted by a stop of all motion, or by a newer goal'


@dataclass(frozen=True)
class TrajectoryOutcome:
    """
    How a trajectory has ended, and why.

    :ivar end: how.
    :ivar reason: why, in a sentence.
    """

    end: TrajectoryEnd
    reason: str


@dataclass(frozen=True)
class TrajectoryTolerances:
    """
    How far an arm may be from a trajectory; inf for any distance.

    :ivar path: (n,) on the way [rad] or [m].
    :ivar goal: (n,) at the end [rad] or [m].
    :ivar goal_time: how long after the end of the trajectory it may take to get there [s].
    :ivar path_velocity: (n,) how much faster or slower it may be on the way [rad/s] or [m/s];
        None for any velocity.
    :ivar goal_velocity: (n,) how fast it may be at the end [rad/s] or [m/s]; None for any.
    """

    path: np.ndarray
    goal: np.ndarray
    goal_time: float = GOAL_TIME
    path_velocity: np.ndarray | None = None
    goal_velocity: np.ndarray | None = None


@dataclass(frozen=True)
class TrajectoryProgress:
    """
    Where a trajectory and the arm are.

    :ivar time: time in the trajectory [s].
    :ivar q: (n,) where the arm shall be [rad] or [m].
    :ivar velocity: (n,) how fast it shall move [rad/s] or [m/s].
    :ivar acceleration: (n,) the trajectory's acceleration at the present rate of its clock.
    :ivar measured: (n,) where it is [rad] or [m].
    """

    time: float
    q: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    measured: np.ndarray
