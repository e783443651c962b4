"""
Joint motion towards a goal: bounded speed and acceleration, no overshoot, no jump.

All joints move together: from rest the command follows the straight line in joint space, and all
joints arrive in the same tick. Speeds are shares of each joint's velocity limit, and distances the
time that they take at that limit, so that one formula serves radians and metres alike. Ticks may
be of any length: a speed is always one from which the command can still stop in time, however
short or long the ticks that follow are.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from ik_service.motion.command.motion_kernels import (
    BRAKING,
    FULL_SPEED,
    GOAL,
    motion_kernels,
    Q,
    ROWS_OF_STATE,
    SHORTEST_TICK,
    SPEED,
    VELOCITY,
)
from ik_service.motion.command.motion_limits import bound_along, clamped, largest, MotionLimits

_FASTEST = 1e9  # velocity that greater ones count as [rad/s] or [m/s], so that no number overflows

T = TypeVar('T')


def shallow_copy(value: T) -> T:
    """Return a shallow copy, as is made in every tick; copy.copy takes four times as long."""
    other = object.__new__(type(value))
    vars(other).update(vars(value))
    return other


class JointMotion:
    """
    Motion of a joint command, tick by tick.

    :ivar q: (n,) the command [rad] or [m]; a new array after every move.
    :ivar speed: (n,) the speed of the last move, in shares of the velocity limits.
    :ivar braking: (n,) how fast it may slow down [1/s]: never less than it was allowed to speed
        up since it last rested, so that joints that could stop in time still can after a change.
    :ivar behind: how far it is from a goal that moves, as the time that it takes at full speed
        [s], as of the last :meth:`track`.
    :ivar window: time over which it is averaged, so that its jerk is bounded [s]; 0 for not.
    """

    window = 0.0

    def __init__(self, q: np.ndarray) -> None:
        """Start at rest at q (n,) [rad] or [m]; the moves bring it inside the limits."""
        self.q = np.array(q, dtype=np.float64)
        self.speed = np.zeros_like(self.q)
        self.braking = np.zeros_like(self.q)
        self.behind = 0.0
        self._kernels = motion_kernels()
        self._rows = np.zeros((ROWS_OF_STATE, len(self.q)))

    @property
    def at_rest(self) -> bool:
        """Whether the last move left the command where it was."""
        return not np.count_nonzero(self.speed)

    def copied(self) -> JointMotion:
        """Return the motion as it is now, to go back to; it does not change with this one."""
        return shallow_copy(self)

    @property
    def leading(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n,) and speeds (n,) of the motion that goals are for: of this one."""
        return self.q, self.speed

    def slow_down(self, share: float) -> None:
        """Slow down at once to a share of the speed, 0 to 1, as a motion not attended to."""
        self.speed = self.speed * share

    def bounds(self, limits: MotionLimits) -> MotionLimits:
        """Return the bounds of the commands now."""
        return limits

    def tick_range(self, limits: MotionLimits) -> tuple[float, float]:
        """Return how short and how long the next tick may be [s]."""
        return 0.0, math.inf

    def stopping_path(self, limits: MotionLimits) -> tuple[np.ndarray, ...]:
        """
        Return the corners (n,) of the stopping path [rad] or [m], the last of which is its end.

        The command slows down along the straight line to there, however long the ticks are,
        unless a joint limit lies on it.
        """
        if self.at_rest:
            return (self.q,)
        time = largest(np.abs(self.speed) / self.braking)
        if time <= SHORTEST_TICK:
            return (self.q,)
        return (self.q + self.speed * limits.unit * (0.5 * time),)

    def move(
        self,
        goal: np.ndarray | None,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
        cautious: bool = False,
    ) -> None:
        """
        Move by one tick towards a goal, or to rest.

        :param goal: (n,) where to, within the limits [rad] or [m]; None to slow down and stop.
        :param pace: share of the full speed that is asked for, 0 to 1.
        :param cautious: whether the rest position, too, may not lie beyond the goal; the arrival
            then takes some ticks more.
        """
        asked = self._asked(limits, self.q if goal is None else goal)
        moved = np.empty((2, len(self.q)))
        most = -1.0 if goal is None else pace
        scaling = limits.scaling
        self._kernels.move(asked, limits.rows, scaling, dt, most, cautious, moved)
        self.q, self.speed = moved

    def track(
        self,
        goal: np.ndarray,
        velocity: np.ndarray,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
    ) -> None:
        """
        Move by one tick to a goal that moves.

        :param goal: (n,) where it is at the end of the tick [rad] or [m].
        :param velocity: (n,) its velocity then [rad/s] or [m/s].
        :param pace: share of the full speed that is asked for, 0 to 1.
        """
        asked = self._asked(limits, goal)
        asked[VELOCITY] = velocity
        moved = np.empty((2, len(self.q)))
        bounds, scaling = limits.rows, limits.scaling
        self.behind = self._kernels.track(asked, bounds, scaling, dt, pace, moved)
        self.q, self.speed = moved

    def drive(
        self, velocity: np.ndarray, limits: MotionLimits, dt: float, pace: float = 1.0
    ) -> None:
        """
        Move by one tick with a velocity, or one of the same direction within the limits.

        :param velocity: (n,) [rad/s] or [m/s], finite.
        :param pace: share of the full speed that is asked for, 0 to 1.
        """
        low, high = self._reachable_speeds(limits, dt)
        wanted = np.where(limits.movable, clamped(velocity, -_FASTEST, _FASTEST), 0.0)
        change = _slowed(wanted / limits.unit, pace * limits.scaling) - self.speed
        share = min(bound_along(limits.acceleration, change) * dt * FULL_SPEED, 1.0)
        self._take(self.speed + share * change, low, high, limits, dt)

    def _asked(self, limits: MotionLimits, goal: np.ndarray) -> np.ndarray:
        """Return the state with a goal, as the kernels take it."""
        self.braking = limits.braking_since_rest(self.braking, not self.at_rest)
        asked = self._rows
        asked[Q], asked[SPEED], asked[BRAKING] = self.q, self.speed, self.braking
        asked[GOAL] = goal
        return asked

    def _reachable_speeds(self, limits: MotionLimits, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest speeds (n,) of a tick, in shares."""
        self.braking = limits.braking_since_rest(self.braking, bool(self.speed.any()))
        return limits.reachable_speeds(self.q, self.speed, self.braking, dt)

    def _take(
        self,
        wanted: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        limits: MotionLimits,
        dt: float,
    ) -> None:
        """Move with the speeds (n,) nearest to some that are reachable, in shares."""
        self.speed = clamped(wanted, low, high)
        if limits.immovable is not None:
            self.speed[limits.immovable] = 0.0
        self.q = limits.inside(self.q + self.speed * limits.unit * dt, self.q)


def _slowed(speeds: np.ndarray, most: float) -> np.ndarray:
    """Return speeds (n,) of the same direction of which none is beyond a bound."""
    fastest, most = largest(np.abs(speeds)), most * FULL_SPEED
    return speeds * (most / fastest) if fastest > most else speeds
