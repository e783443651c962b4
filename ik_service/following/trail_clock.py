"""
Clock of the trail of a target, for commands that are far behind it.

The postures of a trail have the times at which the target was there. Smoothed over some of them
they are a motion, which the commands go along: as the target did, or faster, as far as the bounds
of all joints allow here and wherever they have to slow down for later. So a target that the joints
can keep up with is caught up with, along its way. Smoothed is by parabolas through neighbouring
values (Savitzky and Golay 1964), and the rates are those of time-optimal motions along a path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ik_service.following.aim import Step, Tick
from ik_service.following.motion_limits import largest, stopping_speed_along
from ik_service.following.moving_goal import MovingGoal
from ik_service.following.place_on_way import place_on_way, PlaceOnWay
from ik_service.following.timed_postures import Rows
from ik_service.following.trail_kernels import highest_rate, smoothed_trail
from ik_service.kinematics.entry import entry_point

KEPT = 0.15
"""Time for which passed postures are needed [s]."""

_SPACING, _HALF, _AHEAD = 0.02, 3, 40
"""
Time between the places of the motion that are looked at [s]; how many before and after one it is
smoothed over; and how many ahead are looked at.
"""

_BEYOND = 0.1
"""Time beyond the last posture up to which the motion is looked at [s]."""

_NEAR = 2e-3
"""Distance of the motion from the trail, at most [rad] or [m]."""

_ASIDE, _LOST = 2e-3, 6e-3
"""
Distance from the motion up to which commands are on it, and from which on they are not any more,
as time at full speed [s].
"""

_LOOKS, _BETWEEN = 5, 0.005
"""Looks for the place beside the commands; time between the last two places, at most [s]."""

_SHARE, _LEAST = 0.8, 0.1
"""Share of the acceleration that is used, and for a change of the rate at least."""

_FULL = 0.98
"""Share of the speeds that is used; the rest is for coming back to the motion."""

_FASTEST = 4.0
"""Speed along the way, at most, as a share of the target's."""

_STILL = 3e-5
"""Speed that counts as none, in shares of full speed."""


def _weights() -> np.ndarray:
    """Return the weights (3, 2·_HALF + 1) of the parabola through places around one."""
    times = np.arange(-_HALF, _HALF + 1) * _SPACING
    value, speed, bend = np.linalg.pinv(np.vander(times, 3, increasing=True))
    return np.array([value, speed, 2.0 * bend])


_WEIGHTS = _weights()


class Way(NamedTuple):
    """
    Way of a target.

    :ivar trail: its last postures.
    :ivar goal: how it goes on beyond them; None when it rests there.
    :ivar start: when it was about where the commands are [s].
    """

    trail: Rows
    goal: MovingGoal | None
    start: float


class TrailClock:
    """
    Time at which a target was where the commands are.

    :ivar time: on the clock of the target [s]; None while the commands are not on its way.
    """

    def __init__(self) -> None:
        self.time: float | None = None
        self._rate = 0.0
        self._code = _code()

    def stop(self) -> None:
        """Note that the commands leave the way."""
        self.time = None

    def step(self, way: Way, tick: Tick, until: float, straight: float) -> Step | None:
        """
        Return the step to the next place of the way; None where going straight is better.

        :param way: the way of the target.
        :param tick: what is known now.
        :param until: when it is where the commands shall be at the end of the tick at best [s].
        :param straight: speed up to which going straight is as good, in shares of full speed.
        """
        if tick.late or self.time is None:
            self.time = self._find_place(way, tick, until)
        if self.time is None:
            return None
        behind = until - tick.dt - self.time
        time, self.time = self.time, None
        places = int((way.trail.times[-1] + _BEYOND - time) / _SPACING)
        motion = self._motion(way, time, min(max(places, 0), _AHEAD))
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
        there = self._motion(way, self.time, 0)
        return Step(there[0, 0], self._rate * there[1, 0])

    def _find_place(self, way: Way, tick: Tick, until: float) -> float | None:
        """Return when the target was where the commands are; None where those are elsewhere."""
        time, ahead = way.start, 0.0
        for _ in range(_LOOKS):
            time = min(max(time + ahead, way.start - KEPT), until)
            motion = self._motion(way, time, 0)
            place = _place(motion, tick)
            ahead = place.ahead
        if place.aside > _ASIDE or abs(ahead) > _BETWEEN or largest(motion[3, 0]) > _NEAR:
            return None
        self._rate = min(max(place.rate, 0.0), _FASTEST)
        return time

    def _motion(self, way: Way, time: float, ahead: int) -> np.ndarray:
        """Return the smoothed trail (4, ahead + 1, n) from a time on."""
        points = way.trail.points
        goal = np.zeros((2, points.shape[1]))
        if way.goal is not None:
            goal[0], goal[1] = way.goal.velocity, way.goal.acceleration
        around = np.empty((ahead + len(_WEIGHTS[0]), points.shape[1]))
        motion = np.empty((4, ahead + 1, points.shape[1]))
        smooth, _ = self._code
        smooth(way.trail.times, points, goal, time, _SPACING, _WEIGHTS, around, motion)
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


def _place(motion: np.ndarray, tick: Tick) -> PlaceOnWay:
    """Compare the commands with the first place of a motion; where it rests, it is as fast."""
    position, velocity = motion[0, 0], motion[1, 0]
    place = place_on_way(position, velocity, tick, _STILL)
    if place is None:
        aside = largest(np.abs(tick.leading[0] - position) / tick.limits.unit)
        place = PlaceOnWay(velocity, 0.0, aside, 1.0)
    return place


def _braking_distance(velocity: np.ndarray, tick: Tick) -> float:
    """Return how far joints go that come to rest from a velocity (n,), as time at full speed."""
    speeds = np.abs(velocity) / tick.limits.unit
    moving = speeds > 0.0
    with np.errstate(divide='ignore'):  # joints that may not brake come nowhere to rest
        return largest(0.5 * speeds[moving] ** 2 / tick.limits.acceleration[moving])


@cache
def _code() -> tuple[Callable, Callable]:
    """Return the machine code of the looks along a trail, compiled now or loaded."""
    row, rows, motion = np.zeros(1), np.zeros((2, 1)), np.ones((4, 1, 1))
    around = np.zeros((len(_WEIGHTS[0]), 1))
    smooth = entry_point(
        smoothed_trail, row, row[:, None], rows, 0.0, _SPACING, _WEIGHTS, around, motion
    )
    look = entry_point(
        highest_rate, motion, rows, _NEAR, _FASTEST, _LEAST, _SPACING, 1.0, np.zeros(2)
    )
    return smooth, look
