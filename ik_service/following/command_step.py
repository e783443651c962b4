"""Step of a motion towards commands, within the limits of speed and acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.following.motion import JointMotion
from ik_service.following.motion_limits import MotionLimits

_ROUNDING = 1e-6
"""Share by which a step may be beyond the limits of its speed and its change."""


@dataclass(frozen=True)
class CommandStep:
    """
    Step of constant speed.

    :ivar q: (n,) where it begins [rad] or [m].
    :ivar velocity: (n,) velocities of the step before [rad/s] or [m/s].
    :ivar braking: (n,) largest decrease of the speeds, in shares of the velocity limits [1/s].
    :ivar fastest: (n,) highest speeds that were allowed since the motion began [rad/s] or [m/s].
    :ivar dt: how long it takes [s].
    """

    q: np.ndarray
    velocity: np.ndarray
    braking: np.ndarray
    fastest: np.ndarray
    dt: float

    def may_lead_to(self, q: np.ndarray, limits: MotionLimits) -> bool:
        """
        Return whether it may lead to positions, as to speed and acceleration.

        :param q: (n,) the positions [rad] or [m].
        :param limits: bounds on the motion.
        """
        velocity = (q - self.q) / self.dt
        change = self.braking * limits.unit * (self.dt * (1.0 + _ROUNDING))
        rounding = _ROUNDING * limits.unit
        slow = np.abs(velocity) <= self.fastest + rounding
        return bool((slow & (np.abs(velocity - self.velocity) <= change + rounding)).all())

    def towards(
        self, command: np.ndarray, velocity: np.ndarray, limits: MotionLimits
    ) -> np.ndarray:
        """
        Return where it leads when it is to come to a command, but keeps the limits.

        :param command: (n,) the command at its end [rad] or [m].
        :param velocity: (n,) velocities of the commands [rad/s] or [m/s].
        :param limits: bounds on the motion.
        """
        motion = JointMotion(self.q)
        motion.speed, motion.braking = self.velocity / limits.unit, self.braking
        motion.track(command, velocity, limits, self.dt)
        return motion.q
