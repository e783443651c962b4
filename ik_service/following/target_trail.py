"""
Trail of a target that moves, which the joints keep to while they cannot keep up with it.

Straight motions to the newest goal would leave the way of the target where the joints are behind.
On the trail they go to the farthest posture that is straight ahead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from itertools import islice

import numpy as np

from ik_service.following.goal_clock import GoalClock
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

_ALL_STRAIGHT = np.full(_FARTHEST + 1, _STRAIGHT)
"""Such distances (k,) where the configuration is kept."""

_LONGEST_BEHIND = 8.0
"""
Time by which the joints may be behind before they leave the trail and go straight to its end [s].
A change of the configuration is not counted.
"""

_MOST = 4000
"""Postures that are kept."""


class TargetTrail:
    """
    Postures for the last poses of a target that the joints have not passed yet.

    :ivar changing: whether the joints are led to another configuration.
    :ivar clock: of the goal that goes on beyond its end.
    """

    def __init__(self) -> None:
        self.clock = GoalClock()
        self._points: deque[np.ndarray] = deque(maxlen=_MOST)
        self._times: deque[float] = deque(maxlen=_MOST)
        self._nears: deque[float] = deque(maxlen=_MOST)
        self._led_until = -np.inf
        self._free_since = -np.inf
        self._look = _look()

    @property
    def changing(self) -> bool:
        """Whether the joints are led to another configuration."""
        return bool(self._times) and self._times[0] <= self._led_until

    @property
    def passed(self) -> bool:
        """Whether no more than its end is ahead."""
        return len(self._points) < 2

    def restart(self, q: np.ndarray, at: float) -> None:
        """
        Forget the trail; another one begins.

        :param q: (n,) where the joints shall go [rad] or [m].
        :param at: time of the target [s].
        """
        self._points.clear()
        self._times.clear()
        self._nears.clear()
        self._led_until = -np.inf
        self.clock = GoalClock()
        self.extend(q[None], at)

    def extend(self, points: np.ndarray, at: float, changes: bool = False) -> None:
        """
        Extend the trail.

        :param points: (k, n) the next postures [rad] or [m].
        :param at: time of the target that they lead to [s].
        :param changes: whether they lead to another configuration.
        """
        if len(points) == 1 and self._points and np.array_equal(points[0], self._points[-1]):
            self._times[-1] = at
            return
        self._points.extend(points)
        self._times.extend([at] * len(points))
        self._nears.extend([_STRAIGHT_IN_CHANGES if changes else _STRAIGHT] * len(points))
        if changes:
            self._led_until = at

    def shift(self, turns: np.ndarray) -> None:
        """
        Put joints on another turn.

        :param turns: (n,) whole turns [rad], 0 for other joints.
        """
        self._points = deque([q + turns for q in self._points], _MOST)

    def end(self) -> np.ndarray | None:
        """Return where the trail ends (n,) [rad] or [m]; None without one."""
        return self._points[-1] if self._points else None

    def behind(self) -> float:
        """Return how long ago the target was where the joints are [s]."""
        return self._times[-1] - self._times[0] if self._times else 0.0

    def advance(self, q: np.ndarray, now: float) -> None:
        """
        Drop what has been passed, and leave the trail when the joints are too far behind.

        :param q: (n,) the last command [rad] or [m].
        :param now: on the clock of the targets [s].
        """
        points = self._points
        while len(points) > 1:
            off = q - points[0]
            if off @ (points[1] - points[0]) < 0.0 and np.abs(off).max() > self._nears[0]:
                break
            points.popleft()
            self._times.popleft()
            self._nears.popleft()
        if self.changing:
            self._free_since = now
        elif points and now - max(self._times[0], self._free_since) > _LONGEST_BEHIND:
            self.restart(points[-1], self._times[-1])

    def ahead(self, q: np.ndarray) -> np.ndarray:
        """
        Return where to go next, the farthest posture straight ahead (n,) [rad] or [m].

        :param q: (n,) the last command [rad] or [m].
        """
        points = list(islice(self._points, _FARTHEST + 1))
        nears = _ALL_STRAIGHT
        if self.changing:
            nears = np.array(list(islice(self._nears, len(points))))
        return points[self._look(np.array(points), q.copy(), _LOOKS, nears)]


@cache
def _look() -> Callable:
    """Return the machine code of the look, compiled now or loaded."""
    return entry_point(
        farthest_straight_ahead, np.zeros((1, 1)), np.zeros(1), _LOOKS, _ALL_STRAIGHT
    )
