"""
Joint motion towards a goal: bounded speed and acceleration, no overshoot, no jump.

All joints move together: from rest the command follows the straight line in joint space, and all
joints arrive in the same tick. Speeds are shares of each joint's velocity limit, and distances the
time that they take at that limit, so that one formula serves radians and metres alike. Ticks may
be of any length: a speed is always one from which the command can still stop in time, however
short or long the ticks that follow are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LONGEST_RAMP = 2.0
"""Time in which a command comes to rest from full speed, however gentle its acceleration [s]."""

_FULL_SPEED = 1.0 - 1e-9
"""Share of a bound that is used; the rest is room for rounding."""

_JITTER = 0.02
"""Share by which a tick may be shorter than the one before in normal operation."""

_SHORTEST_TICK = 5e-4
"""Half a period of the fastest rate [s]: within it a command that has arrived can be at rest."""


@dataclass(frozen=True)
class MotionLimits:
    """
    Bounds on the motion of n joints.

    :ivar lower: (n,) lower limits [rad] or [m]; −inf where unlimited.
    :ivar upper: (n,) upper limits [rad] or [m]; inf where unlimited.
    :ivar velocity: (n,) the joints' velocity limits [rad/s] or [m/s]; 0 for one that does not
        move.
    :ivar scaling: share of the velocity limits that is used, 0 to 1.
    :ivar acceleration: largest change of that share in a second [1/s]; inf for no such limit.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    scaling: float
    acceleration: float

    @cached_property
    def movable(self) -> np.ndarray:
        """Mask of the joints that may move (n,)."""
        return self.velocity > 0.0

    @cached_property
    def unit(self) -> np.ndarray:
        """Speeds that count as 1 (n,) [rad/s] or [m/s]: the velocity limits, never 0."""
        return np.where(self.movable, self.velocity, 1.0)

    @cached_property
    def braking(self) -> float:
        """Largest decrease of the share in a second [1/s]: a ramp to rest takes 2 s at most."""
        return max(self.acceleration, self.scaling / LONGEST_RAMP)

    def reachable_speeds(
        self, q: np.ndarray, speed: np.ndarray, braking: float, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the bounds of the speeds that a command may have in a tick.

        They are within the acceleration, within the velocity limits (or on the way there, as fast
        as braking allows), and such that every joint can stop before its limits.

        :param q: (n,) the last command [rad] or [m]; a joint outside its limits may stay or come
            back.
        :param speed: (n,) its speed, in shares of the velocity limits.
        :param braking: largest decrease of a share in a second [1/s].
        :param dt: length of the tick [s], above 0.
        :returns: (n,) lowest and (n,) highest share.
        """
        more, less = self.acceleration * dt, braking * dt
        size = np.abs(speed)
        # Where the joints are faster than they may be now, all slow down in proportion.
        slower = size * (1.0 - min(less / max(_largest(size), 1e-12), 1.0))
        # Of the interval of speeds, the end in the direction of the motion, and the other one.
        fast = np.minimum(size + more, np.maximum(self.scaling * _FULL_SPEED, slower))
        slow = np.maximum(size - less, -min(more, self.scaling))
        backwards = speed < 0.0
        low, high = np.where(backwards, -fast, slow), np.where(backwards, -slow, fast)
        room = np.empty((2, len(q)))  # above and below
        np.subtract(self.upper, q, out=room[0])
        np.subtract(q, self.lower, out=room[1])
        above, below = stopping_speed(np.maximum(room, 0.0) / self.unit, braking, dt)
        low, high = np.maximum(low, -below), np.minimum(high, above)
        return np.minimum(low, high), high

    def inside(self, q: np.ndarray, last: np.ndarray) -> np.ndarray:
        """
        Return positions brought inside the joint limits.

        :param q: (n,) positions [rad] or [m].
        :param last: (n,) the positions before; a joint that was outside its limits there may stay
            or come back, so that its place is its limit for now.
        """
        return clamped(q, np.minimum(self.lower, last), np.maximum(self.upper, last))


class JointMotion:
    """
    Motion of a joint command, tick by tick.

    :ivar q: (n,) the command [rad] or [m]; a new array after every move.
    :ivar speed: (n,) the speed of the last move, in shares of the velocity limits.
    :ivar braking: how fast it may slow down [1/s]: never less than it was allowed to speed up
        since it last rested, so that what was in time to stop stays so when limits change.
    """

    def __init__(self, q: np.ndarray) -> None:
        """
        Start at rest.

        :param q: (n,) where [rad] or [m]; may lie outside the limits, and is brought inside
            by the moves that follow.
        """
        self.q = np.array(q, dtype=np.float64)
        self.speed = np.zeros_like(self.q)
        self.braking = 0.0

    @property
    def at_rest(self) -> bool:
        """Whether the last move left the command where it was."""
        return not self.speed.any()

    def resting_place(self, limits: MotionLimits) -> np.ndarray:
        """
        Return where the command comes to rest at the latest, (n,) [rad] or [m].

        It slows down along the straight line to there, however long the ticks are, unless a joint
        limit lies on the way.

        :param limits: bounds on the motion.
        """
        fastest = _largest(np.abs(self.speed))
        if fastest <= self.braking * _SHORTEST_TICK:
            return self.q
        return self.q + self.speed * limits.unit * (0.5 * fastest / self.braking)

    def move(
        self,
        goal: np.ndarray | None,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
        cautious: bool = False,
    ) -> None:
        """
        Move by one tick.

        :param goal: (n,) where to, within the limits [rad] or [m]; None to slow down and stop.
        :param limits: bounds on the move.
        :param dt: length of the tick [s], above 0.
        :param pace: share of the full speed that is asked for, 0 to 1.
        :param cautious: whether the resting place, too, may not lie beyond the goal; the arrival
            then takes some ticks more.
        """
        movable, unit = limits.movable, limits.unit
        self.braking = max(0.0 if self.at_rest else self.braking, limits.braking)
        ahead = np.zeros_like(self.q) if goal is None else np.where(movable, goal - self.q, 0.0)
        low, high = limits.reachable_speeds(self.q, self.speed, self.braking, dt)
        last = ahead / (unit * dt)
        if goal is not None and _is_arrival(last, low, high, limits.acceleration):
            self.q, self.speed = np.where(movable, goal, self.q), last
            return
        braking = self.braking if goal is None else limits.acceleration
        wanted = self._wanted(ahead / unit, braking, limits, dt, pace, cautious)
        self.speed = np.where(movable, clamped(wanted, low, high), 0.0)
        self.q = limits.inside(self.q + self.speed * unit * dt, self.q)

    def _wanted(
        self,
        ahead: np.ndarray,
        braking: float,
        limits: MotionLimits,
        dt: float,
        pace: float,
        cautious: bool,
    ) -> np.ndarray:
        """Return the speeds (n,) that lead along the line to the goal, in shares."""
        distance = _largest(np.abs(ahead))
        most = self.braking * dt * _FULL_SPEED
        if distance == 0.0:  # all slow down in proportion
            return self.speed * (1.0 - min(most / max(_largest(np.abs(self.speed)), 1e-12), 1.0))
        line = ahead / distance
        along = max(float(self.speed @ line) / float(line @ line), 0.0)
        cruise = max(pace * limits.scaling * _FULL_SPEED, along - most)
        faster = along + limits.acceleration * dt * _FULL_SPEED
        ticks = 0.0 if cautious else _ramp_ticks(braking, limits.scaling, dt)
        stop = _arriving_speed(distance, braking, ticks, dt)
        wanted = line * min(faster, cruise, max(stop, along - most))
        return self.speed + clamped(wanted - self.speed, -most, most)


def clamped(values: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """
    Return values brought into intervals; for few values faster than ``numpy.clip``.

    :param values: (n,) values of any unit.
    :param low: (n,) or one for all, the lower ends.
    :param high: (n,) or one for all, the upper ends.
    """
    return np.minimum(np.maximum(values, low), high)


def _largest(sizes: np.ndarray) -> float:
    """Return the largest of values that are not negative; 0 of none."""
    return float(sizes.max(initial=0.0))


def _is_arrival(speed: np.ndarray, low: np.ndarray, high: np.ndarray, acceleration: float) -> bool:
    """Whether a tick of these speeds may end at the goal, and be the last one."""
    slow = _largest(np.abs(speed)) <= acceleration * _SHORTEST_TICK
    return bool(slow and (speed >= low).all() and (speed <= high).all())


def _ramp_ticks(braking: float, scaling: float, dt: float) -> float:
    """Return how many ticks a slow-down from the highest speed takes; 0 without a limit."""
    return scaling / (braking * dt) if 0.0 < braking < np.inf else 0.0


def _arriving_speed(distance: float, braking: float, ticks: float, dt: float) -> float:
    """
    Return the highest speed from which the command arrives at a goal, in ticks of about ``dt``.

    Slowing down in equal ticks takes half a tick less than :func:`stopping_speed` allows for. How
    much of that can be used without going too far depends on how many ticks the slow-down takes,
    and on how much shorter than this one they may be.
    """
    if ticks < 1.0:
        return float(stopping_speed(np.array(distance), braking, dt))
    certainty = (1.0 / _JITTER - 2.0) / ticks
    share = (1.0 + 0.5 * certainty) / (1.0 + certainty)
    return min(float(stopping_speed(np.array(distance), braking, share * dt)), distance / dt)


def stopping_speed(distance: np.ndarray, braking: float, dt: float) -> np.ndarray:
    """
    Return the highest speed from which the ticks that follow can stop within a distance.

    A tick at the speed s covers s·dt, and slowing down after it at most s²/(2 braking), whatever
    the length of the ticks; this is the root of s·dt + s²/(2 braking) = distance, in the form
    that loses no digits. A command that keeps to it can keep to it in the next tick by slowing
    down with no more than ``braking``.

    :param distance: of any shape, as the time that it takes at full speed [s]; may be inf.
    :param braking: decrease of the speed, in shares of the full speed, in a second [1/s].
    :param dt: length of the tick [s].
    :returns: in shares of the full speed.
    """
    if braking <= 0.0:
        return np.zeros_like(distance)
    distance = np.minimum(distance, 1e9)
    return 2.0 * distance / (dt + np.sqrt(dt * dt + 2.0 * distance / braking))
