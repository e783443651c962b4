"""
Stand-in for ros2_control's joint_trajectory_controller, in injected time.

Made from how its versions behave: what they refuse, when and from which state they take up a new
trajectory, how they interpolate and when they sample. No code of it is here, and no other of its
features. Versions differ in what becomes of a trajectory while another one is active:

- ``replaces`` (Humble to Kilted): the new one replaces the active one at once.
- ``defers`` (6.8 and 6.9): one whose stamp lies ahead waits for its stamp, and is forgotten when
  another one comes meanwhile; all others replace the active one at once.
- ``blends`` (after 6.9): every one is joined to the active one. The new one begins at its stamp
  if that lies ahead, else when it is taken up, **whatever its stamp**. What the active one has
  until there is kept, and a point is put in where it is by then. All of this begins where the
  active one was in the cycle before. An active trajectory of one point is replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
import itertools
from typing import Any

import numpy as np

_EPSILON = float(np.finfo(np.float32).eps)


class Version(StrEnum):
    """Behaviour towards a trajectory that arrives while another one is active."""

    REPLACES = 'replaces'
    DEFERS = 'defers'
    BLENDS = 'blends'


@dataclass(frozen=True)
class Point:
    """Waypoint: time from start [s]; positions, velocities, accelerations, efforts or ()."""

    time: float
    positions: tuple = ()
    velocities: tuple = ()
    accelerations: tuple = ()
    effort: tuple = ()


@dataclass(frozen=True)
class Trajectory:
    """Trajectory message: names, stamp [s] (0: now), points."""

    joint_names: tuple
    stamp: float
    points: tuple

    @classmethod
    def of(cls, message: Any) -> Trajectory:
        """Return what a message of ROS says."""
        fields = ('positions', 'velocities', 'accelerations', 'effort')
        points = tuple(
            Point(_seconds(point.time_from_start), *(tuple(getattr(point, f)) for f in fields))
            for point in message.points
        )
        return cls(tuple(message.joint_names), _seconds(message.header.stamp), points)


def _seconds(time: Any) -> float:
    return time.sec + 1e-9 * time.nanosec


@dataclass(frozen=True, eq=False)
class _Row:
    """Positions (n,), velocities (n,) and accelerations (n,) or None, at a time [s]."""

    time: float
    q: np.ndarray
    v: np.ndarray | None = None
    a: np.ndarray | None = None

    def at(self, time: float) -> _Row:
        return _Row(time, self.q, self.v, self.a)


@dataclass
class _Active:
    """Trajectory that is played: its rows with times from the start, which is None until then."""

    rows: Sequence[_Row]
    start: float | None
    before: _Row | None = None

    def sample(self, time: float) -> _Row | None:
        """Return the row at a time; None before what was there before it."""
        assert self.start is not None
        assert self.before is not None
        if time < self.before.time:
            return None
        first = self.rows[0].at(self.start + self.rows[0].time)
        if time < first.time:
            return _between(self.before, first, time)
        t = time - self.start
        for left, right in itertools.pairwise(self.rows):
            if left.time <= t < right.time:
                return _between(left, right, t).at(time)
        last, still = self.rows[-1], np.zeros_like(first.q)
        return _Row(
            time, last.q, still if last.v is None else last.v, still if last.a is None else last.a
        )


@dataclass
class TrajectoryController:
    """Controller of joints by trajectories, of a version, at a rate [Hz]; it counts refusals."""

    joints: tuple
    rate: float = 500.0
    allow_nonzero_velocity_at_trajectory_end: bool = False
    interpolate_from_desired_state: bool = False
    version: Version = Version.REPLACES
    accepted: int = 0
    refused: Counter = field(default_factory=Counter)
    _new: Trajectory | None = None
    _deferred: Trajectory | None = None
    _active: _Active | None = None
    _holds: bool = True
    _time: float = 0.0  # of the active trajectory, in the last cycle
    _updated: float = 0.0  # time of the last cycle
    _commanded: _Row | None = None

    def receive(self, message: Trajectory, now: float) -> str:
        """Take a trajectory; return why it is refused, or an empty text."""
        reason = self.refusal(message, now)
        if reason:
            self.refused[reason] += 1
        else:
            self.accepted += 1
            self._new, self._holds = message, False
        return reason

    def refusal(self, message: Trajectory, now: float) -> str:
        """Return why a trajectory is refused; empty when it is not."""
        names, points = message.joint_names, message.points
        if not names:
            return 'empty joint names'
        if not points:
            return 'no points'
        if any(name not in self.joints for name in names):
            return 'a joint is not of this controller'
        if len(names) != len(self.joints):
            return 'not all joints of the controller'
        moving = any(abs(v) > _EPSILON for v in points[-1].velocities)
        if moving and not self.allow_nonzero_velocity_at_trajectory_end:
            return 'velocity at the end is not zero'
        if message.stamp != 0.0 and message.stamp + points[-1].time < now:
            return 'ends in the past'
        for before, point in zip((None, *points), points, strict=False):
            if before is not None and point.time <= before.time:
                return 'times do not increase'
            lengths = {len(point.positions)}
            lengths |= {len(part) for part in (point.velocities, point.accelerations) if part}
            if lengths != {len(names)}:
                return 'lengths of the fields differ from the number of joints'
            if point.effort:
                return 'efforts are not supported'
        return ''

    def hold(self, q: np.ndarray) -> None:
        """Hold positions (n,), as after activation and after an action goal has ended."""
        still = np.zeros(len(q))
        self._active = _Active((_Row(0.0, np.array(q, dtype=float), still, still),), None)
        self._holds = True

    def update(self, now: float, q: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the set-points (n,) of one cycle from the measured state."""
        if self._commanded is None:
            still = np.zeros(len(q))
            self._commanded, self._updated = _Row(now, np.array(q), still, still), now
            self.hold(q)
        message, self._new = self._due(now), None
        if message is not None:
            self._take_up(message, now)
        assert self._active is not None
        if self._active.before is None:
            measured = _Row(now, np.array(q), np.array(velocity))
            self._begin(self._commanded if self.interpolate_from_desired_state else measured, now)
        else:
            self._time += now - self._updated
        self._updated = now
        sampled = self._active.sample(self._time + 1.0 / self.rate)
        if sampled is not None:  # the set-point for the next cycle
            self._commanded = sampled.at(now)
        return self._commanded.q

    def _due(self, now: float) -> Trajectory | None:
        """Return the trajectory that is to be taken up in this cycle."""
        new = self._new
        if self.version == Version.DEFERS:
            if new is not None and new.stamp > now:
                self._deferred, new = new, None
            elif new is not None:
                self._deferred = None
            if self._deferred is not None and now >= self._deferred.stamp:
                new, self._deferred = self._deferred, None
        return new

    def _take_up(self, message: Trajectory, now: float) -> None:
        active = self._active
        assert active is not None
        blends = self.version == Version.BLENDS and len(active.rows) > 1 and not self._holds
        if blends and active.before is not None:
            self._active = _Active(self._blended(message, now), None)
        else:
            rows = [self._row(message, point) for point in message.points]
            self._active = _Active(rows, message.stamp or None)

    def _blended(self, message: Trajectory, now: float) -> list[_Row]:
        """Return the rows of the active trajectory and a new one, from the last cycle on."""
        active = self._active
        assert active is not None
        assert active.start is not None
        ahead = max(message.stamp - now, 0.0)
        begins = self._time + ahead
        new = [self._row(message, point).at(ahead + point.time) for point in message.points]
        kept = [row.at(active.start + row.time - self._time) for row in active.rows]
        before = [row for row in kept if 0.0 < row.time < ahead]
        bridge = active.sample(begins)
        if bridge is not None and ahead < new[0].time:
            before.append(bridge.at(ahead))
        return [*before, *new]

    def _begin(self, before: _Row, now: float) -> None:
        """Begin to play the active trajectory, from what was there before."""
        active = self._active
        assert active is not None
        first, still = active.rows[0], np.zeros_like(before.q)
        if before.v is None and first.v is not None:
            before = replace(before, v=still)
        if before.a is None and first.a is not None:
            before = replace(before, a=still)
        active.before, self._time = before, now
        if active.start is None:
            active.start = now

    def _row(self, message: Trajectory, point: Point) -> _Row:
        """Return a point in the order of the joints."""
        parts = (point.positions, point.velocities, point.accelerations)
        rows = [np.array(part) if part else None for part in parts]
        if message.joint_names != self.joints:
            columns = [message.joint_names.index(name) for name in self.joints]
            rows = [None if row is None else row[columns] for row in rows]
        return _Row(point.time, *rows)


