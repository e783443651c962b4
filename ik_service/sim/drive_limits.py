"""Limits of the drives of a robot: those of its independent joints, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.kinematics.joint_space import search_limits
from ik_service.model.robot_model import RobotModel


@dataclass(frozen=True)
class DriveLimits:
    """
    Limits of the m joints that move on their own, in document order.

    :ivar names: the joints.
    :ivar lower: (m,) lowest positions [rad] or [m]; −inf where unlimited.
    :ivar upper: (m,) highest positions [rad] or [m]; inf where unlimited.
    :ivar velocity: (m,) highest speeds [rad/s] or [m/s]; inf where the URDF gives none.
    :ivar effort: (m,) highest efforts [Nm] or [N]; inf where the URDF gives none.
    """

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    @classmethod
    def of(cls, robot: RobotModel) -> DriveLimits:
        """
        Return the limits of a robot's joints.

        :param robot: the robot.
        """
        names = robot.independent_joint_names
        limits = [robot.joints[name].limits for name in names]
        return cls(
            names,
            np.array([limit.lower for limit in limits]),
            np.array([limit.upper for limit in limits]),
            np.array([limit.velocity for limit in limits]),
            np.array([limit.effort for limit in limits]),
        )

    def middle(self) -> np.ndarray:
        """Return mid-range positions (m,) [rad] or [m]; next to zero where a limit is missing."""
        finite = np.isfinite(search_limits(self.lower, self.upper)).all(axis=0)
        middle = np.clip(np.zeros_like(self.lower), self.lower, self.upper)
        middle[finite] = self.lower[finite] + (self.upper[finite] - self.lower[finite]) / 2
        return middle
