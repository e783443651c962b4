"""
Velocity of a moving target, estimated from its poses and their times.

The last poses are fitted by a motion of constant acceleration, whose velocity at the last one
counts. Where they are not on such a motion, as when the target is put elsewhere, stands still with
some noise, or its times are wrong, there is no velocity: it is then tracked as one at rest.
Translation and rotation are fitted separately.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import hypot
from statistics import median

import numpy as np

from ik_service.common.arguments import check_time, real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.jit.entry import entry_point
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.tracking.target_kernels import fit_motion

_COMPARED = 16  # messages whose delays are compared
_LONGEST_DELAY = 0.1  # delay of a message where the clocks of both ends agree, at most [s]
_UNSTEADY = 0.25  # difference of two delays beyond which stamps are no times [s]


class TargetTimes:
    """
    Times of messages on the receiver's clock, unaffected by how long each travelled.

    Stamps count where they go on. A clock that differs from the receiver's is put right by the
    shortest delay of the last messages, which then counts as none. Stamps that are missing, stand
    still or leap are not used: such a message counts from its arrival.
    """

    def __init__(self) -> None:
        self._delays: deque[float] = deque(maxlen=_COMPARED)
        self._stamp = 0.0

    def time_of(self, stamp: float | None, arrived: float) -> float:
        """
        Return when a message was true.

        :param stamp: its stamp on the receiver's clock [s], which the sender's may differ from;
            None for a message without one.
        :param arrived: when it arrived [s].
        :returns: on the receiver's clock [s], not after the arrival.
        """
        if stamp is None or stamp == self._stamp:
            self._delays.clear()
            self._stamp = stamp or 0.0
            return arrived
        self._stamp, delay = stamp, arrived - stamp
        if any(abs(delay - other) > _UNSTEADY for other in self._delays):
            self._delays.clear()
        self._delays.append(delay)
        if len(self._delays) < 2:
            return arrived
        shortest = min(self._delays)
        agree = 0.0 <= shortest <= _LONGEST_DELAY
        return min(stamp if agree else stamp + shortest, arrived)


LONGEST_AHEAD = 0.12  # time for which a target is believed to go on, at most [s]

_INTERVALS = 2.2
"""
The same, in times between two targets, as long as little is known: one that is lost is bridged.
"""

_LEAST_GAPS, _REMEMBERED = 4, 100
"""Targets from which is known when the next one is overdue; how many are remembered."""

_ROOM = 0.15
"""Share of the time between two targets by which the next one may be later than all before."""


class TargetGaps:
    """Ages that targets of one motion had reached when the next one arrived."""

    def __init__(self) -> None:
        self._ages: deque[float] = deque(maxlen=_REMEMBERED)
        self._last = -float('inf')

    def update(self, at: float, arrived: float | None) -> None:
        """Note that a target of one time [s] arrived at another [s]; None when not known."""
        age = -1.0 if arrived is None else arrived - self._last
        self._last = at
        if 0.0 <= age <= 2.0 * LONGEST_AHEAD:
            self._ages.append(age)
        else:
            self._ages.clear()

    def longest_ahead(self, interval: float) -> float:
        """
        Return for how long a target is believed to go on without a newer one [s].

        :param interval: usual time between two targets [s].
        """
        ahead = _INTERVALS * interval
        if len(self._ages) >= _LEAST_GAPS:
            ahead = max(self._ages) + _ROOM * interval
        return min(ahead, LONGEST_AHEAD)


FASTEST, FASTEST_TURN = 2.0, 2.0 * np.pi
"""Speeds of a target beyond which it was put elsewhere [m/s], [rad/s]."""

_LONGEST_GAP = 0.3  # time between two targets that belong to one motion, at most [s]

_WINDOW, _LEAST, _MOST = 0.08, 4, 32
"""Age of the targets that are fitted [s]; how many they are, at least and at most."""

_SHORTEST = 1e-3  # time within which two targets count as one [s]

_MISFIT = 0.2
"""Distance from the fitted motion, as a share of the displacement, that is no motion any more."""

_NOISE = 1e-7  # displacement that counts as none [m], [rad]


@dataclass(frozen=True)
class TargetMotion:
    """
    Motion of a target at the time of its pose.

    :ivar velocity: (6,) its twist in the base frame, linear before angular [m/s, rad/s].
    :ivar acceleration: (6,) [m/s², rad/s²].
    :ivar interval: time between two targets [s]; 0 while that is not known.
    :ivar ahead: time for which it is believed to go on without a newer target [s].
    """

    velocity: np.ndarray = field(default_factory=lambda: np.zeros(6))
    acceleration: np.ndarray = field(default_factory=lambda: np.zeros(6))
    interval: float = 0.0
    ahead: float = 0.0

    @property
    def still(self) -> bool:
        """Whether the target is at rest, or its motion is not known."""
        return not self.velocity.any()

    def after(self, time: float) -> np.ndarray:
        """Return how far the target moves in a time [s] (6,), linear before angular [m], [rad]."""
        return self.velocity * time + self.acceleration * (0.5 * time * time)


AT_REST = TargetMotion()  # target that does not move


class TargetVelocity:
    """Estimator of the velocity of a target, from one pose after the other."""

    def __init__(self) -> None:
        self._fit = _fit()
        self._last: np.ndarray | None = None
        self._times: deque[float] = deque(maxlen=_MOST)
        self._gaps = TargetGaps()
        self._offsets: deque[np.ndarray] = deque(maxlen=_MOST)  # (6,) from the first target on

    def reset(self) -> None:
        """Forget all targets."""
        self._times.clear()
        self._offsets.clear()

    def update(
        self,
        T_base_target: np.ndarray,
        at: float | None,
        twist: np.ndarray | None = None,
        arrived: float | None = None,
    ) -> TargetMotion:
        """
        Take in a target and return its motion.

        :param T_base_target: (4, 4) its pose.
        :param at: when it was there, on a monotonic clock [s]; None for one at rest, with which
            another motion begins.
        :param twist: (6,) its velocity in the base frame [m/s, rad/s], where that is known.
        :param arrived: when this became known [s]; None when unknown.
        :raises ArgumentError: a time is not finite, or the twist is none.
        """
        if at is None:
            self.reset()
            return AT_REST
        check_time(at, 'at')
        if arrived is not None:
            check_time(arrived, 'arrived')
        velocity = None if twist is None else _checked_twist(twist)
        self._append(T_base_target, at)
        self._gaps.update(at, arrived)
        while len(self._times) > _LEAST and at - self._times[0] > _WINDOW:
            self._times.popleft()
            self._offsets.popleft()
        if velocity is not None:
            return self._with_times(velocity, np.zeros(6))
        return self._fitted() if len(self._times) > 2 else AT_REST

    def _with_times(self, velocity: np.ndarray, acceleration: np.ndarray) -> TargetMotion:
        interval = self._interval()
        return TargetMotion(velocity, acceleration, interval, self._gaps.longest_ahead(interval))

    def _append(self, T: np.ndarray, at: float) -> None:
        """Append a target, or begin with it when it is not on the motion of those before."""
        times, offsets, last, self._last = self._times, self._offsets, self._last, T
        if last is None or not times:
            times.append(at)
            offsets.append(np.zeros(6))
            return
        passed, step = at - times[-1], pose_error(last, T)
        if not -_LONGEST_GAP < passed <= _LONGEST_GAP or _is_leap(step, passed):
            self.reset()
            step = np.zeros(6)
        offset = offsets[-1] + step if offsets else step
        if times and passed < _SHORTEST:
            at = max(at, times.pop())
            offsets.pop()
        times.append(at)
        offsets.append(offset)

    def _interval(self) -> float:
        """Return the usual time between two targets [s]; 0 when it is not known."""
        return median(b - a for a, b in pairwise(self._times)) if len(self._times) > 1 else 0.0

    def _fitted(self) -> TargetMotion:
        """Return the motion that the last targets are on."""
        # Three targets are on any motion of constant acceleration, and tell nothing about it.
        motion, quadratic = np.empty((2, 6)), len(self._times) > 3
        times, offsets = np.array(self._times), np.array(self._offsets)
        self._fit(times, offsets, quadratic, _NOISE, _MISFIT, motion)
        return self._with_times(motion[0], motion[1])


def _checked_twist(twist: np.ndarray) -> np.ndarray:
    velocity = real_array(twist, 'twist')
    if velocity.shape != (6,) or not np.isfinite(velocity).all():
        raise ArgumentError('twist', f'has to be 6 finite numbers, not {safe_repr(twist, str)}')
    return velocity


@cache
def _fit() -> Callable:
    """Return the machine code of the fit, compiled now or loaded."""
    times, offsets = np.array([0.0, 0.1, 0.2]), np.zeros((3, 6))
    return entry_point(fit_motion, times, offsets, True, _NOISE, _MISFIT, np.empty((2, 6)))


def _is_leap(step: np.ndarray, passed: float) -> bool:
    """Whether a target cannot have moved that far (6,) in a time."""
    passed = max(passed, _SHORTEST)
    x, y, z, *turn = step.tolist()
    return hypot(x, y, z) > FASTEST * passed or hypot(*turn) > FASTEST_TURN * passed
