"""
Trail of a target that moves, which the joints keep to while they cannot keep up with it.

Straight motions to the newest goal would leave the way of the target where the joints are behind.
On the trail they go as the target went, or faster; or, where it was too fast for them or they are
beside the trail, to the farthest posture that is straight ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ik_service.following.aim import Step, Tick
from ik_service.following.goal_clock import GoalClock
from ik_service.following.motion_limits import bound_along, largest
from ik_service.following.moving_goal import MovingGoal
from ik_service.following.timed_postures import TimedPostures
from ik_service.following.trail_clock import KEPT, TrailClock, Way
from ik_service.following.trail_kernels import farthest_straight_ahead
from ik_service.kinematics.entry import entry_point

_STRAIGHT, _STRAIGHT_IN_CHANGES = 2e-3, 5e-3
"""
Distance of postures from the straight line that passes them, at most [rad] or [m]; the postures of
a change of the configuration are farther apart.
"""

_FARTHEST = 59
_LOOKS = np.array([_FARTHEST, 47, 36, 27, 20, 15, 11, 8, 6, 4, 3, 2, 1])
"""Places of the postures that may be gone to straight away."""

_LONGEST_BEHIND = 8.0
"""
Time by which the joints may be behind before they leave the trail and go straight to its end [s].
A change of the configuration is not counted.
"""

_MOST, _LOOKED_AT = 4000, 1000
"""Postures that are kept; and those ahead that a motion along the trail takes into account."""


class TargetTrail:
    """
    Postures for the last poses of a target that the joints have not passed yet.

    :ivar changing: whether the joints are led to another configuration.
    :ivar clock: of the goal that goes on beyond its end.
    """

    def __init__(self) -> None:
        self.clock = GoalClock()
        self._own_clock = TrailClock()
        self._lead = 0.0
        self._postures = TimedPostures(_MOST)
        self._led_until = -np.inf
        self._free_since = -np.inf
        self._look = _look()

    @property
    def changing(self) -> bool:
        """Whether the joints are led to another configuration."""
        return len(self._postures) > 0 and self._postures.next_time <= self._led_until

    @property
    def passed(self) -> bool:
        """Whether no more than its end is ahead."""
        return len(self._postures) < 2

    @property
    def on_way(self) -> bool:
        """Whether the joints go along it as the target did, or faster."""
        return self._own_clock.time is not None

    def restart(self, q: np.ndarray, at: float) -> None:
        """
        Forget the trail; another one begins.

        :param q: (n,) where the joints shall go [rad] or [m].
        :param at: time of the target [s].
        """
        self._postures.clear()
        self._led_until = -np.inf
        self.clock = GoalClock()
        self._own_clock.stop()
        self.extend(q[None], at)

    def extend(self, points: np.ndarray, at: float, changes: bool = False) -> None:
        """
        Extend the trail.

        :param points: (k, n) the next postures [rad] or [m].
        :param at: time of the target that they lead to [s].
        :param changes: whether they lead to another configuration.
        """
        postures, end = self._postures, self.end()
        if len(points) == 1 and end is not None and np.array_equal(points[0], end):
            postures.put_last_at(at)
            return
        times = np.full(len(points), at)
        if end is not None and not changes:
            times = np.linspace(postures.last_time, at, len(points) + 1)[1:]
        postures.extend(times, points, _STRAIGHT_IN_CHANGES if changes else _STRAIGHT)
        if changes:
            self._led_until = at

    def shift(self, turns: np.ndarray) -> None:
        """
        Put joints on another turn.

        :param turns: (n,) whole turns [rad], 0 for other joints.
        """
        self._postures.shift(turns)

    def end(self) -> np.ndarray | None:
        """Return where the trail ends (n,) [rad] or [m]; None without one."""
        return self._postures.last() if len(self._postures) else None

    def behind(self) -> float:
        """Return how long ago the target was where the joints are [s]."""
        postures = self._postures
        return postures.last_time - postures.next_time if len(postures) else 0.0

    def advance(self, q: np.ndarray, now: float) -> None:
        """
        Drop what has been passed, and leave the trail when the joints are too far behind.

        :param q: (n,) the last command [rad] or [m].
        :param now: on the clock of the targets [s].
        """
        postures = self._postures
        while len(postures) > 1 and self._is_next_passed(q):
            postures.pass_next(KEPT)
        if self.changing:
            self._free_since = now
        elif len(postures) and self._left_behind(now):
            self.restart(postures.last(), postures.last_time)

    def _left_behind(self, now: float) -> bool:
        """Whether the joints are too far behind."""
        return now - max(self._postures.next_time, self._free_since) > _LONGEST_BEHIND

    def _is_next_passed(self, q: np.ndarray) -> bool:
        """Whether the joints (n,) have passed the next posture."""
        if self._own_clock.time is not None:
            return self._postures.next_time < self._own_clock.time - self._lead
        _, points, nears = self._postures.ahead(2)
        off = q - points[0]
        return bool(off @ (points[1] - points[0]) >= 0.0 or np.abs(off).max() <= nears[0])

    def leave(self) -> None:
        """Note that the joints go to where the target is by now."""
        self._own_clock.stop()

    def step(self, tick: Tick, goal: MovingGoal | None) -> Step:
        """
        Return the step along the trail, or back to it.

        :param tick: what is known now.
        :param goal: where the target goes on to; None when it rests at the end.
        """
        straight = self.ahead(tick.q)
        if self.changing:
            self.leave()
            return Step(straight)
        # A command stands until the next one: at the middle of that time it shall be right.
        self._lead = 0.5 * tick.limits.window
        until = tick.now + 0.5 * tick.dt + self._lead
        way = Way(self._postures.around(_LOOKED_AT), goal, self._postures.next_time)
        step = self._own_clock.step(way, tick, until, _speed_towards(straight, tick))
        return Step(straight) if step is None else step

    def ahead(self, q: np.ndarray) -> np.ndarray:
        """
        Return where to go next, the farthest posture straight ahead (n,) [rad] or [m].

        :param q: (n,) the last command [rad] or [m].
        """
        _, points, nears = self._postures.ahead(_FARTHEST + 1)
        return points[self._look(points, q.copy(), _LOOKS, nears)].copy()


def _speed_towards(q: np.ndarray, tick: Tick) -> float:
    """Return how fast a motion to rest at a posture (n,) may be at most, in full speeds."""
    way = (q - tick.q) / tick.limits.unit
    braking = bound_along(tick.limits.acceleration, way)
    return min(float(np.sqrt(2.0 * braking)) * largest(np.abs(way)), tick.limits.scaling)


@cache
def _look() -> Callable:
    """Return the machine code of the look, compiled now or loaded."""
    return entry_point(farthest_straight_ahead, np.zeros((1, 1)), np.zeros(1), _LOOKS, np.zeros(1))
