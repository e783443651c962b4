"""
Path of a target that moves, which the joints keep to while they cannot keep up with it.

Straight motions to the newest goal would leave the path of the target where the joints are behind.
On the path they go as the target went, or faster; or, where it was too fast for them or they are
beside the path, to the farthest posture that is straight ahead.

The postures of a path have the times at which the target was there. Smoothed over some of them
they are a motion, which the commands go along: as the target did, or faster, as far as the bounds
of all joints allow here and wherever they have to slow down for later. So a target that the joints
can keep up with is caught up with, along its path. Smoothed is by parabolas through neighbouring
values (Savitzky and Golay 1964), and the rates are those of time-optimal motions along a path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ik_service.jit.entry import entry_point
from ik_service.motion.command.motion_limits import bound_along, largest, stopping_speed_along
from ik_service.motion.goal import Step, Tick
from ik_service.motion.tracking.moving_goal import (
    GoalClock,
    MovingGoal,
    path_position,
    PathPosition,
)
from ik_service.motion.tracking.target_kernels import (
    farthest_straight_ahead,
    highest_rate,
    smoothed_path,
)


class TimedRows(NamedTuple):
    """
    Some postures of a path, the oldest first; views that are valid until the next change.

    :ivar times: (k,) when the target was there [s].
    :ivar points: (k, n) the postures [rad] or [m].
    :ivar nears: (k,) distances from straight lines past them, at most [rad] or [m].
    """

    times: np.ndarray
    points: np.ndarray
    nears: np.ndarray


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


KEPT = 0.15  # time for which passed postures are needed [s]

_SPACING, _HALF, _AHEAD = 0.02, 3, 40
"""
Time between the samples of the motion [s]; the number before and after one over which it is
smoothed; and the number ahead that are used.
"""

_BEYOND = 0.1  # time beyond the last posture up to which the motion is sampled [s]
_NEAR = 2e-3  # distance of the motion from the path, at most [rad] or [m]

_ASIDE, _LOST = 2e-3, 6e-3
"""
Distance from the motion up to which commands are on it, and from which on they are not any more,
as time at full speed [s].
"""

_SEARCH_STEPS, _BETWEEN = 5, 0.005
"""Steps in the search of the point beside commands; time between the last two, at most [s]."""

_SHARE, _LEAST = 0.8, 0.1
"""Share of the acceleration that is used, and for a change of the rate at least."""

_FULL = 0.98  # share of the speeds that is used; the rest is for coming back to the motion
_FASTEST = 4.0  # speed along the path, at most, as a share of the target's
_STILL = 3e-5  # speed that counts as none, in shares of full speed


def _weights() -> np.ndarray:
    """Return the weights (3, 2·_HALF + 1) of the parabola through samples around one."""
    times = np.arange(-_HALF, _HALF + 1) * _SPACING
    value, speed, bend = np.linalg.pinv(np.vander(times, 3, increasing=True))
    return np.array([value, speed, 2.0 * bend])


_WEIGHTS = _weights()


class PathView(NamedTuple):
    """
    Path of a target.

    :ivar path: its last postures.
    :ivar goal: how it goes on beyond them; None when it rests there.
    :ivar start: when it was about where the commands are [s].
    """

    path: TimedRows
    goal: MovingGoal | None
    start: float


class PathClock:
    """
    Time at which a target was where the commands are.

    :ivar time: on the clock of the target [s]; None while the commands are not on its path.
    """

    def __init__(self) -> None:
        self.time: float | None = None
        self._rate = 0.0
        self._code = _code()

    def stop(self) -> None:
        """Note that the commands leave the path."""
        self.time = None

    def step(self, view: PathView, tick: Tick, until: float, straight: float) -> Step | None:
        """
        Return the step to the next point of the path; None where a direct motion is better.

        :param until: when it is where the commands shall be at the end of the tick at best [s].
        :param straight: speed up to which a direct motion is as good, in shares of full speed.
        """
        if tick.late or self.time is None:
            self.time = self._locate(view, tick, until)
        if self.time is None:
            return None
        behind = until - tick.dt - self.time
        time, self.time = self.time, None
        places = int((view.path.times[-1] + _BEYOND - time) / _SPACING)
        motion = self._motion(view, time, min(max(places, 0), _AHEAD))
        place = _place(motion, tick)
        fastest, change = self._rates(motion, tick)
        fastest = min(fastest, 1.0 + stopping_speed_along(max(behind, 0.0), change, tick.dt))
        speed = largest(np.abs(tick.leading[1]) / tick.limits.unit)
        away = tick.leading[1] - min(self._rate, fastest) * place.along
        if _braking_distance(away, tick) > _ASIDE:
            return None
        if place.aside > _LOST or (fastest < 1.0 and speed <= straight):
            return None
        faster = self._rate + change * tick.dt
        slower = max(self._rate - change * tick.dt, 0.0)
        self._rate = min(slower if place.aside > _ASIDE else faster, fastest)
        self.time = time + min(place.ahead, 0.0) + self._rate * tick.dt
        there = self._motion(view, self.time, 0)
        return Step(there[0, 0], self._rate * there[1, 0])

    def _locate(self, view: PathView, tick: Tick, until: float) -> float | None:
        """Return when the target was where the commands are; None where those are elsewhere."""
        time, ahead = view.start, 0.0
        for _ in range(_SEARCH_STEPS):
            time = min(max(time + ahead, view.start - KEPT), until)
            motion = self._motion(view, time, 0)
            place = _place(motion, tick)
            ahead = place.ahead
        if place.aside > _ASIDE or abs(ahead) > _BETWEEN or largest(motion[3, 0]) > _NEAR:
            return None
        self._rate = min(max(place.rate, 0.0), _FASTEST)
        return time

    def _motion(self, view: PathView, time: float, ahead: int) -> np.ndarray:
        """Return the smoothed path (4, ahead + 1, n) from a time on."""
        points = view.path.points
        goal = np.zeros((2, points.shape[1]))
        if view.goal is not None:
            goal[0], goal[1] = view.goal.velocity, view.goal.acceleration
        around = np.empty((ahead + len(_WEIGHTS[0]), points.shape[1]))
        motion = np.empty((4, ahead + 1, points.shape[1]))
        smooth, _ = self._code
        smooth(view.path.times, points, goal, time, _SPACING, _WEIGHTS, around, motion)
        return motion

    def _rates(self, motion: np.ndarray, tick: Tick) -> tuple[float, float]:
        """Return the highest rate, and how fast the rate may change [1/s]."""
        limits = tick.limits.averaged if tick.limits.window else tick.limits
        most = np.empty((2, motion.shape[2]))
        most[0] = (_FULL * tick.pace) * limits.velocity_now
        most[1] = _SHARE * limits.acceleration_now
        found = np.empty(2)
        _, look = self._code
        look(motion, most, _NEAR, _FASTEST, _LEAST, _SPACING, self._rate, found)
        return float(found[0]), float(found[1])


def _place(motion: np.ndarray, tick: Tick) -> PathPosition:
    """Compare the commands with the first sample of a motion; where it rests, it is as fast."""
    position, velocity = motion[0, 0], motion[1, 0]
    place = path_position(position, velocity, tick, _STILL)
    if place is None:
        aside = largest(np.abs(tick.leading[0] - position) / tick.limits.unit)
        place = PathPosition(velocity, 0.0, aside, 1.0)
    return place


def _braking_distance(velocity: np.ndarray, tick: Tick) -> float:
    """Return how far joints go that come to rest from a velocity (n,), as time at full speed."""
    speeds = np.abs(velocity) / tick.limits.unit
    moving = speeds > 0.0
    with np.errstate(divide='ignore'):  # joints that may not brake come nowhere to rest
        return largest(0.5 * speeds[moving] ** 2 / tick.limits.acceleration[moving])


@cache
def _code() -> tuple[Callable, Callable]:
    """Return the machine code of the looks along a path, compiled now or loaded."""
    row, rows, motion = np.zeros(1), np.zeros((2, 1)), np.ones((4, 1, 1))
    around = np.zeros((len(_WEIGHTS[0]), 1))
    smooth = entry_point(
        smoothed_path, row, row[:, None], rows, 0.0, _SPACING, _WEIGHTS, around, motion
    )
    look = entry_point(
        highest_rate, motion, rows, _NEAR, _FASTEST, _LEAST, _SPACING, 1.0, np.zeros(2)
    )
    return smooth, look


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
A change of the configuration is not counted.
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
        self._changing_until = -np.inf
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
        self._own_clock.stop()
        self.extend(q[None], at)

    def extend(self, points: np.ndarray, at: float, changes: bool = False) -> None:
        """
        Extend the path.

        :param points: (k, n) the next postures [rad] or [m].
        :param at: time of the target that they reach [s].
        :param changes: whether they end in another configuration.
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
