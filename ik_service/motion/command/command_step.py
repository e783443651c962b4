"""Step of a motion towards commands, within the limits of speed and acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import clamped, MotionLimits

_ROUNDING = 1e-6
"""Share by which a step may be beyond the limits of its speed and its change."""

_COMING_BACK = 0.1
"""Time constant with which a motion comes back to the commands [s]."""

_LITTLE = 0.1
"""Way that is made up for in one step, as a share of acceleration times time squared."""

_NOTHING = 1e-12
"""Way that counts as none [rad] or [m]."""


@dataclass(frozen=True)
class CommandStep:
    """
    Step from one way point to the next.

    :ivar q: (n,) where it begins [rad] or [m].
    :ivar velocity: (n,) velocities there [rad/s] or [m/s].
    :ivar braking: (n,) largest decrease of the speeds, in shares of the velocity limits [1/s].
    :ivar fastest: (n,) highest speeds that were allowed since the motion began [rad/s] or [m/s].
    :ivar dt: how long it takes [s].
    """

    q: np.ndarray
    velocity: np.ndarray
    braking: np.ndarray
    fastest: np.ndarray
    dt: float

    def may_lead_to(self, q: np.ndarray, velocity: np.ndarray, limits: MotionLimits) -> bool:
        """
        Return whether a cubic may lead to a way point, as to speed and acceleration.

        :param q: (n,) its positions [rad] or [m].
        :param velocity: (n,) its velocities [rad/s] or [m/s].
        :param limits: bounds on the motion.
        """
        rounding = _ROUNDING * limits.unit
        change = self.braking * limits.unit * (self.dt * (1.0 + _ROUNDING)) + rounding
        slow = np.abs(velocity) <= self.fastest + rounding
        even = np.abs(cubic_changes(self.q, self.velocity, q, velocity, self.dt)) <= change
        return bool((slow & even).all())

    def towards(
        self, q: np.ndarray, velocity: np.ndarray, limits: MotionLimits, slowly: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return where it leads when it is to come to a way point, but keeps the limits.

        Its acceleration is constant.

        :param q: (n,) positions of the way point [rad] or [m].
        :param velocity: (n,) its velocities [rad/s] or [m/s].
        :param limits: bounds on the motion.
        :param slowly: whether it comes there slowly, and not as soon as it may.
        :returns: positions (n,) [rad] or [m] and velocities (n,) [rad/s] or [m/s].
        """
        half = 0.5 * self.dt
        motion = JointMotion(self.q + half * self.velocity)
        begins = motion.q
        motion.speed, motion.braking = self.velocity / limits.unit, self.braking
        goal = self._nearer(q, velocity, limits) if slowly else q + half * velocity
        motion.track(goal, velocity, limits, self.dt)
        moved = motion.q - begins
        speeds = np.where(np.abs(moved) > _NOTHING, moved / self.dt, 0.0)
        gentle = self._gently(speeds, limits)
        end = self.q + half * (self.velocity + gentle)
        return np.where((gentle == 0.0) & (moved != 0.0), motion.q, end), gentle

    def _nearer(self, q: np.ndarray, velocity: np.ndarray, limits: MotionLimits) -> np.ndarray:
        """
        Return where to be half a step after a way point (n,): on the way to it.

        What comes back slowly stays near commands that brake as sharply as they may.
        """
        half = 0.5 * self.dt
        along = self.q + half * self.velocity + self.dt * velocity
        away = q + half * velocity - along
        little = _LITTLE * self.braking * limits.unit * self.dt**2
        most = np.maximum(np.abs(away) * min(self.dt / _COMING_BACK, 1.0), little)
        return along + clamped(away, -most, most)

    def _gently(self, speeds: np.ndarray, limits: MotionLimits) -> np.ndarray:
        """
        Return speeds (n,) at the end, or those next to them within the acceleration.

        A joint that cannot rest inside its limits so gently brakes as sharply as it has to.
        """
        v, dt = self.velocity, self.dt
        braking = np.maximum(self.braking * limits.unit, 1e-9)
        room = np.where(v > 0.0, limits.upper - self.q, self.q - limits.lower)
        needed = np.maximum(braking, v * v / (2.0 * np.maximum(room, _NOTHING)))
        gentle = clamped(speeds, v - needed * dt, v + needed * dt)
        end = self.q + 0.5 * dt * (v + gentle)
        # Where that is beyond a limit, it has turned round before.
        most = np.minimum(needed * dt, np.maximum(braking * dt, 2.0 * np.abs(v)))
        sharp = np.where(limits.inside(end, self.q) == end, gentle, v - np.sign(v) * most)
        return clamped(sharp, -self.fastest, self.fastest)


def cubic_changes(
    q: np.ndarray, velocity: np.ndarray, end: np.ndarray, end_velocity: np.ndarray, dt: float
) -> np.ndarray:
    """
    Return the accelerations of a cubic at its start and its end, times its length, (2, n).

    :param q: (n,) positions at its start [rad] or [m].
    :param velocity: (n,) velocities there [rad/s] or [m/s].
    :param end: (n,) positions at its end.
    :param end_velocity: (n,) velocities there.
    :param dt: how long it takes [s].
    """
    mean = (end - q) * (6.0 / dt)
    return np.array(
        [mean - 4.0 * velocity - 2.0 * end_velocity, 2.0 * velocity + 4.0 * end_velocity - mean]
    )
