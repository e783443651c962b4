"""
Joint motion towards a goal: bounded speed and acceleration, no overshoot, no jump.

All joints move together: from rest the command follows the straight line in joint space, and all
joints arrive in the same tick. Speeds are shares of each joint's velocity limit, and distances the
time that they take at that limit, so that one formula serves radians and metres alike. Ticks may
be of any length: a speed is always one from which the command can still stop in time, however
short or long the ticks that follow are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_service.following.motion_limits import (
    bound_along,
    clamped,
    FULL_SPEED,
    largest,
    MotionLimits,
    remaining_share,
    stopping_speed,
    stopping_speed_along,
)

_JITTER = 0.02
"""Share by which a tick may be shorter than the one before in normal operation."""

_SHORTEST_TICK = 5e-4
"""Half a period of the fastest rate [s]: within it a command that has arrived can be at rest."""

_FASTEST = 1e9
"""Velocity that greater ones count as [rad/s] or [m/s], so that no number overflows."""


MotionState = tuple[Any, ...]
"""Command, speed and braking of a motion, and what else it has to know."""


class JointMotion:
    """
    Motion of a joint command, tick by tick.

    :ivar q: (n,) the command [rad] or [m]; a new array after every move.
    :ivar speed: (n,) the speed of the last move, in shares of the velocity limits.
    :ivar braking: (n,) how fast it may slow down [1/s]: never less than it was allowed to speed
        up since it last rested, so that what was in time to stop stays so when limits change.
    :ivar behind: how far it is from a goal that moves, as the time that it takes at full speed
        [s], as of the last :meth:`track`.
    :cvar delay: how much longer than its braking takes it moves on [s].
    """

    delay = 0.0

    def __init__(self, q: np.ndarray) -> None:
        """
        Start at rest.

        :param q: (n,) where [rad] or [m]; may lie outside the limits, and is brought inside
            by the moves that follow.
        """
        self.q = np.array(q, dtype=np.float64)
        self.speed = np.zeros_like(self.q)
        self.braking = np.zeros_like(self.q)
        self.behind = 0.0

    @property
    def at_rest(self) -> bool:
        """Whether the last move left the command where it was."""
        return not self.speed.any()

    @property
    def state(self) -> MotionState:
        """All that is known of the motion; may be set, to go back to an earlier one."""
        return self.q, self.speed, self.braking

    @state.setter
    def state(self, state: MotionState) -> None:
        self.q, self.speed, self.braking = state

    def slow_down(self, share: float) -> None:
        """
        Slow down at once, as a motion that was not attended to.

        :param share: of the speed that is left, 0 to 1.
        """
        self.speed = self.speed * share

    def bounds(self, limits: MotionLimits) -> MotionLimits:
        """
        Return the bounds of the commands now.

        :param limits: the bounds that shall hold.
        """
        return limits

    def way_to_rest(self, limits: MotionLimits) -> tuple[np.ndarray, ...]:
        """
        Return the corners (n,) of the way to rest [rad] or [m], the last of which is its end.

        The command slows down along the straight line to there, however long the ticks are,
        unless a joint limit lies on the way.

        :param limits: bounds on the motion.
        """
        if self.at_rest:
            return (self.q,)
        time = largest(np.abs(self.speed) / self.braking)
        if time <= _SHORTEST_TICK:
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
        :param limits: bounds on the move.
        :param dt: length of the tick [s], above 0.
        :param pace: share of the full speed that is asked for, 0 to 1.
        :param cautious: whether the resting place, too, may not lie beyond the goal; the arrival
            then takes some ticks more.
        """
        movable, unit = limits.movable, limits.unit
        low, high = self._reachable_speeds(limits, dt)
        ahead = np.zeros_like(self.q) if goal is None else np.where(movable, goal - self.q, 0.0)
        last = ahead / (unit * dt)
        if goal is not None and _is_arrival(last, low, high, limits.acceleration):
            self.q, self.speed = np.where(movable, goal, self.q), last
            return
        self._take(self._wanted(ahead / unit, limits, dt, pace, cautious), low, high, limits, dt)

    def track(
        self,
        goal: np.ndarray,
        velocity: np.ndarray,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
        on_path: bool = False,
    ) -> None:
        """
        Move by one tick to a goal that moves.

        :param goal: (n,) where it is at the end of the tick [rad] or [m].
        :param velocity: (n,) its velocity then [rad/s] or [m/s].
        :param limits: bounds on the move.
        :param dt: length of the tick [s], above 0.
        :param pace: share of the full speed that is asked for, 0 to 1.
        :param on_path: whether its way counts more than its time, where jerks are limited.
        """
        low, high = self._reachable_speeds(limits, dt)
        speed = clamped(velocity / limits.unit, -limits.scaling, limits.scaling)
        arriving = (goal - self.q) / (limits.unit * dt)
        relative = arriving - speed
        # The goal is reached where one tick more is enough to take on its speed; from farther
        # away it is approached such that the relative speed can be braked in time.
        soon = np.abs(relative) <= limits.acceleration * (dt * FULL_SPEED)
        approach = stopping_speed(np.abs(relative) * dt, limits.acceleration, dt)
        wanted = np.where(soon, arriving, speed + np.copysign(approach, relative))
        self._take(_slowed(wanted, pace * limits.scaling), low, high, limits, dt)
        self.behind = largest(np.where(limits.movable, np.abs(goal - self.q) / limits.unit, 0.0))

    def drive(
        self, velocity: np.ndarray, limits: MotionLimits, dt: float, pace: float = 1.0
    ) -> None:
        """
        Move by one tick with a velocity, or one of the same direction within the limits.

        :param velocity: (n,) [rad/s] or [m/s], finite.
        :param limits: bounds on the move.
        :param dt: length of the tick [s], above 0.
        :param pace: share of the full speed that is asked for, 0 to 1.
        """
        low, high = self._reachable_speeds(limits, dt)
        wanted = np.where(limits.movable, clamped(velocity, -_FASTEST, _FASTEST), 0.0)
        change = _slowed(wanted / limits.unit, pace * limits.scaling) - self.speed
        share = min(bound_along(limits.acceleration, change) * dt * FULL_SPEED, 1.0)
        self._take(self.speed + share * change, low, high, limits, dt)

    def _reachable_speeds(self, limits: MotionLimits, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest speeds (n,) of a tick, in shares."""
        if self.at_rest:
            self.braking = limits.braking
        elif (self.braking < limits.braking).any():
            self.braking = np.maximum(self.braking, limits.braking)
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

    def _wanted(
        self, ahead: np.ndarray, limits: MotionLimits, dt: float, pace: float, cautious: bool
    ) -> np.ndarray:
        """Return the speeds (n,) that lead along the line to the goal, in shares."""
        distance = largest(np.abs(ahead))
        most = self.braking * (dt * FULL_SPEED)
        if distance == 0.0:  # all slow down in proportion
            return self.speed * remaining_share(np.abs(self.speed), most)
        line = ahead / distance
        along = max(float(self.speed @ line) / float(line @ line), 0.0)
        braking, least = bound_along(limits.acceleration, line), along - bound_along(most, line)
        cruise = max(pace * limits.scaling * FULL_SPEED, least)
        faster = along + braking * dt * FULL_SPEED
        ticks = 0.0 if cautious else _ramp_ticks(braking, limits.scaling, dt)
        stop = _arriving_speed(distance, braking, ticks, dt)
        wanted = line * min(faster, cruise, max(stop, least))
        return self.speed + clamped(wanted - self.speed, -most, most)


def _slowed(speeds: np.ndarray, most: float) -> np.ndarray:
    """Return speeds (n,) of the same direction of which none is beyond a bound."""
    fastest, most = largest(np.abs(speeds)), most * FULL_SPEED
    return speeds * (most / fastest) if fastest > most else speeds


def _is_arrival(
    speed: np.ndarray, low: np.ndarray, high: np.ndarray, acceleration: np.ndarray
) -> bool:
    """Whether a tick of these speeds may end at the goal, and be the last one."""
    slow = np.abs(speed) <= acceleration * _SHORTEST_TICK
    return bool((slow & (speed >= low) & (speed <= high)).all())


def _ramp_ticks(braking: float, scaling: float, dt: float) -> float:
    """Return how many ticks a slow-down from the highest speed takes; 0 without a limit."""
    return scaling / (braking * dt) if 0.0 < braking < np.inf else 0.0


def _arriving_speed(distance: float, braking: float, ticks: float, dt: float) -> float:
    """
    Return the highest speed from which the command arrives at a goal, in ticks of about ``dt``.

    Slowing down in equal ticks takes half a tick less than :func:`.stopping_speed` allows for. How
    much of that can be used without going too far depends on how many ticks the slow-down takes,
    and on how much shorter than this one they may be.
    """
    if ticks < 1.0:
        return stopping_speed_along(distance, braking, dt)
    certainty = (1.0 / _JITTER - 2.0) / ticks
    share = (1.0 + 0.5 * certainty) / (1.0 + certainty)
    return min(stopping_speed_along(distance, braking, share * dt), distance / dt)
