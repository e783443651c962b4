"""
Joint positions that move with a target: where it is ahead of its last pose.

They are on the parabola through the solutions for its last pose and for two poses that it will
have, as it moves by now. It counts for a bounded time; a target that sends nothing any more is at
its last pose.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from ik_service.common.transforms import rotation_about_axis
from ik_service.motion.command.motion_limits import (
    bound_along,
    largest,
    MotionLimits,
    stopping_speed_along,
)
from ik_service.motion.goal import Step, Tick
from ik_service.motion.tracking.target_velocity import TargetMotion

_SHORTEST_AHEAD = 0.05  # shortest time ahead for which the target is solved [s]

_LONGEST_BEHIND = 0.25
"""Longest time before its last pose for which a target is taken to be on the parabola [s]."""

_SHARE = 0.9  # share of the joints' speeds that a target may ask for; the rest is for catching up

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""Of a pose (4, 4) and a seed (n,): the solution beside that (n,); None where there is none."""


class MovingGoal:
    """
    Goal of the joints that goes on as the target does.

    :ivar feasible: whether the joints can keep up with the target.
    :ivar velocity: (n,) of the joints at the target's last pose [rad/s] or [m/s].
    :ivar acceleration: (n,) of the joints on the parabola [rad/s²] or [m/s²].
    :ivar ends: time from which it rests at the target's last pose, unless a newer one comes [s].
    """

    def __init__(
        self,
        solve: Solve,
        T_base_target: np.ndarray,
        q: np.ndarray,
        motion: TargetMotion,
        at: float,
        limits: MotionLimits,
    ) -> None:
        """
        Carry the motion of a target over to the joints.

        :param T_base_target: (4, 4) its last pose.
        :param q: (n,) the solution for that [rad] or [m].
        :param at: time of the pose, on a monotonic clock [s].
        """
        self._q, self._at = q, at
        self.ends = at + motion.ahead
        self.velocity = self.acceleration = np.zeros_like(q)
        self.feasible = False
        time = max(motion.interval, _SHORTEST_AHEAD)
        half = solve(_moved(T_base_target, motion, 0.5 * time), q)
        whole = None if half is None else solve(_moved(T_base_target, motion, time), half)
        if half is not None and whole is not None:
            self.velocity = (4.0 * (half - q) - (whole - q)) / time
            self.acceleration = 4.0 * (whole - 2.0 * half + q) / (time * time)
            fastest = np.maximum(np.abs(half - q), np.abs(whole - half)) * (2.0 / time)
            slow = fastest <= _SHARE * limits.velocity_now
            gentle = np.abs(self.acceleration) <= limits.acceleration_now
            self.feasible = bool((slow & gentle).all())
        along = float(self.velocity @ self.acceleration)
        size = float(self.velocity @ self.velocity)
        self._stops = -size / along if along < 0.0 else np.inf

    def shift(self, turns: np.ndarray) -> None:
        """Put joints on another turn, by whole turns (n,) [rad], 0 for other joints."""
        self._q = self._q + turns

    def at(self, now: float, later: float = 0.0) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return positions (n,) [rad] or [m] and velocities (n,) at a time; None from the end on.

        :param later: by how much the time is later than now [s].
        """
        ahead = now + later - self._at
        if now >= self.ends or ahead < -_LONGEST_BEHIND:
            return None
        # A target that slows down stops, and does not turn round.
        ahead = min(ahead, self._stops)
        velocity = self.velocity + self.acceleration * ahead
        return self._q + (self.velocity + velocity) * (0.5 * ahead), velocity


def _moved(T: np.ndarray, motion: TargetMotion, time: float) -> np.ndarray:
    """Return where a target is some time after a pose (4, 4)."""
    twist = motion.velocity * time + motion.acceleration * (0.5 * time * time)
    moved, angle = T.copy(), float(np.linalg.norm(twist[3:]))
    moved[:3, 3] += twist[:3]
    if angle > 0.0:
        moved[:3, :3] = rotation_about_axis(twist[3:] / angle, angle) @ T[:3, :3]
    return moved


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


_ASIDE = 2e-3
"""Distance from the path of a goal up to which commands are on it, as time at full speed [s]."""

_LOOKS = 3  # steps in which the point on the path is found; it is almost straight

_USED_SHARE, _LEAST = 0.8, 0.1
"""Share of the acceleration that is used, and for going faster at least, where bends need it."""

_CATCHING_UP = 1.1
"""Speed along the path that is allowed whatever its bends are, as a share of the goal's."""

_STILL = 1e-9  # speed that counts as none, in shares of full speed


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
        room = np.maximum(_USED_SHARE * most - self._rate**2 * np.abs(bends), _LEAST * most)
        change = min(bound_along(room, place.along), 1.0 / dt)
        in_bends = math.sqrt(_USED_SHARE * bound_along(most, bends))
        faster = stopping_speed_along(behind, change, dt) if behind > 0.0 else 0.0
        fastest = tick.pace * bound_along(limits.velocity_now, place.along)
        fastest = min(fastest, max(in_bends, _CATCHING_UP), 1.0 + faster)
        if place.aside > _ASIDE:  # then getting there comes first
            return min(fastest, max(self._rate - change * dt, 1.0))
        return min(fastest, self._rate + change * dt)


def _place_on_goal(goal: MovingGoal, tick: Tick, time: float) -> PathPosition | None:
    """Compare the commands with where the goal was at a time; None where it does not move."""
    at = goal.at(tick.now, time - tick.now)
    return None if at is None else path_position(*at, tick, _STILL)