def _between(left: _Row, right: _Row, now: float) -> _Row:
    """Interpolate: linear, cubic or quintic, as both points allow."""
    T = right.time - left.time
    t = min(max(now - left.time, 0.0), T)
    c = _coefficients(left, right, T)
    powers = np.array([1.0, t, t * t, t**3, t**4, t**5])
    rates = _RISING[:5] * powers[:5]
    return _Row(now, powers @ c, rates @ c[1:], (_RISING[1:] * rates[:4]) @ c[2:])


_RISING = np.arange(1.0, 6.0)


@lru_cache(maxsize=16)
def _coefficients(left: _Row, right: _Row, T: float) -> np.ndarray:
    """Return the coefficients (6, n) of the polynomials between two points, lowest first."""
    v0, a0, v1, a1 = left.v, left.a, right.v, right.a
    c = np.zeros((6, len(left.q)))
    c[0], d = left.q, right.q - left.q
    if v0 is None or v1 is None:
        c[1] = d / T
    elif a0 is None or a1 is None:
        c[1], c[2], c[3] = v0, (3 * d - (2 * v0 + v1) * T) / T**2, (-2 * d + (v0 + v1) * T) / T**3
    else:
        c[1], c[2] = v0, a0 / 2
        c[3] = (20 * d - (8 * v1 + 12 * v0) * T - (3 * a0 - a1) * T**2) / (2 * T**3)
        c[4] = (-30 * d + (14 * v1 + 16 * v0) * T + (3 * a0 - 2 * a1) * T**2) / (2 * T**4)
        c[5] = (12 * d - 6 * (v1 + v0) * T + (a1 - a0) * T**2) / (2 * T**5)
    return c
