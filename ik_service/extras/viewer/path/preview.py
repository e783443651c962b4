"""Timed motion along a path, before it is executed."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from ik_service.extras.viewer.link.path_link import PathAnswer
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

START_TOLERANCE = 0.01
"""Largest distance of a joint from the start of a trajectory, as MoveIt allows [rad] or [m]."""

_AHEAD = 0.5  # how far ahead on a trajectory the arm is looked for [s]
_SAMPLES = 26
_ROUNDING = 1e-9  # of the fraction


@dataclass(frozen=True)
class Preview:
    """
    Trajectory that a service has found for a path.

    :ivar trajectory: the motion of the chain's joints.
    :ivar fraction: the part of the path that it covers, 0 to 1.
    :ivar reason: why it ends there; empty where nothing was said.
    :ivar tips: (k, 3) positions of the tip at the trajectory's points, in the base frame [m].
    :ivar answer: the answer that it is of.
    """

    trajectory: JointTrajectory
    fraction: float
    reason: str
    tips: np.ndarray
    answer: PathAnswer

    @property
    def is_whole(self) -> bool:
        """Whether it covers the whole path."""
        return self.fraction >= 1.0

    def at(self, t: float) -> np.ndarray:
        """
        Return the joints' positions (n,) at a time [rad] or [m].

        :param t: time from the start [s].
        """
        return self.trajectory.at(t)[0]

    def distance_from_start(self, q: np.ndarray) -> tuple[str, float]:
        """
        Return the joint that is farthest from the start, and how far it is [rad] or [m].

        :param q: (n,) positions of the joints.
        """
        apart = np.abs(q - self.trajectory.positions[0])
        worst = int(np.argmax(apart))
        return self.trajectory.joint_names[worst], float(apart[worst])

    def time_nearest(self, q: np.ndarray, since: float) -> float:
        """
        Return the time at which the trajectory is nearest to where the arm is.

        :param q: (n,) positions of the joints.
        :param since: time up to which the arm is known to have come; what is more than half a
            second ahead of it is not looked at, as a path may cross itself [s].
        """
        until = min(since + _AHEAD, self.trajectory.duration)
        times = np.linspace(since, until, _SAMPLES)
        apart = [float(np.abs(self.at(float(t)) - q).max()) for t in times]
        return float(times[int(np.argmin(apart))])


def make_preview(chain: KinematicChain, answer: PathAnswer) -> Preview:
    """
    Return the preview of an answer.

    :param chain: the chain that moves.
    :param answer: holds a motion of all of the chain's joints, in any order.
    :raises TrajectoryError: it holds none, or one of other joints.
    """
    trajectory = answer.trajectory().of_joints(chain.joint_names)
    tips = np.array([chain.forward(q)[:3, 3] for q in trajectory.positions])
    fraction = answer.fraction if math.isfinite(answer.fraction) else 0.0
    fraction = min(max(fraction, 0.0), 1.0)
    fraction = 1.0 if fraction > 1.0 - _ROUNDING else fraction
    return Preview(trajectory, fraction, answer.reason, tips, answer)
