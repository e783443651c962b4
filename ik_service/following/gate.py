"""The last bound on commands: whatever was computed before it, what leaves it cannot jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.following.motion import MotionLimits

_ROUNDING = 1e-9
"""Difference that counts as rounding: a share of the velocity limit, or a distance [rad or m]."""


@dataclass
class GateCounts:
    """
    How often something had to be stopped; all are 0 in a healthy system.

    :ivar steps: positions that were not numbers, or too far for the velocity limits.
    :ivar speeds: changes of speed beyond the acceleration.
    :ivar limits: positions outside the joint limits.
    :ivar starts: starts elsewhere while the commands still moved.
    """

    steps: int = 0
    speeds: int = 0
    limits: int = 0
    starts: int = 0

    @property
    def total(self) -> int:
        """All together."""
        return self.steps + self.speeds + self.limits + self.starts


class CommandGate:
    """
    What every command passes on its way to the arm.

    It knows the last command, how fast that moved and when it was; from these alone follows what
    the next one may be: no joint moves by more than its velocity limit × scaling × the time that
    has really passed, one period at most; no speed changes by more than the acceleration (or, on
    the way to rest, the braking) allows; no joint leaves its limits. Anything else is brought
    inside these bounds, and counted.

    :ivar counts: what had to be stopped.
    """

    def __init__(self) -> None:
        self.counts = GateCounts()
        self._q: np.ndarray | None = None
        self._speed = np.zeros(0)
        self._braking = 0.0
        self._passed_at = -np.inf

    @property
    def last(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The last command: (n,) positions [rad] or [m], and (n,) shares of the velocity."""
        return None if self._q is None else (self._q, self._speed)

    @property
    def state(self) -> tuple[np.ndarray | None, np.ndarray, float, float]:
        """All that is known of the last command; what is set here is known instead."""
        return self._q, self._speed, self._braking, self._passed_at

    @state.setter
    def state(self, state: tuple[np.ndarray | None, np.ndarray, float, float]) -> None:
        self._q, self._speed, self._braking, self._passed_at = state

    @property
    def passed_at(self) -> float:
        """When the last command was sent [s]; −inf before the first."""
        return self._passed_at

    def begin(self, q: np.ndarray, now: float) -> None:
        """
        Begin a stream of commands where the arm is measured to be.

        Only after the stream before has come to rest; otherwise that one goes on.

        :param q: (n,) the measured positions [rad] or [m].
        :param now: on a monotonic clock [s].
        """
        if self._speed.any():
            self.counts.starts += 1
            return
        self._q = np.array(q, dtype=np.float64)
        self._speed = np.zeros_like(self._q)
        self._passed_at = now

    def elapsed(self, now: float) -> float:
        """Return the time since the last command [s]."""
        return now - self._passed_at

    def postpone(self, delay: float) -> None:
        """
        Note that the last command was sent later than it was admitted.

        :param delay: by how much [s].
        """
        self._passed_at += max(delay, 0.0)

    def slow_down(self, share: float, late: float) -> None:
        """
        Let a late command go on from the speed that the arm still has.

        No lower than what braking in the meantime would have led to.

        :param share: of the last speed, 0 to 1.
        :param late: by how much it is late [s].
        """
        fastest = float(np.abs(self._speed).max(initial=0.0))
        if fastest > 0.0:
            least = 1.0 - self._braking * late / fastest
            self._speed = self._speed * min(max(share, least, 0.0), 1.0)

    def admit(
        self, q: np.ndarray, limits: MotionLimits, now: float, period: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Pass a command, or the nearest one that the bounds allow.

        :param q: (n,) positions [rad] or [m].
        :param limits: what commands may do.
        :param now: on the clock of :meth:`begin` [s], after the last command.
        :param period: time between two commands [s].
        :returns: (n,) positions, and (n,) speeds in shares of the velocity limits.
        """
        dt = min(self.elapsed(now), period)
        last, unit = self._q, np.where(limits.velocity > 0.0, limits.velocity, 1.0)
        if not (dt > 0.0 and np.isfinite(q).all() and q.shape == last.shape):
            self.counts.steps += 1
            dt, q = max(dt, 0.0), last
        self._braking = max(self._braking if self._speed.any() else 0.0, limits.braking)
        speed = (q - last) / (unit * dt) if dt > 0.0 else np.zeros_like(last)
        low, high = limits.reachable_speeds(last, self._speed, self._braking, max(dt, 1e-9))
        low, high = (np.where(limits.velocity > 0.0, bound, 0.0) for bound in (low, high))
        inside = np.clip(speed, low, high)
        wrong = np.abs(inside - speed) > _ROUNDING * (1.0 + 1.0 / max(dt, 1e-9))
        if wrong.any():
            self._count(q, speed, limits)
            q = last + inside * unit * dt
        q = np.clip(q, np.minimum(limits.lower, last), np.maximum(limits.upper, last))
        self._q, self._speed, self._passed_at = q, inside, now
        return q, inside

    def _count(self, q: np.ndarray, speed: np.ndarray, limits: MotionLimits) -> None:
        outside = (q < np.minimum(limits.lower, self._q)) | (q > np.maximum(limits.upper, self._q))
        if outside.any():
            self.counts.limits += 1
        elif (np.abs(speed) > limits.scaling + _ROUNDING).any():
            self.counts.steps += 1
        else:
            self.counts.speeds += 1
