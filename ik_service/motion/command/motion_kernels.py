"""
Compiled steps of joint motions: the speeds that keep the bounds, and moves with them.

Speeds are in shares of the velocity limits, and distances in the time that they take at these. A
kernel takes few arrays, as handing one over takes longer than computing a joint: the state of a
motion is the rows of one array, and its bounds are those of another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import short_inlined_kernel, short_kernel
from ik_service.jit.entry import entry_point

FULL_SPEED = 1.0 - 1e-9  # share of a bound that is used; the rest is room for rounding

SHORTEST_TICK = 5e-4
"""Half a period of the fastest rate [s]: within it a command that has arrived can be at rest."""

Q, SPEED, BRAKING, GOAL, VELOCITY, LOW, HIGH, WANTED = range(8)
"""
Rows of the state of a motion: the last command [rad] or [m] with its speed and braking, where it
shall go with which velocity, and the speeds of a tick: lowest, highest and wanted ones.
"""
ROWS_OF_STATE = 8

LOWER, UPPER, UNIT, ACCELERATION, MOVABLE = range(5)
"""Rows of the bounds: limits, speeds that count as 1, accelerations, and 1 where a joint moves."""
ROWS_OF_BOUNDS = 5

_FARTHEST = 1e9  # distance that greater ones count as, in time at full speed [s]


@short_inlined_kernel
def stopping_speed(distance, braking, dt):
    """Return the speed of :func:`.motion_limits.stopping_speed_along`."""
    if not braking > 0.0:
        return 0.0
    twice = 2.0 * min(distance, _FARTHEST)
    return twice / (dt + math.sqrt(dt * dt + twice / max(braking, 1e-200)))


@short_inlined_kernel
def slowed_share(state, dt):
    """Return the share of all speeds that is left after a time in which they slow down."""
    ticks = 0.0
    for i in range(state.shape[1]):
        ticks = max(ticks, abs(state[SPEED, i]) / max(state[BRAKING, i] * dt, 1e-12))
    return 1.0 - 1.0 / ticks if ticks > 1.0 else 0.0


@short_inlined_kernel
def largest_share(bounds, way, length, dt):
    """Return the largest number that, times a displacement of a length, keeps bounds times dt."""
    most = 0.0
    for i in range(len(way)):
        most = max(most, abs(way[i] / length) / max(bounds[i] * dt, 1e-300))
    return 1.0 / most if most > 0.0 else math.inf


@short_inlined_kernel
def inside(position, last, bounds, i):
    """Return the position of a joint brought inside its limits, or those of where it was."""
    return min(max(position, min(bounds[LOWER, i], last)), max(bounds[UPPER, i], last))


@short_inlined_kernel
def write_reachable(state, bounds, scaling, dt):
    """Write the lowest and the highest speeds that a command may have in a tick."""
    n, most, fastest = state.shape[1], scaling * FULL_SPEED, 0.0
    for i in range(n):
        fastest = max(fastest, abs(state[SPEED, i]))
    # Faster than they may be now, the joints slow in proportion.
    share = slowed_share(state, dt) if fastest > most else 0.0
    for i in range(n):
        speed, braking = state[SPEED, i], state[BRAKING, i]
        more, less, size = bounds[ACCELERATION, i] * dt, braking * dt, abs(speed)
        # Of the interval of speeds, the end in the direction of the motion, and the other one.
        fast = min(size + more, max(size * share, most) if fastest > most else most)
        slow = max(size - less, -min(more, scaling))
        least, greatest = (-fast, -slow) if speed < 0.0 else (slow, fast)
        q, unit = state[Q, i], bounds[UNIT, i]
        above = stopping_speed(max(bounds[UPPER, i] - q, 0.0) / unit, braking, dt)
        below = stopping_speed(max(q - bounds[LOWER, i], 0.0) / unit, braking, dt)
        state[HIGH, i] = min(greatest, above)
        state[LOW, i] = min(max(least, -below), state[HIGH, i])


_JITTER = 0.02  # share by which a tick may be shorter than the one before in normal operation


@short_kernel
def reachable(state, bounds, scaling, dt):
    """
    Write the lowest and the highest speeds that a command may have in a tick.

    :param state: (r, n) state: the last command, its speed and braking; gets the speeds.
    :param bounds: (5, n) bounds on the motion.
    :param scaling: share of the velocity limits that is used.
    :param dt: length of the tick [s], above 0.
    """
    write_reachable(state, bounds, scaling, dt)


@short_inlined_kernel
def _take(state, bounds, dt, moved):
    """Write the command and its speed, the one nearest to the wanted one that is reachable."""
    for i in range(state.shape[1]):
        speed = 0.0
        if bounds[MOVABLE, i]:
            speed = min(max(state[WANTED, i], state[LOW, i]), state[HIGH, i])
        q = state[Q, i]
        moved[0, i] = inside(q + speed * bounds[UNIT, i] * dt, q, bounds, i)
        moved[1, i] = speed


@short_kernel
def track(state, bounds, scaling, dt, pace, moved):
    """
    Move by one tick to a goal that moves.

    The goal is reached where one tick more is enough to take on its speed; from farther away it is
    approached such that the relative speed can be braked in time.

    :param state: (r, n) state, with the goal at the end of the tick and its velocity.
    :param bounds: (5, n) bounds on the motion.
    :param scaling: share of the velocity limits that is used.
    :param dt: length of the tick [s], above 0.
    :param pace: share of the full speed that is asked for, 0 to 1.
    :param moved: (2, n) gets the command [rad] or [m] and its speed.
    :returns: how far it is from the goal then, as time at full speed [s].
    """
    write_reachable(state, bounds, scaling, dt)
    n, fastest, behind = state.shape[1], 0.0, 0.0
    for i in range(n):
        unit, acceleration = bounds[UNIT, i], bounds[ACCELERATION, i]
        along = min(max(state[VELOCITY, i] / unit, -scaling), scaling)
        wanted = (state[GOAL, i] - state[Q, i]) / (unit * dt)
        relative = wanted - along
        if not abs(relative) <= acceleration * (dt * FULL_SPEED):
            approach = stopping_speed(abs(relative) * dt, acceleration, dt)
            wanted = along + math.copysign(approach, relative)
        state[WANTED, i] = wanted
        fastest = max(fastest, abs(wanted))
    most = pace * scaling * FULL_SPEED
    if fastest > most:
        for i in range(n):
            state[WANTED, i] *= most / fastest
    _take(state, bounds, dt, moved)
    for i in range(n):
        if bounds[MOVABLE, i]:
            behind = max(behind, abs(state[GOAL, i] - moved[0, i]) / bounds[UNIT, i])
    return behind


@short_kernel
def move(state, bounds, scaling, dt, pace, cautious, moved):
    """
    Move by one tick towards a goal, and be at rest there; the command is the goal to stop.

    :param state: (r, n) state, with the goal; gone through by kernels alone.
    :param bounds: (5, n) bounds on the motion.
    :param scaling: share of the velocity limits that is used.
    :param dt: length of the tick [s], above 0.
    :param pace: share of the full speed that is asked for, 0 to 1; negative to slow down and
        stop wherever that is.
    :param cautious: whether the rest position, too, may not lie beyond the goal.
    :param moved: (2, n) gets the command [rad] or [m] and its speed.
    """
    write_reachable(state, bounds, scaling, dt)
    n, arrives, stops = state.shape[1], True, pace < 0.0
    for i in range(n):
        ahead = state[GOAL, i] - state[Q, i] if bounds[MOVABLE, i] and not stops else 0.0
        speed = ahead / (bounds[UNIT, i] * dt)
        slow = abs(speed) <= bounds[ACCELERATION, i] * SHORTEST_TICK
        arrives &= slow and state[LOW, i] <= speed <= state[HIGH, i]
        moved[0, i] = state[GOAL, i] if bounds[MOVABLE, i] else state[Q, i]
        moved[1, i] = speed
        state[VELOCITY, i] = ahead / bounds[UNIT, i]
    if arrives and not stops:
        return
    _want(state, bounds, scaling, dt, pace, cautious)
    _take(state, bounds, dt, moved)


@short_inlined_kernel
def _want(state, bounds, scaling, dt, pace, cautious):
    """Write the speeds that lead along the line to the goal, which is ahead."""
    n, distance = state.shape[1], 0.0
    for i in range(n):
        distance = max(distance, abs(state[VELOCITY, i]))
    if distance == 0.0:  # all slow down in proportion
        share = slowed_share(state, dt * FULL_SPEED)
        for i in range(n):
            state[WANTED, i] = state[SPEED, i] * share
        return
    along = size = 0.0
    for i in range(n):
        line = state[VELOCITY, i] / distance
        along, size = along + state[SPEED, i] * line, size + line * line
    along = max(along / size, 0.0)
    braking = largest_share(bounds[ACCELERATION], state[VELOCITY], distance, 1.0)
    change = largest_share(state[BRAKING], state[VELOCITY], distance, dt * FULL_SPEED)
    least = along - change
    cruise = max(pace * scaling * FULL_SPEED, least)
    faster = along + braking * dt * FULL_SPEED
    stop = _arriving_speed(distance, braking, 0.0 if cautious else scaling, dt)
    wanted = min(faster, cruise, max(stop, least))
    for i in range(n):
        most = state[BRAKING, i] * (dt * FULL_SPEED)
        more = state[VELOCITY, i] / distance * wanted - state[SPEED, i]
        state[WANTED, i] = state[SPEED, i] + min(max(more, -most), most)


@short_inlined_kernel
def _arriving_speed(distance, braking, highest, dt):
    """
    Return the highest speed from which the command arrives at a goal, in ticks of about ``dt``.

    Slowing down in equal ticks takes half a tick less than ``stopping_speed`` allows for. How much
    of that can be used without going too far depends on how many ticks the slow-down from the
    highest speed takes, and on how much shorter than this one they may be.
    """
    ticks = highest / (braking * dt) if 0.0 < braking < math.inf else 0.0
    if ticks < 1.0:
        return stopping_speed(distance, braking, dt)
    certainty = (1.0 / _JITTER - 2.0) / ticks
    share = (1.0 + 0.5 * certainty) / (1.0 + certainty)
    return min(stopping_speed(distance, braking, share * dt), distance / dt)


@short_kernel
def admit(state, bounds, scaling, dt, rounding, admitted):
    """
    Bring a command inside its bounds.

    :param state: (r, n) state of the command before, with the command as the goal, finite.
    :param bounds: (5, n) bounds on the motion.
    :param scaling: share of the velocity limits that is used.
    :param dt: time since the last command [s]; not negative.
    :param rounding: difference of speeds that counts as none.
    :param admitted: (2, n) gets the command [rad] or [m] and its speed.
    :returns: whether it had to be changed.
    """
    write_reachable(state, bounds, scaling, max(dt, 1e-9))
    n, changed = state.shape[1], False
    for i in range(n):
        asked = (state[GOAL, i] - state[Q, i]) / (bounds[UNIT, i] * dt) if dt > 0.0 else 0.0
        speed = 0.0
        if bounds[MOVABLE, i]:
            speed = min(max(asked, state[LOW, i]), state[HIGH, i])
        changed |= abs(speed - asked) > rounding
        admitted[1, i] = speed
    for i in range(n):
        q, last = state[GOAL, i], state[Q, i]
        if changed:
            q = last + admitted[1, i] * bounds[UNIT, i] * dt
        admitted[0, i] = inside(q, last, bounds, i)
    return changed


class MotionKernels(NamedTuple):
    """
    Machine code of the steps.

    :ivar reachable: :func:`reachable`.
    :ivar track: :func:`track`.
    :ivar move: :func:`move`.
    :ivar admit: :func:`admit`.
    """

    reachable: Callable
    track: Callable
    move: Callable
    admit: Callable


@cache
def motion_kernels() -> MotionKernels:
    """Return the machine code of the steps, compiled now or loaded."""
    around = np.zeros((ROWS_OF_STATE, 1)), np.ones((ROWS_OF_BOUNDS, 1)), 1.0, 0.01
    moved = np.zeros((2, 1))
    return MotionKernels(
        entry_point(reachable, *around),
        entry_point(track, *around, 1.0, moved),
        entry_point(move, *around, 1.0, False, moved),
        entry_point(admit, *around, 1e-9, moved),
    )
