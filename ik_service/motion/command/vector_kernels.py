"""Compiled bounds on positions and velocities that are sent one by one, for the gate alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import short_inlined_kernel, short_kernel
from ik_service.jit.entry import entry_point

Q, MOVES, BRAKING, ALLOWED, BEFORE, SLOWING, SENT_AT, STALLED = range(8)
JERKY, CHANGES, LEAST, MOST, STEP, SLACK, UNEVEN, SMOOTHED = range(8, 16)
"""
Rows of the state of joints: last position and speed, largest acceleration and speed allowed
since they rested, speed allowed by the last bounds, until when they may be faster than those, when
the last message was sent, and for how long that was held up; largest jerk allowed since they
rested, last acceleration, least and most one by that jerk and those so far, length of the last
step, time that is added to steps as they are uneven, and until when, and whether the last velocity
was another one than asked for because of the jerk.
"""
ROWS_OF_STATE = 16

LOWER, UPPER, VELOCITY, ACCELERATION, JERK = range(5)  # rows of the bounds on the motion
ROWS_OF_BOUNDS = 5

GOOD, NOT_FINITE, OUTSIDE, TOO_FAST, TOO_SUDDEN, TOO_JERKY, SHOWN = range(7)
"""
Faults: none, not a number, outside the limits, speed, its change, change of the acceleration, and
velocity beside it.
"""

LONGEST_SLOWING = 2.5
"""Longest time for which a motion may be faster than limits that were tightened [s]."""

GOING_ON = 0.5
"""Longest time for which an acceleration within a limited jerk goes on after a change [s]."""

_LATE = 2.0  # periods without a message after which joints may have slowed down by themselves

_ROUNDING, _SLIGHT, _SHARE = 1e-9, 1e-6, 1e-6
"""Differences of positions [rad] or [m] and of velocities [rad/s] or [m/s], and share of these."""

_ANY = 1e12
"""Acceleration, time and room that greater ones count as [rad/s²] or [m/s²], [s], [rad] or [m]."""

_EVEN, _UNEVENNESS, _AFTER = 0.9, 37.5, 1.0
"""
Share of the period from which on a step counts as even. Periods that are added to steps in which
the acceleration may change, times the square of a share's shortfall: a moving average
changes as much faster in uneven steps. Time for which they are [s].
"""

_INSTANT = 1e-9  # shortest time that counts between two messages [s]


@short_inlined_kernel
def _passed(state, j, at, period):
    """Return the time from the last message of a joint to one at a time: a period at most."""
    return min(max(at - state[SENT_AT, j], _INSTANT), period)


@short_inlined_kernel
def _stopping_speed(room, braking, reaction):
    """Return the speed that goes on for a time and can then be braked within a room."""
    twice = 2.0 * min(max(room, 0.0), _ANY)
    return twice / (reaction + math.sqrt(reaction * reaction + twice / max(braking, 1e-9)))


@short_inlined_kernel
def _take_bounds(state, joints, bounds, at, period):
    """Write the accelerations and speeds that joints may have at a time."""
    moving = tightened = smooth = False
    for i in range(len(joints)):
        j = joints[i]
        moving |= state[MOVES, j] != 0.0
        smooth |= bounds[JERK, i] < math.inf
        tightened |= bounds[VELOCITY, i] < state[BEFORE, j]
    for i in range(len(joints)):
        j, limit = joints[i], bounds[VELOCITY, i]
        acceleration, allowed = min(bounds[ACCELERATION, i], _ANY), limit
        if moving:
            acceleration = max(acceleration, state[BRAKING, j])
            if tightened:
                state[SLOWING, j] = at + LONGEST_SLOWING
            left, slower = state[SLOWING, j] - at, abs(state[MOVES, j])
            if left < 0.0:
                slower -= acceleration * _passed(state, j, at, period)
            elif smooth and left > LONGEST_SLOWING - GOING_ON:
                slower = state[ALLOWED, j]
            allowed = max(limit, min(state[ALLOWED, j], slower))
        state[BRAKING, j], state[ALLOWED, j], state[BEFORE, j] = acceleration, allowed, limit


@short_inlined_kernel
def _lowest(state, j, room, dt, reaction, late):
    """Return the lowest speed of a joint in a step, whose lower limit is so far."""
    last, braking = state[MOVES, j], state[BRAKING, j]
    slowed = math.copysign(max(abs(last) - braking * late, 0.0), last)
    low = max(min(last, slowed) - braking * dt, -state[ALLOWED, j])
    return max(low, -_stopping_speed(room, braking, reaction))


@short_inlined_kernel
def _highest(state, j, room, dt, reaction, late):
    """Return the highest speed of a joint in a step, whose upper limit is so far."""
    last, braking = state[MOVES, j], state[BRAKING, j]
    slowed = math.copysign(max(abs(last) - braking * late, 0.0), last)
    high = min(max(last, slowed) + braking * dt, state[ALLOWED, j])
    return min(high, _stopping_speed(room, braking, reaction))


@short_inlined_kernel
def _held_up(state, j, at, period):
    """Return for how long a joint may have slowed down by itself until a time."""
    if state[MOVES, j] == 0.0:
        return 0.0
    since = min(at - state[SENT_AT, j], _ANY)
    return max(since - period if since > _LATE * period else 0.0, state[STALLED, j])


@short_inlined_kernel
def _take_step(state, j, jerk, dt, period, at, late):
    """Write the least and the most acceleration that a joint may have in a step."""
    state[JERKY, j] = jerk if state[MOVES, j] == 0.0 else max(jerk, state[JERKY, j])
    if state[STEP, j] <= _INSTANT:  # it has begun at rest
        state[STEP, j] = dt
    short = max(_EVEN - (0.0 if late > 0.0 else dt / period), 0.0)
    slack = _UNEVENNESS * short * short * period
    if slack >= state[SLACK, j] or at > state[UNEVEN, j]:
        state[SLACK, j], state[UNEVEN, j] = slack, at + _AFTER
    if late > 0.0 or not state[JERKY, j] < math.inf:
        state[LEAST, j], state[MOST, j] = -_ANY, _ANY
    else:
        change = state[JERKY, j] * state[STEP, j]
        state[LEAST, j], state[MOST, j] = state[LEAST, j] - change, state[MOST, j] + change


@short_inlined_kernel
def _is_smooth(state, j, dt, speed):
    """Return whether the acceleration to a speed is within the jerk of a joint."""
    last, jerk, span = state[MOVES, j], state[JERKY, j], 0.5 * (dt + state[STEP, j])
    if not jerk < math.inf:
        return True
    slack = jerk * state[SLACK, j] * (1.0 + _SHARE) + _SLIGHT + _ROUNDING / dt / span
    change = (speed - last) / span
    return state[LEAST, j] - slack <= change <= state[MOST, j] + slack


@short_inlined_kernel
def _smooth(state, j, dt, wanted):
    """Return the next speed towards a wanted one, so that the acceleration can end there."""
    last, jerk, span = state[MOVES, j], state[JERKY, j], 0.5 * (dt + state[STEP, j])
    if not jerk < math.inf:
        return wanted
    before, most, away = state[CHANGES, j], jerk * state[STEP, j], abs(wanted - last)
    change = math.sqrt(jerk * dt * jerk * dt + 2.0 * jerk * away) - jerk * dt
    change = math.copysign(min(change, away / span), wanted - last)
    return last + span * min(max(change, before - most), before + most)


@short_inlined_kernel
def _arriving(state, j, dt, way):
    """Return the speed with which a joint goes on that is to stop after a step of a speed."""
    braking, jerk, room, reaction = state[BRAKING, j], state[JERKY, j], way * dt, dt
    if jerk < math.inf:
        ends = abs(state[CHANGES, j]) / jerk  # time in which the acceleration ends
        room -= (state[MOVES, j] + state[CHANGES, j] * ends / 3.0) * ends
        reaction += 0.5 * braking / jerk
    speed = min(_stopping_speed(abs(room), braking, reaction), state[ALLOWED, j])
    return math.copysign(min(speed, abs(room) / dt), room)


@short_inlined_kernel
def _end_step(state, j, moves, dt, late, fault):
    """Take note of the acceleration of a step; it is meaningless after a late one."""
    change = (moves - state[MOVES, j]) / (0.5 * (dt + state[STEP, j]))
    state[LEAST, j] = max(state[LEAST, j], change) if fault == GOOD else change
    state[MOST, j] = min(state[MOST, j], change) if fault == GOOD else change
    if late > 0.0:
        state[LEAST, j], state[MOST, j], change = -_ANY, _ANY, 0.0
    state[STEP, j], state[CHANGES, j] = dt, change


@short_inlined_kernel
def _shown(velocity, moves, state, j, dt):
    """Return the velocity nearest to one that a joint may have at the end of a step."""
    half = 0.5 * state[BRAKING, j] * dt + _SLIGHT + _ROUNDING / dt
    most = max(state[ALLOWED, j], abs(moves)) + _SLIGHT
    wanted = velocity if math.isfinite(velocity) else moves
    return min(max(wanted, max(moves - half, -most)), min(moves + half, most))


@short_kernel
def admit_positions(state, joints, asked, bounds, at, period, admitted):
    """
    Bring positions inside their bounds.

    A joint that is not sent where it was asked for goes there as it can still stop there.

    :param state: (16, n) the state of joints; is brought up to date.
    :param joints: (k,) indices of those that are commanded.
    :param asked: (2, k) positions, and velocities at the end of the step.
    :param bounds: (5, k) bounds on their motion.
    :param at: when the positions will have been sent [s].
    :param period: time between two messages [s].
    :param admitted: (2, k) gets positions and velocities within the bounds.
    :returns: why they are others; 0 where they are not.
    """
    _take_bounds(state, joints, bounds, at, period)
    fault = GOOD
    for i in range(len(joints)):
        j, q = joints[i], asked[0, i]
        last, dt, late = state[Q, j], _passed(state, j, at, period), _held_up(state, j, at, period)
        high = _highest(state, j, bounds[UPPER, i] - last, dt, dt, late)
        low = min(_lowest(state, j, last - bounds[LOWER, i], dt, dt, late), high)
        least, most = min(bounds[LOWER, i], last), max(bounds[UPPER, i], last)
        way, slack = (q - last) / dt, _SHARE * max(abs(low), abs(high)) + _ROUNDING / dt
        inside = least - _ROUNDING <= q <= most + _ROUNDING
        _take_step(state, j, bounds[JERK, i], dt, period, at, late)
        within = inside and low - slack <= way <= high + slack
        sound = within and _is_smooth(state, j, dt, way)
        if not sound:
            if not math.isfinite(way):
                fault, way = NOT_FINITE, 0.0
            elif not inside:
                fault = OUTSIDE
            elif within:
                fault = TOO_JERKY
            else:
                fault = TOO_FAST if abs(way) > state[ALLOWED, j] + slack else TOO_SUDDEN
            speed = _smooth(state, j, dt, _arriving(state, j, dt, way))
            speed = min(max(speed, low), high)
            q = min(max(last + speed * dt, least), most)
        moves = (q - last) / dt
        admitted[0, i], admitted[1, i] = q, _shown(asked[1, i], moves, state, j, dt)
        if admitted[1, i] != asked[1, i] and fault == GOOD:
            fault = SHOWN
        _end_step(state, j, moves, dt, late, GOOD if sound else fault)
        state[Q, j], state[MOVES, j], state[SENT_AT, j], state[STALLED, j] = q, moves, at, 0.0
    return fault


@short_kernel
def admit_velocities(state, joints, asked, bounds, at, period, admitted):
    """
    Bring velocities inside their bounds.

    :param state: (16, n) the state of joints; is brought up to date.
    :param joints: (k,) indices of those that are commanded.
    :param asked: (2, k) where they are, NaN where that is not known, and velocities.
    :param bounds: (5, k) bounds on their motion.
    :param at: when the velocities are sent [s].
    :param period: time between two messages [s].
    :param admitted: (2, k) gets the same positions, and velocities within the bounds.
    :returns: why they are others; 0 where they are not.
    """
    _take_bounds(state, joints, bounds, at, period)
    fault = GOOD
    for i in range(len(joints)):
        j, q, asked_for = joints[i], asked[0, i], asked[1, i]
        dt, known = _passed(state, j, at, period), math.isfinite(q)
        above = bounds[UPPER, i] - q if known else _ANY
        below = q - bounds[LOWER, i] if known else _ANY
        high = _highest(state, j, above, dt, period, 0.0)
        low = min(_lowest(state, j, below, dt, period, 0.0), high)
        wanted = asked_for if math.isfinite(asked_for) else 0.0
        late = _held_up(state, j, at, period)
        _take_step(state, j, bounds[JERK, i], dt, period, at, late)
        velocity = min(max(wanted, low), high)
        wanted = min(max(wanted, -state[ALLOWED, j]), state[ALLOWED, j])
        smoothed = _smooth(state, j, dt, wanted)
        smooth = _is_smooth(state, j, dt, velocity)
        if state[SMOOTHED, j] != 0.0 and abs(smoothed - wanted) > _SLIGHT:
            smooth = False  # its acceleration could not end there
        if not smooth:
            velocity = min(max(smoothed, low), high)
        state[SMOOTHED, j] = 0.0
        if not abs(velocity - asked_for) <= _SLIGHT:
            state[SMOOTHED, j] = 0.0 if smooth else 1.0
            if not math.isfinite(asked_for):
                fault = NOT_FINITE
            else:
                fast = abs(asked_for) > state[ALLOWED, j] + _SLIGHT
                sudden = not low - _SLIGHT <= asked_for <= high + _SLIGHT
                fault = TOO_FAST if fast else TOO_SUDDEN if sudden else TOO_JERKY
        admitted[0, i], admitted[1, i] = q, velocity
        _end_step(state, j, velocity, dt, late, GOOD if smooth else TOO_JERKY)
        state[MOVES, j], state[SENT_AT, j] = velocity, at
    return fault


class VectorKernels(NamedTuple):
    """
    Machine code of the kernels.

    :ivar positions: :func:`admit_positions`.
    :ivar velocities: :func:`admit_velocities`.
    """

    positions: Callable
    velocities: Callable


def state_of(n: int) -> np.ndarray:
    """Return the initial state of n joints (8, n)."""
    state = np.zeros((ROWS_OF_STATE, n))
    state[SENT_AT] = -np.inf
    return state


@cache
def vector_kernels() -> VectorKernels:
    """Return the machine code of the kernels, compiled now or loaded."""
    joints, rows = np.zeros(1, np.intp), np.ones((ROWS_OF_BOUNDS, 1))
    around = state_of(1), joints, np.zeros((2, 1)), rows, 0.0, 0.01, np.zeros((2, 1))
    return VectorKernels(
        entry_point(admit_positions, *around), entry_point(admit_velocities, *around)
    )
