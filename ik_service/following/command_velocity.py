"""Velocities that go with the positions of commands."""

from __future__ import annotations

import numpy as np

from ik_service.following.motion_limits import clamped, MotionLimits


class CommandVelocity:
    """
    Velocities of commands, which change within the accelerations.

    A step has a mean velocity. Where the motion goes on with another one at its end, that of its
    last half is nearer to what drives need, which lag behind by as much. It is shown as far as
    both it and its change from command to command can be kept.

    :ivar last: (n,) velocities of the last command [rad/s] or [m/s]; None where the next one may
        be any, as after a late tick.
    """

    def __init__(self) -> None:
        self.last: np.ndarray | None = None

    def next(
        self, mean: np.ndarray, at_end: np.ndarray | None, limits: MotionLimits, dt: float
    ) -> np.ndarray:
        """
        Return the velocities (n,) to show [rad/s] or [m/s].

        :param mean: (n,) of the step [rad/s] or [m/s].
        :param at_end: (n,) with which the motion goes on; None where that is not known.
        :param limits: bounds on the motion.
        :param dt: length of the step [s].
        """
        shown = mean
        if mean.any():
            most = dt * limits.acceleration_now
            lowest, highest = mean - 0.5 * most, mean + 0.5 * most
            shown = mean if at_end is None else clamped(at_end, lowest, highest)
            if self.last is not None:
                shown = clamped(shown, self.last - most, self.last + most)
                shown = clamped(shown, lowest, highest)
            fastest = np.maximum(np.abs(mean), limits.velocity_now)
            shown = clamped(shown, -fastest, fastest)
        self.last = shown
        return shown
