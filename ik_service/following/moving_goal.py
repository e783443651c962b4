"""
Joint positions that move with a target: where it is ahead of its last pose.

The motion of the target is carried over to the joints by the damped pseudoinverse at the solution
for its last pose, with the curvature of the way: q̈ = J⁺ (ẍ − J̇ q̇). It counts for a bounded time;
a target that sends nothing any more is at its last pose.
"""

from __future__ import annotations

import numpy as np

from ik_service.following.target_velocity import TargetMotion
from ik_service.kinematics.chain import KinematicChain

LONGEST_AHEAD = 0.12
"""Time for which a target is believed to go on, at most [s]."""

_INTERVALS = 2.2
"""The same, in times between two targets: one that is lost is bridged."""

_DAMPING = 0.01
"""Damping λ of the pseudoinverse."""

_SHARE = 0.9
"""Share of the joints' speeds that a target may ask for; the rest is for catching up."""

_SMALL = 1e-4
"""Time in which J̇ q̇ is taken by differences [s]."""


class MovingGoal:
    """
    Goal of the joints that goes on as the target does.

    :ivar feasible: whether the joints can keep up with the target.
    :ivar ends: time from which it rests at the target's last pose [s].
    """

    def __init__(
        self,
        chain: KinematicChain,
        q: np.ndarray,
        motion: TargetMotion,
        at: float,
        weights: np.ndarray,
        speeds: np.ndarray,
    ) -> None:
        """
        Carry the motion of a target over to the joints.

        :param chain: the chain.
        :param q: (n,) where the target's last pose is reached [rad] or [m].
        :param motion: of the target.
        :param at: time of that pose, on a monotonic clock [s].
        :param weights: (6,) weights of the pose error; 0 for a free axis.
        :param speeds: (n,) speeds that the joints may have [rad/s] or [m/s].
        """
        self._q, self._at = q, at
        self.ends = at + min(_INTERVALS * motion.interval, LONGEST_AHEAD)
        J = chain.jacobian(q) * weights[:, None]
        self._velocity = _damped(J, motion.velocity * weights)
        fastest = float((np.abs(self._velocity) / np.maximum(speeds, 1e-9)).max(initial=0.0))
        J_soon = chain.jacobian(q + _SMALL * self._velocity) * weights[:, None]
        bend = (J_soon - J) @ self._velocity / _SMALL
        self._acceleration = _damped(J, motion.acceleration * weights - bend)
        self.feasible = fastest < _SHARE
        along = float(self._velocity @ self._acceleration)
        size = float(self._velocity @ self._velocity)
        self._stops = -size / along if along < 0.0 else np.inf

    def shift(self, turns: np.ndarray) -> None:
        """
        Put joints on another turn.

        :param turns: (n,) whole turns [rad], 0 for other joints.
        """
        self._q = self._q + turns

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return positions (n,) [rad] or [m] and velocities (n,) at a time; None from the end on.

        :param time: on the clock of the target [s].
        """
        ahead = time - self._at
        if time >= self.ends or ahead < -LONGEST_AHEAD:
            return None
        # A target that slows down stops, and does not turn round.
        ahead = min(ahead, self._stops)
        velocity = self._velocity + self._acceleration * ahead
        return self._q + (self._velocity + velocity) * (0.5 * ahead), velocity


def _damped(J: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return Jᵀ (J Jᵀ + λ²)⁻¹ times a twist (6,)."""
    return J.T @ np.linalg.solve(J @ J.T + _DAMPING * _DAMPING * np.eye(6), twist)
