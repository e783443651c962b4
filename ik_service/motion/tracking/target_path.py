"""
Path of a target that moves, which the joints keep to while they cannot keep up with it.

Straight motions to the newest goal would leave the path of the target where the joints are behind.
On the path they go as the target went, or faster; or, where it was too fast for them or they are
beside the path, to the farthest posture that is straight ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ik_service.jit.entry import entry_point
from ik_service.motion.command.motion_limits import bound_along, largest
from ik_service.motion.goal import Step, Tick
from ik_service.motion.tracking.moving_goal import MovingGoal
from ik_service.motion.tracking.path_clocks import GoalClock, KEPT, PathClock, PathView, TimedRows
from ik_service.motion.tracking.target_kernels import farthest_straight_ahead


class TimedPostures:
    """Postures with times, the first of which have been passed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times, self._nears = np.empty(2 * most), np.empty(2 * most)
        self._points = np.empty((0, 0))
        self._first = self._next = self._end = 0

    def __len__(self) -> int:
        return self._end - self._next

    def clear(self) -> None:
        """Forget all."""
        self._first = self._next = self._end = 0

    def extend(self, times: np.ndarray, points: np.ndarray, near: float) -> None:
        """
        Add postures at the end; the oldest ones go when they are too many.

        :param times: (k,) when the target was there [s].
        :param points: (k, n) the postures [rad] or [m].
        :param near: distance from straight lines past them, at most [rad] or [m].
        """
        times, points = times[-self._most :], points[-self._most :]
        if self._points.shape[1] != points.shape[1]:
            self._points = np.empty((2 * self._most, points.shape[1]))
        if self._end + len(times) > 2 * self._most:
            self._move_to_front()
        new = slice(self._end, self._end + len(times))
        self._times[new], self._points[new], self._nears[new] = times, points, near
        self._end = new.stop
        self._first = max(self._first, self._end - self._most)
        self._next = max(self._next, self._first)

    def _move_to_front(self) -> None:
        kept = slice(max(self._first, self._end - self._most), self._end)
        for rows in (self._times, self._points, self._nears):
            rows[: kept.stop - kept.start] = rows[kept].copy()
        self._first, self._next = 0, max(self._next - kept.start, 0)
        self._end = kept.stop - kept.start

    def shift(self, turns: np.ndarray) -> None:
        """Add turns (n,) to the positions of all."""
        self._points[self._first : self._end] += turns

    def put_last_at(self, time: float) -> None:
        """Change when the target was at the last posture [s]."""
        self._times[self._end - 1] = time

    def pass_next(self, kept: float) -> None:
        """Count the next posture as passed; those `kept` [s] before the one after it are kept."""
        self._next += 1
        since = self._times[self._next] - kept
        while self._first + 1 < self._next and self._times[self._first + 1] < since:
            self._first += 1

    def ahead(self, most: int) -> TimedRows:
        """Return the next postures that have not been passed."""
        return self._rows(self._next, min(self._end, self._next + most))

    def around(self, most: int) -> TimedRows:
        """Return the passed ones that are kept, and the next ones."""
        return self._rows(self._first, min(self._end, self._next + most))

    @property
    def next_time(self) -> float:
        """When the target was at the next posture [s]."""
        return float(self._times[self._next])

    @property
    def last_time(self) -> float:
        """When the target was at the last posture [s]."""
        return float(self._times[self._end - 1])

    def last(self) -> np.ndarray:
        """Return a copy of the last posture (n,) [rad] or [m]."""
        return self._points[self._end - 1].copy()

    def _rows(self, first: int, end: int) -> TimedRows:
        chosen = slice(first, end)
        return TimedRows(self._times[chosen], self._points[chosen], self._nears[chosen])


_STRAIGHT, _STRAIGHT_IN_CHANGES = 2e-3, 5e-3
"""
Distance of postures from the straight line that passes them, at most [rad] or [m]; the postures of
a change of the configuration are farther apart.
"""

_FARTHEST = 59
_LOOKS = np.array([_FARTHEST, 47, 36, 27, 20, 15, 11, 8, 6, 4, 3, 2, 1])
"""Indices of the postures checked for a direct motion."""

_LONGEST_BEHIND = 8.0
"""
Time by which the joints may be behind before they leave the path and go straight to its end [s].
A change of the configuration is not counted, but further ones that come during it are.
"""

_MOST, _LOOKED_AT = 4000, 1000
"""Postures that are kept; and those ahead that a motion along the path takes into account."""


