"""
Stand-in for ros2_control's joint_trajectory_controller of Jazzy, in injected time.

Written from its documentation: what it refuses, from which state a new trajectory starts, how it
interpolates and when it samples. No code of it is here, and no other of its features.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
import itertools

import numpy as np

_EPSILON = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Point:
    """Way point: time from start [s]; positions, velocities, accelerations, efforts or ()."""

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


@dataclass
class TrajectoryController:
    """
    Controller of joints by trajectories.

    :ivar joints: its joints.
    :ivar rate: samples a second [Hz].
    :ivar refused: reasons of refusals, counted.
    """

    joints: tuple
    rate: float = 500.0
    allow_partial_joints_goal: bool = False
    allow_nonzero_velocity_at_trajectory_end: bool = False
    interpolate_from_desired_state: bool = False
    accepted: int = 0
    refused: Counter = field(default_factory=Counter)
    _new: Trajectory | None = None
    _active: Trajectory | None = None
    _start: float | None = None
    _before: tuple | None = None  # time, position, velocity before the active trajectory
    _commanded: tuple | None = None

    def receive(self, message: Trajectory, now: float) -> str:
        """Take a trajectory; return why it is refused, or an empty text."""
        reason = self.refusal(message, now)
        if reason:
            self.refused[reason] += 1
        else:
            self.accepted += 1
            self._new = message
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
        if len(names) != len(self.joints) and not self.allow_partial_joints_goal:
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

    def update(self, now: float, q: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the set-points (n,) of one cycle from the measured state."""
        period = 1.0 / self.rate
        if self._commanded is None:
            self._commanded = now, np.array(q), np.zeros(len(q))
        if self._new is not None:
            self._active, self._new, self._start = self._new, None, None
            self._before = (
                self._commanded
                if self.interpolate_from_desired_state
                else (now, np.array(q), np.array(velocity))
            )
        if self._active is None:
            return self._commanded[1]
        if self._start is None:
            self._start = self._active.stamp or now
        position, speed = self._sample(now + period)  # the set-point for the next cycle
        self._commanded = now, position, speed
        return position

    def _sample(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        points, (since, q, velocity) = self._active.points, self._before
        columns = [self._active.joint_names.index(n) for n in self.joints]

        def row(values):
            return np.array([values[i] for i in columns]) if values else None

        ways = [
            (self._start + p.time, row(p.positions), row(p.velocities), row(p.accelerations))
            for p in points
        ]
        if now < ways[0][0]:
            return _between((since, q, velocity, None), ways[0], now)
        for left, right in itertools.pairwise(ways):
            if left[0] <= now < right[0]:
                return _between(left, right, now)
        return ways[-1][1], np.zeros(len(q))


def _between(left, right, now):
    """Interpolate: linear, cubic or quintic, as both points allow."""
    (t0, q0, v0, a0), (t1, q1, v1, a1) = left, right
    T, t = t1 - t0, min(max(now - t0, 0.0), t1 - t0)
    c = np.zeros((6, len(q0)))
    c[0], d = q0, q1 - q0
    if v0 is None or v1 is None:
        c[1] = d / T
    elif a0 is None or a1 is None:
        c[1], c[2], c[3] = v0, (3 * d - (2 * v0 + v1) * T) / T**2, (-2 * d + (v0 + v1) * T) / T**3
    else:
        c[1], c[2] = v0, a0 / 2
        c[3] = (20 * d - (8 * v1 + 12 * v0) * T - (3 * a0 - a1) * T**2) / (2 * T**3)
        c[4] = (-30 * d + (14 * v1 + 16 * v0) * T + (3 * a0 - 2 * a1) * T**2) / (2 * T**4)
        c[5] = (12 * d - 6 * (v1 + v0) * T + (a1 - a0) * T**2) / (2 * T**5)
    powers = t ** np.arange(6)
    return powers @ c, (np.arange(1, 6) * powers[:5]) @ c[1:]
