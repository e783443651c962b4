"""
Windows of motion from ticks that come late, played by an exact sampler, in injected time.

A controller that takes every window when it arrives, and interpolates between the points around
the present: nothing else lies between what is commanded and what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ik_service.motion.command.command_window import CommandWindow, PlannedMotion
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.paths.trajectory.joint_trajectory import segment_coefficients

NAMES = ('shoulder', 'elbow')
LIMITS = MotionLimits(np.full(2, -3.0), np.full(2, 3.0), np.array([2.0, 1.5]), 0.5, 2.5)
"""Two joints that move at 1 and 0.75 rad/s at most, and reach that speed in 0.2 s."""

CYCLE = 0.002
"""Time between two samples [s]."""

TRANSPORT = 0.001
"""Time from a tick to the arrival of its window [s]."""

Drive = Callable[[JointMotion, float, float], None]
"""Moves the commands by one tick, at a time, by the length of a step [s]."""


@dataclass(frozen=True)
class Played:
    """
    What a controller made of the windows.

    :ivar commands: (c, 2) the commands [rad].
    :ivar output: (k, 2) set-points of the controller [rad], one in each cycle.
    :ivar windows: the windows.
    """

    commands: np.ndarray
    output: np.ndarray
    windows: list[PlannedMotion]

    @property
    def speeds(self) -> np.ndarray:
        """Velocities of the set-points (k − 1, 2) [rad/s]."""
        return np.diff(self.output, axis=0) / CYCLE

    @property
    def jumps(self) -> np.ndarray:
        """Changes of velocity from sample to sample (k − 2, 2) [rad/s]."""
        return np.abs(np.diff(self.speeds, axis=0))

    @property
    def accelerations(self) -> np.ndarray:
        """Largest accelerations (c, 2) of the cubics of each window [rad/s²]."""
        return np.array([_largest_accelerations(planned) for planned in self.windows])


def play(
    late: Callable[[int], float],
    drive: Drive,
    ticks: int,
    rate: float = 100.0,
    rest: int = 100,
    limits: MotionLimits = LIMITS,
) -> Played:
    """
    Send windows, and record what a controller makes of them.

    :param late: by how much the tick of a number is later than a period after the last one [s].
    :param drive: moves the commands.
    :param ticks: number of ticks in which it does, after a first one at rest; after these the
        commands come to rest.
    :param rate: ticks a second [Hz].
    :param rest: number of ticks after those.
    :param limits: bounds on the motion.
    """
    window, motion, period = CommandWindow(NAMES), JointMotion(np.zeros(2)), 1.0 / rate
    now, before, arrivals, commands = 5.0, 5.0 - period, [], []
    for k in range(ticks + rest):
        step = min(now - before, period)
        if 0 < k < ticks:
            drive(motion, now, step)
        else:
            motion.move(None, limits, step)
        planned = window.add(motion.q, limits, now, period)
        arrivals.append((now + TRANSPORT, planned))
        commands.append(motion.q)
        before = now
        now += period + (late(k + 1) if k < ticks else 0.0)
    return Played(np.array(commands), _sampled(arrivals), [planned for _, planned in arrivals])


def _sampled(arrivals: list[tuple[float, PlannedMotion]]) -> np.ndarray:
    end, i = arrivals[-1][0] + 1.0, 0
    output = []
    for time in np.arange(arrivals[0][0], end, CYCLE):
        while i + 1 < len(arrivals) and arrivals[i + 1][0] <= time:
            i += 1
        output.append(_at(arrivals[i][1], time))
    return np.array(output)


def _largest_accelerations(planned: PlannedMotion) -> np.ndarray:
    way = planned.trajectory
    polynomials = segment_coefficients(way.times, way.positions, way.velocities, None)
    begin = 2.0 * polynomials[:, 2]
    end = begin + 6.0 * polynomials[:, 3] * np.diff(way.times)[:, None]
    return np.abs([begin, end]).max(axis=(0, 1))


def _at(planned: PlannedMotion, time: float) -> np.ndarray:
    """Return where a cubic between the two points around a time is."""
    way = planned.trajectory
    times = planned.start + way.times
    if time >= times[-1]:
        return way.positions[-1]
    i = max(int(np.searchsorted(times, time, 'right')) - 1, 0)
    h, s = times[i + 1] - times[i], max(time - times[i], 0.0)
    (q0, q1), (v0, v1) = way.positions[i : i + 2], way.velocities[i : i + 2]
    mean = (q1 - q0) / h
    square, cube = 3.0 * mean - 2.0 * v0 - v1, v0 + v1 - 2.0 * mean
    return q0 + v0 * s + square * s**2 / h + cube * s**3 / h**2
