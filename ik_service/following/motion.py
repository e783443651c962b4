"""
The motion of a command towards a goal: bounded speed and acceleration, no overshoot, no jump.

All joints move together: from rest the command follows the straight line in joint space, and all
joints arrive in the same tick. Speeds are counted in ticks of nominal length, never in measured
time, so that a late tick cannot cause a larger step. Within a tick the unit of each joint is the
largest step it may take, so that one formula serves radians and metres alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FULL_SPEED = 1.0 - 1e-9
"""The largest step in units of the bound; what is left of 1 is room for rounding."""

_ARRIVED = 1e-9
"""Distance to the goal, in units of the largest step, that is closed at once."""

_UNBOUNDED = 2.0
"""Change of speed in a tick that bounds nothing: from full speed to full speed backwards."""


@dataclass(frozen=True)
class MotionLimits:
    """
    What a command may do in one tick.

    :ivar lower: (n,) lower limits [rad] or [m]; −inf where unlimited.
    :ivar upper: (n,) upper limits [rad] or [m]; inf where unlimited.
    :ivar step: (n,) largest step [rad] or [m]; 0 for a joint that does not move.
    :ivar speed_up: largest change of the speed, in shares of the full speed.
    """

    lower: np.ndarray
    upper: np.ndarray
    step: np.ndarray
    speed_up: float

    @classmethod
    def of_rate(
        cls,
        lower: np.ndarray,
        upper: np.ndarray,
        velocity: np.ndarray,
        rate: float,
        acceleration_time: float,
    ) -> MotionLimits:
        """
        Return the limits for a number of ticks a second.

        :param velocity: (n,) largest speeds [rad/s] or [m/s].
        :param rate: ticks a second [Hz].
        :param acceleration_time: time from rest to full speed [s]; 0 for no such limit.
        """
        ticks = acceleration_time * rate
        speed_up = 1.0 / max(ticks, 1.0 / _UNBOUNDED)
        return cls(lower, upper, velocity / rate, speed_up)


class JointMotion:
    """
    A command on its way.

    :ivar q: (n,) the command [rad] or [m]; a new array after every move.
    :ivar step: (n,) what the last move added to it [rad] or [m].
    """

    def __init__(self, q: np.ndarray) -> None:
        """
        Start at rest.

        :param q: (n,) where [rad] or [m]; may lie outside the limits, and is brought inside
            by the moves that follow.
        """
        self.q = np.array(q, dtype=np.float64)
        self.step = np.zeros_like(self.q)

    @property
    def at_rest(self) -> bool:
        """Whether the last move left the command where it was."""
        return not self.step.any()

    def move(self, goal: np.ndarray | None, limits: MotionLimits, pace: float = 1.0) -> None:
        """
        Move by one tick.

        :param goal: (n,) where to, within the limits [rad] or [m]; None to slow down and stop.
        :param limits: what the move may do at most.
        :param pace: share of the full speed that is asked for, 0 to 1.
        """
        movable = limits.step > 0.0
        unit = np.where(movable, limits.step, 1.0)
        speed = np.where(movable, self.step / unit, 0.0)
        ahead = np.zeros_like(self.q) if goal is None else np.where(movable, goal - self.q, 0.0)
        if goal is not None and _is_arrival(ahead / unit, speed, limits.speed_up):
            self._advance(self.q + ahead, limits)
            return
        speed = _approach(ahead / unit, speed, limits.speed_up, pace)
        speed = self._stay_inside(speed, unit, limits)
        self._advance(self.q + np.where(movable, speed * unit, 0.0), limits)

    def _stay_inside(
        self, speed: np.ndarray, unit: np.ndarray, limits: MotionLimits
    ) -> np.ndarray:
        """Keep every joint slow enough to stop before its limits."""
        above = _stopping_speed((limits.upper - self.q) / unit, limits.speed_up)
        below = _stopping_speed((self.q - limits.lower) / unit, limits.speed_up)
        return np.clip(speed, -below, above)

    def _advance(self, q: np.ndarray, limits: MotionLimits) -> None:
        # A joint outside its limits may stay or come back, so its place is its limit for now.
        q = np.clip(q, np.minimum(limits.lower, self.q), np.maximum(limits.upper, self.q))
        self.step = q - self.q
        self.q = q


def _is_arrival(ahead: np.ndarray, speed: np.ndarray, speed_up: float) -> bool:
    return np.abs(ahead).max() <= _ARRIVED and np.abs(speed).max() <= speed_up


def _approach(ahead: np.ndarray, speed: np.ndarray, speed_up: float, pace: float) -> np.ndarray:
    """
    Speed of the next tick on the way to a goal.

    :param ahead: (n,) way to the goal.
    :param speed: (n,) speed of the last tick.
    :param speed_up: largest change of each joint's speed.
    :param pace: share of the full speed that is asked for.
    """
    # A lower bound may have been set since the last tick; it holds from now on.
    speed = speed / max(1.0, np.abs(speed).max() / _FULL_SPEED)
    distance = np.abs(ahead).max()
    if distance == 0.0:
        wanted = np.zeros_like(speed)
    else:
        line = ahead / distance
        along = max(float(speed @ line) / float(line @ line), 0.0)
        cruise = max(pace * _FULL_SPEED, along - speed_up)
        stop = float(_stopping_speed(np.array(distance), speed_up))
        wanted = line * min(along + speed_up, cruise, stop, _FULL_SPEED)
    return speed + np.clip(wanted - speed, -speed_up, speed_up)


def _stopping_speed(distance: np.ndarray, speed_up: float) -> np.ndarray:
    """
    Return the largest speed m from which the ticks that follow can stop within a distance.

    With a slow-down of b a tick, the moves are m, m − b, m − 2b, …: k = ⌈m/b⌉ moves that sum up
    to k m − b k (k − 1)/2. Solved for m, with the smallest k for which b k (k + 1)/2 covers the
    distance. A command that keeps to it needs no more than b to keep to it in the next tick.
    """
    # From half of 1/b + 1 on, full speed is allowed; the bound keeps infinity out of the formula.
    distance = np.clip(distance, 0.0, 2.0 / speed_up + 2.0)
    k = np.ceil((np.sqrt(1.0 + 8.0 * distance / speed_up) - 1.0) / 2.0)
    k = np.maximum(k, 1.0)
    return distance / k + speed_up * (k - 1.0) / 2.0