class TargetPath:
    """
    Postures for the last poses of a target that the joints have not passed yet.

    :ivar changing: whether the joints are being reconfigured.
    :ivar clock: of the goals that go on beyond its end; None before there was one.
    """

    def __init__(self) -> None:
        self.clock: GoalClock | None = None
        self._own_clock = PathClock()
        self._lead = 0.0
        self._postures = TimedPostures(_MOST)
        self._changing_until = self._waiting_until = -np.inf
        self._free_since = -np.inf
        self._look = _look()

    @property
    def changing(self) -> bool:
        """Whether the joints are being reconfigured."""
        return len(self._postures) > 0 and self._postures.next_time <= self._changing_until

    @property
    def passed(self) -> bool:
        """Whether no more than its end is ahead."""
        return len(self._postures) < 2

    @property
    def on_path(self) -> bool:
        """Whether the joints go along it as the target did, or faster."""
        return self._own_clock.time is not None

    def restart(self, q: np.ndarray, at: float) -> None:
        """Forget the path; another one begins at a posture (n,) and a time of the target [s]."""
        self._postures.clear()
        self._changing_until = -np.inf
        self.clock = None
        self._own_clock.time = None
        self.extend(q[None], at)

    def extend(self, points: np.ndarray, at: float, changes: bool = False) -> None:
        """
        Extend the path.

        :param points: (k, n) the next postures [rad] or [m].
        :param at: time of the target that they reach [s].
        :param changes: whether they end in another configuration.
        """
        postures, end, changing = self._postures, self.end(), self.changing
        if len(points) == 1 and end is not None and np.array_equal(points[0], end):
            postures.put_last_at(at)
            return
        times = np.full(len(points), at)
        if end is not None and not changes:
            times = np.linspace(postures.last_time, at, len(points) + 1)[1:]
        postures.extend(times, points, _STRAIGHT_IN_CHANGES if changes else _STRAIGHT)
        if changes:
            if not changing:
                self._waiting_until = at
            self._changing_until = at

    def shift(self, turns: np.ndarray) -> None:
        """Put joints on another turn, by whole turns (n,) [rad], 0 for other joints."""
        self._postures.shift(turns)

    def end(self) -> np.ndarray | None:
        """Return where the path ends (n,) [rad] or [m]; None without one."""
        return self._postures.last() if len(self._postures) else None

    def behind(self) -> float:
        """Return how long ago the target was where the joints are [s]."""
        postures = self._postures
        return postures.last_time - postures.next_time if len(postures) else 0.0

    def advance(self, q: np.ndarray, now: float) -> None:
        """Drop the postures passed by q (n,), and leave the path when too far behind."""
        postures = self._postures
        while len(postures) > 1 and self._is_next_passed(q):
            postures.pass_next(KEPT)
        if self.changing and postures.next_time <= self._waiting_until:
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
        self._own_clock.time = None

    def step(self, tick: Tick, goal: MovingGoal | None) -> Step:
        """Return the step along the path, or back to it; without a goal it rests at the end."""
        straight = self.ahead(tick.q)
        if self.changing:
            self.leave()
            return Step(straight)
        # A command stands until the next one: at the middle of that time it shall be right.
        self._lead = 0.5 * tick.limits.window
        until = tick.now + 0.5 * tick.dt + self._lead
        view = PathView(self._postures.around(_LOOKED_AT), goal, self._postures.next_time)
        step = self._own_clock.step(view, tick, until, _speed_towards(straight, tick))
        return Step(straight) if step is None else step

    def ahead(self, q: np.ndarray) -> np.ndarray:
        """Return the farthest posture (n,) straight ahead of q (n,), where to go next."""
        _, points, nears = self._postures.ahead(_FARTHEST + 1)
        return points[self._look(points, q.copy(), _LOOKS, nears)].copy()


def _speed_towards(q: np.ndarray, tick: Tick) -> float:
    """Return how fast a motion to rest at a posture (n,) may be at most, in full speeds."""
    view = (q - tick.q) / tick.limits.unit
    braking = bound_along(tick.limits.acceleration, view)
    return min(float(np.sqrt(2.0 * braking)) * largest(np.abs(view)), tick.limits.scaling)


@cache
def _look() -> Callable:
    """Return the machine code of the look, compiled now or loaded."""
    return entry_point(farthest_straight_ahead, np.zeros((1, 1)), np.zeros(1), _LOOKS, np.zeros(1))
