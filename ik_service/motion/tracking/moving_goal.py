"""
Joint positions that move with a target: where it is ahead of its last pose.

They are on the parabola through the solutions for its last pose and for two poses that it will
have, as it moves by now. It counts for a bounded time; a target that sends nothing any more is at
its last pose.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ik_service.common.transforms import rotation_about_axis
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.tracking.target_velocity import TargetMotion

_SHORTEST_AHEAD = 0.05  # shortest time ahead for which the target is solved [s]

_LONGEST_BEHIND = 0.25
"""Longest time before its last pose for which a target is taken to be on the parabola [s]."""

_SHARE = 0.9  # share of the joints' speeds that a target may ask for; the rest is for catching up

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""Of a pose (4, 4) and a seed (n,): the solution beside that (n,); None where there is none."""


class MovingGoal:
    """
    Goal of the joints that goes on as the target does.

    :ivar feasible: whether the joints can keep up with the target.
    :ivar velocity: (n,) of the joints at the target's last pose [rad/s] or [m/s].
    :ivar acceleration: (n,) of the joints on the parabola [rad/s²] or [m/s²].
    :ivar ends: time from which it rests at the target's last pose, unless a newer one comes [s].
    """

    def __init__(
        self,
        solve: Solve,
        T_base_target: np.ndarray,
        q: np.ndarray,
        motion: TargetMotion,
        at: float,
        limits: MotionLimits,
    ) -> None:
        """
        Carry the motion of a target over to the joints.

        :param T_base_target: (4, 4) its last pose.
        :param q: (n,) the solution for that [rad] or [m].
        :param at: time of the pose, on a monotonic clock [s].
        """
        self._q, self._at = q, at
        self.ends = at + motion.ahead
        self.velocity = self.acceleration = np.zeros_like(q)
        self.feasible = False
        time = max(motion.interval, _SHORTEST_AHEAD)
        half = solve(moved(T_base_target, motion.after(0.5 * time)), q)
        whole = None if half is None else solve(moved(T_base_target, motion.after(time)), half)
        if half is not None and whole is not None:
            self.velocity = (4.0 * (half - q) - (whole - q)) / time
            self.acceleration = 4.0 * (whole - 2.0 * half + q) / (time * time)
            fastest = np.maximum(np.abs(half - q), np.abs(whole - half)) * (2.0 / time)
            slow = fastest <= _SHARE * limits.velocity_now
            gentle = np.abs(self.acceleration) <= limits.acceleration_now
            self.feasible = bool((slow & gentle).all())
        along = float(self.velocity @ self.acceleration)
        size = float(self.velocity @ self.velocity)
        self._stops = -size / along if along < 0.0 else np.inf

    def shift(self, turns: np.ndarray) -> None:
        """Put joints on another turn, by whole turns (n,) [rad], 0 for other joints."""
        self._q = self._q + turns

    def at(self, now: float, later: float = 0.0) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return positions (n,) [rad] or [m] and velocities (n,) at a time; None from the end on.

        :param later: by how much the time is later than now [s].
        """
        ahead = now + later - self._at
        if now >= self.ends or ahead < -_LONGEST_BEHIND:
            return None
        # A target that slows down stops, and does not turn round.
        ahead = min(ahead, self._stops)
        velocity = self.velocity + self.acceleration * ahead
        return self._q + (self.velocity + velocity) * (0.5 * ahead), velocity


def moved(T: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return where a twist (6,) carries a pose (4, 4) in unit time, as a pose error does."""
    there, angle = T.copy(), float(np.linalg.norm(twist[3:]))
    there[:3, 3] += twist[:3]
    if angle > 0.0:
        there[:3, :3] = rotation_about_axis(twist[3:] / angle, angle) @ T[:3, :3]
    return there
