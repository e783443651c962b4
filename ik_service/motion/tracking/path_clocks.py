"""
Clocks of commands on the path of a target: when the target was where the commands are.

A goal that goes on beyond the last pose has a parabola, along which the commands go; so do they
along the postures for the poses before, whose times are those at which the target was there.
Smoothed over some of them these are a motion: the commands go along as the target did, or faster,
as far as the bounds of all joints allow here and wherever they have to slow down for later. So a
target that the joints can keep up with is caught up with, along its path. Smoothed is by parabolas
through neighbouring values (Savitzky and Golay 1964), and the rates are those of time-optimal
motions along a path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.entry import entry_point
from ik_service.motion.command.motion_limits import bound_along, largest, stopping_speed_along
from ik_service.motion.goal import Step, Tick
from ik_service.motion.tracking.moving_goal import MovingGoal
from ik_service.motion.tracking.target_kernels import highest_rate, smoothed_path


class PathPosition(NamedTuple):
    """
    Position of commands relative to a point on a path, and their speed along it.

    :ivar along: (n,) velocity along the path at that point [rad/s] or [m/s].
    :ivar ahead: how much later the path is beside them [s].
    :ivar aside: how far they are from it, as time at full speed [s].
    :ivar rate: their speed along it, as a share of its own; negative where they come back.
    """

    along: np.ndarray
    ahead: float
    aside: float
    rate: float


def path_position(
    position: np.ndarray, velocity: np.ndarray, tick: Tick, still: float
) -> PathPosition | None:
    """
    Compare the commands with a point on a path.

    :param position: (n,) the point [rad] or [m].
    :param velocity: (n,) along the path at that point [rad/s] or [m/s].
    :param still: speed up to which the path is taken to rest there, in shares of full speed.
    :returns: None where it rests.
    """
    unit = tick.limits.unit
    line = velocity / unit
    size = float(line @ line)
    if size <= still * still:
        return None
    off = (tick.leading[0] - position) / unit
    ahead = float(off @ line) / size
    rate = float((tick.leading[1] / unit) @ line) / size
    return PathPosition(velocity, ahead, largest(np.abs(off - ahead * line)), rate)


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

_GOAL_STILL, _STILL = 1e-9, 3e-5
"""Speeds of a goal and along a smoothed path that count as none, in shares of full speed."""

_LOOKS = 3  # steps in which the point on the path of a goal is found; it is almost straight

_CATCHING_UP = 1.1
"""Speed along the path of a goal that is allowed whatever its bends are, as a share of its own."""


class GoalClock:
    """Time at which a goal was where the commands are, while they are behind it."""

    def __init__(self) -> None:
        self._missed = True
        self._time: float | None = None
        self._ticked = 0.0
        self._rate = 1.0

    def missed(self) -> None:
        """Note that the last step was not done, or was another one."""
        self._missed = True

    def step(self, goal: MovingGoal, tick: Tick, waits: bool) -> Step | None:
        """
        Return the step to where the goal is, or to the next point of its path.

        :param waits: whether commands that are not on its path have to get there first.
        :returns: None when the goal rests by now, or is waited with.
        """
        # A command stands until the next one: at the middle of that time it shall be right.
        later = 0.5 * (tick.dt + tick.limits.window)
        if self._missed or tick.late:
            self._missed = not self._locate(goal, tick, tick.now + later)
            if self._missed and waits:
                return None
        if self._time is not None:
            step = self._go_on(goal, tick, self._time, tick.now + later)
            if step is not None:
                return step
            self._time = None
        now = goal.at(tick.now, later)
        return None if now is None else Step(*now)

    def _locate(self, goal: MovingGoal, tick: Tick, until: float) -> bool:
        """Find where on the path of the goal the commands are; returns whether they are on it."""
        self._time, time = None, until
        place = _place_on_goal(goal, tick, time)
        for _ in range(_LOOKS):
            if place is None:
                return False
            time = min(time + place.ahead, until)
            place = _place_on_goal(goal, tick, time)
        if place is None or place.aside > _ASIDE:
            return False
        self._rate = max(place.rate, 0.0)
        self._time, self._ticked = time, tick.now - tick.dt
        return True

    def _go_on(self, goal: MovingGoal, tick: Tick, time: float, until: float) -> Step | None:
        """Return the step to the next point of the path; None when the goal is not ahead of it."""
        place = _place_on_goal(goal, tick, time)
        if place is None:
            return None
        time += min(place.ahead, 0.0)
        # The goal goes on from tick to tick; the motion has less time where sending took long.
        passed, self._ticked = tick.now - self._ticked, tick.now
        self._rate = self._next_rate(goal, tick, place, until - time - passed)
        time += passed + (self._rate - 1.0) * tick.dt
        at = goal.at(tick.now, time - tick.now)
        if time >= until or at is None:
            return None
        self._time = time
        return Step(at[0], self._rate * at[1])

    def _next_rate(
        self, goal: MovingGoal, tick: Tick, place: PathPosition, behind: float
    ) -> float:
        """
        Return how fast to go along the path, as a share of the goal's speed.

        :param behind: by how much time they are behind it if they go on as it does [s].
        """
        limits, dt, bends = tick.limits, tick.dt, goal.acceleration
        most = (limits.averaged if limits.window else limits).acceleration_now
        room = np.maximum(_SHARE * most - self._rate**2 * np.abs(bends), _LEAST * most)
        change = min(bound_along(room, place.along), 1.0 / dt)
        in_bends = math.sqrt(_SHARE * bound_along(most, bends))
        faster = stopping_speed_along(behind, change, dt) if behind > 0.0 else 0.0
        fastest = tick.pace * bound_along(limits.velocity_now, place.along)
        fastest = min(fastest, max(in_bends, _CATCHING_UP), 1.0 + faster)
        if place.aside > _ASIDE:  # then getting there comes first
            return min(fastest, max(self._rate - change * dt, 1.0))
        return min(fastest, self._rate + change * dt)


def _place_on_goal(goal: MovingGoal, tick: Tick, time: float) -> PathPosition | None:
    """Compare the commands with where the goal was at a time; None where it does not move."""
    at = goal.at(tick.now, time - tick.now)
    return None if at is None else path_position(*at, tick, _GOAL_STILL)


def _weights() -> np.ndarray:
    """Return the weights (3, 2·_HALF + 1) of the parabola through samples around one."""
    times = np.arange(-_HALF, _HALF + 1) * _SPACING
    value, speed, bend = np.linalg.pinv(np.vander(times, 3, increasing=True))
    return np.array([value, speed, 2.0 * bend])


_WEIGHTS = _weights()


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
