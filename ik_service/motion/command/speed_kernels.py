"""Compiled bounds on the speeds of joints in a tick, for other kernels."""

from __future__ import annotations

import math

from ik_service.jit.compile import short_inlined_kernel

FULL_SPEED = 1.0 - 1e-9
"""Share of a bound that is used; the rest is room for rounding."""

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
    """Return the largest number that, times a way of a length, keeps bounds times dt."""
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
