"""
Clock of a goal that moves, for commands that are behind it.

After a late tick, or one without joint states, each joint is behind by another part of what it can
catch up with in a tick. Would each do so on its own, the tip left its way. So they stay on the way
of the goal, and go along it faster than it does until they are with it again. The bounds on how
fast are those of the joint that has the most to do, as for time-optimal motions along a path.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.motion.aim import Step, Tick
from ik_service.motion.command.motion_limits import bound_along, stopping_speed_along
from ik_service.motion.tracking.moving_goal import MovingGoal
from ik_service.motion.tracking.place_on_way import place_on_way, PlaceOnWay

_ASIDE = 2e-3
"""Distance from the way of a goal up to which commands are on it, as time at full speed [s]."""

_LOOKS = 3
"""Steps in which the place on the way is found; it is almost straight."""

_SHARE, _LEAST = 0.8, 0.1
"""Share of the acceleration that is used, and for going faster at least, where bends need it."""

_CATCHING_UP = 1.1
"""Speed along the way that is allowed whatever its bends are, as a share of the goal's."""

_STILL = 1e-9
"""Speed that counts as none, in shares of full speed."""


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
        Return the step to where the goal is, or to the next place of its way.

        :param goal: where the commands go.
        :param tick: what is known now.
        :param waits: whether commands that are not on its way have to get there first.
        :returns: None when the goal rests by now, or is waited with.
        """
        # A command stands until the next one: at the middle of that time it shall be right.
        later = 0.5 * (tick.dt + tick.limits.window)
        if self._missed or tick.late:
            self._missed = not self._find_place(goal, tick, tick.now + later)
            if self._missed and waits:
                return None
        if self._time is not None:
            step = self._go_on(goal, tick, self._time, tick.now + later)
            if step is not None:
                return step
            self._time = None
        now = goal.at(tick.now, later)
        return None if now is None else Step(*now)

    def _find_place(self, goal: MovingGoal, tick: Tick, until: float) -> bool:
        """Find where on the way of the goal the commands are; returns whether they are on it."""
        self._time, time = None, until
        place = _place(goal, tick, time)
        for _ in range(_LOOKS):
            if place is None:
                return False
            time = min(time + place.ahead, until)
            place = _place(goal, tick, time)
        if place is None or place.aside > _ASIDE:
            return False
        self._rate = max(place.rate, 0.0)
        self._time, self._ticked = time, tick.now - tick.dt
        return True

    def _go_on(self, goal: MovingGoal, tick: Tick, time: float, until: float) -> Step | None:
        """Return the step to the next place of the way; None when the goal is not ahead of it."""
        place = _place(goal, tick, time)
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

    def _next_rate(self, goal: MovingGoal, tick: Tick, place: PlaceOnWay, behind: float) -> float:
        """
        Return how fast to go along the way, as a share of the goal's speed.

        :param goal: where the commands go.
        :param tick: what is known now.
        :param place: where they are.
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


def _place(goal: MovingGoal, tick: Tick, time: float) -> PlaceOnWay | None:
    """Compare the commands with where the goal was at a time; None where it does not move."""
    at = goal.at(tick.now, time - tick.now)
    return None if at is None else place_on_way(*at, tick, _STILL)
