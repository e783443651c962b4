"""Compiled extremes and differences of motions along cubic segments, for the gate alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import short_inlined_kernel, short_kernel
from ik_service.jit.entry import entry_point

_MOMENTS = 5  # moments at which two motions are compared

INSTANT = 0.25e-3  # time in which a change of the acceleration within the jerk is no leap [s]


@short_inlined_kernel
def _write_at(times, rows, t, place):
    """Write positions, velocities and accelerations at a time (3, n); the ends are held."""
    k, n = rows.shape[1], rows.shape[2]
    i = 0
    while i < k - 2 and times[i + 1] <= t:
        i += 1
    h = times[i + 1] - times[i]
    s = min(max((t - times[i]) / h, 0.0), 1.0)
    moves = times[0] <= t < times[k - 1]
    for j in range(n):
        v0, v1 = rows[1, i, j] * h, rows[1, i + 1, j] * h
        step = rows[0, i + 1, j] - rows[0, i, j]
        square, cube = 3.0 * step - 2.0 * v0 - v1, v0 + v1 - 2.0 * step
        place[0, j] = rows[0, i, j] + s * (v0 + s * (square + s * cube))
        place[1, j] = (v0 + s * (2.0 * square + 3.0 * s * cube)) / h if moves else 0.0
        place[2, j] = (2.0 * square + 6.0 * s * cube) / (h * h) if moves else 0.0


@short_inlined_kernel
def _accelerations(times, rows, i, j):
    """Return the accelerations of a joint at the start and the end of the segment to a point."""
    h, v0, v1 = times[i] - times[i - 1], rows[1, i - 1, j], rows[1, i, j]
    mean = 6.0 * (rows[0, i, j] - rows[0, i - 1, j]) / h
    return (mean - 4.0 * v0 - 2.0 * v1) / h, (2.0 * v0 + 4.0 * v1 - mean) / h


@short_kernel
def extremes(times, rows, since, place, found):
    """
    Write the motion of joints from a time on, at any instant.

    :param times: (k,) times of the points [s].
    :param rows: (2, k, n) their positions and velocities.
    :param since: the time [s].
    :param place: (3, n) gets positions, velocities and accelerations then.
    :param found: (5, n) gets lowest and highest position, largest speed and acceleration, and
        largest change of the acceleration in a time that is longer by :data:`INSTANT`.
    """
    k, n = rows.shape[1], rows.shape[2]
    _write_at(times, rows, since, place)
    for j in range(n):
        q0, v0, begins = place[0, j], place[1, j], max(since, times[0])
        low, high, fastest, most, jerk = q0, q0, abs(v0), 0.0, 0.0
        last, within = 0.0, False
        for i in range(1, k):
            if times[i] <= since:
                continue
            h, q1, v1 = times[i] - begins, rows[0, i, j], rows[1, i, j]
            a0, a1 = _accelerations(times, rows, i, j)
            if begins > times[i - 1]:  # by the whole segment: the rest may be too short
                a0 = a1 - (a1 - a0) * (h / (times[i] - times[i - 1]))
            most = max(most, abs(a0), abs(a1))
            jerk = max(jerk, abs(a1 - a0) / (h + INSTANT))
            if within:
                jerk = max(jerk, abs(a0 - last) / INSTANT)
            last, within = a1, True
            turn = h * a0 / (a0 - a1) if a0 * a1 < 0.0 else 0.0  # where the acceleration is 0
            top = v0 + 0.5 * a0 * turn
            fastest, low, high = max(fastest, abs(v1), abs(top)), min(low, q1), max(high, q1)
            if v0 * v1 < 0.0 or v0 * top < 0.0 or v1 * top < 0.0:  # turns round within
                half, slope = 0.5 * a0, 0.5 * (a1 - a0) / h
                root = math.sqrt(max(half * half - slope * v0, 0.0))
                sum_ = -(half + math.copysign(root, half))
                for over, under in ((sum_, slope), (v0, sum_)):
                    if under != 0.0 and 0.0 < over / under < h:
                        t = over / under
                        q = q0 + t * (v0 + t * (half + t * slope / 3.0))
                        low, high = min(low, q), max(high, q)
            q0, v0, begins = q1, v1, times[i]
        found[0, j], found[1, j], found[2, j], found[3, j] = low, high, fastest, most
        found[4, j] = max(jerk, abs(last) / INSTANT)  # it ends at rest


@short_kernel
def differences(times, rows, other_times, others, now, span, place, found):
    """
    Write how far two motions are apart soon after a time.

    :param times: (k,) times of the points of one [s].
    :param rows: (2, k, n) its positions and velocities.
    :param other_times: (l,) times of the points of the other one [s].
    :param others: (2, l, n) its positions and velocities.
    :param now: the time [s].
    :param span: for how long [s].
    :param place: (6, n) scratch.
    :param found: (3, n) gets the largest difference of positions, velocities and accelerations.
    """
    found[:] = 0.0
    for moment in range(_MOMENTS):
        t = now + span * moment / (_MOMENTS - 1.0)
        _write_at(times, rows, t, place[:3])
        _write_at(other_times, others, t, place[3:])
        for j in range(found.shape[1]):
            for row in range(3):
                found[row, j] = max(found[row, j], abs(place[row, j] - place[row + 3, j]))


class CubicKernels(NamedTuple):
    """
    Machine code of the kernels.

    :ivar extremes: :func:`extremes`.
    :ivar differences: :func:`differences`.
    """

    extremes: Callable
    differences: Callable


@cache
def cubic_kernels() -> CubicKernels:
    """Return the machine code of the kernels, compiled now or loaded."""
    times, rows, place = np.array([0.0, 1.0]), np.zeros((2, 2, 1)), np.zeros((3, 1))
    places, found = np.zeros((6, 1)), np.zeros((5, 1))
    return CubicKernels(
        entry_point(extremes, times, rows, 0.5, place, found),
        entry_point(differences, times, rows, times, rows, 0.5, 0.1, places, place),
    )
