"""
How steps keep the joint limits.

- ``ignore``: they do not.
- ``clamp``: each step is projected onto the limits.
- ``active_set``: a variable whose step would cross a bound is held at the bound, what that part
  of its motion does to the pose is taken off the error, and the step is computed again for the
  others. It is free again in the next iteration, so it leaves the bound as soon as a step points
  inside. A variable that can make a full turn within its limits is turned instead of held.
- ``transform`` and ``penalty``: see :mod:`ik_service.solvers.loop.substitution`.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.kinematics.compile import inner_kernel
from ik_service.solvers.loop.substitution import transformed, untransformed

STRATEGIES = ('ignore', 'clamp', 'active_set', 'transform', 'penalty')
IGNORE, CLAMP, ACTIVE_SET, TRANSFORM, PENALTY = range(5)
# A penalty that the method itself adds to the cost which it minimises.
PENALTY_IN_COST = 5
# Transformed variables do not move at a bound, so searches start this share of the range inside.
_START_INSIDE = 1e-3

# Farther out [rad], full turns would cost the angle its precision.
_FAR = 1e6


@inner_kernel
def inside(chain, i, value):
    """Value of a variable brought inside its limits: by full turns if that will do, else cut."""
    lower = chain.lower[i]
    upper = chain.upper[i]
    if lower <= value <= upper:
        return value
    turned = turned_inside(chain, i, value)
    return turned if lower <= turned <= upper else min(max(value, lower), upper)


@inner_kernel
def turned_inside(chain, i, value):
    """Value beyond a bound, moved by the full turns that bring it back over that bound."""
    turn = chain.turn[i]
    if turn == 0.0:
        return value
    if value > chain.upper[i]:
        return value - turn * np.ceil((value - chain.upper[i]) / turn)
    if value < chain.lower[i]:
        return value + turn * np.ceil((chain.lower[i] - value) / turn)
    return value


@inner_kernel
def start_inside(chain, seed, start, strategy):
    """Write the seed to ``start``, within the limits unless they are ignored."""
    for i in range(seed.shape[0]):
        value = seed[i]
        turn = chain.turn[i]
        if turn > 0.0 and abs(value) > _FAR:
            value -= turn * np.floor(value / turn)
        if strategy != IGNORE:
            value = inside(chain, i, value)
        if strategy == TRANSFORM:
            value = _off_the_bounds(chain, i, value)
        start[i] = value


@inner_kernel
def _off_the_bounds(chain, i, value):
    """Value a little inside its bounds."""
    width = chain.upper[i] - chain.lower[i]
    margin = _START_INSIDE * min(width, 1.0)
    return min(max(value, chain.lower[i] + margin), chain.upper[i] - margin)


@inner_kernel
def hold_crossing(chain, work):
    """
    Hold every free variable that the step would carry over a bound.

    :returns: how many are held that were free before.
    """
    count = 0
    for i in range(work.q.shape[0]):
        value = work.q[i] + work.step[i]
        lower = chain.lower[i]
        upper = chain.upper[i]
        if lower <= value <= upper or not math.isnan(work.held[i]):
            continue
        if lower <= turned_inside(chain, i, value) <= upper:
            continue
        bound = upper if value > upper else lower
        motion = bound - work.q[i]
        for j in range(6):
            work.error[j] -= motion * work.rows[i, j]
            work.rows[i, j] = 0.0
        work.held[i] = bound
        count += 1
    return count


@inner_kernel
def moved(chain, work, strategy, i, step):
    """Where a variable gets to from ``work.q`` by a step."""
    value = work.q[i]
    if strategy == ACTIVE_SET:
        return inside(chain, i, value + step) if math.isnan(work.held[i]) else work.held[i]
    if strategy == CLAMP:
        return min(max(value + step, chain.lower[i]), chain.upper[i])
    if strategy == TRANSFORM:
        lower, upper = chain.lower[i], chain.upper[i]
        return transformed(lower, upper, untransformed(lower, upper, value) + step)
    return value + work.scale[i] * step - work.shift[i]


@inner_kernel
def variable(chain, strategy, i, value):
    """What a joint position is in the variables that the strategy puts in the joints' place."""
    if strategy == TRANSFORM:
        return untransformed(chain.lower[i], chain.upper[i], value)
    return value


@inner_kernel
def advance(chain, work, strategy):
    """Take the step, and write to ``work.step`` what came of it."""
    if strategy != ACTIVE_SET:
        _advance_otherwise(chain, work, strategy)
        return
    for i in range(work.q.shape[0]):
        before = work.q[i]
        value = before + work.step[i]
        value = inside(chain, i, value) if math.isnan(work.held[i]) else work.held[i]
        work.q[i] = value
        work.step[i] = value - before


@inner_kernel
def _advance_otherwise(chain, work, strategy):
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = moved(chain, work, strategy, i, work.step[i])
        work.step[i] = work.q[i] - before


@inner_kernel
def all_inside(chain, q):
    """Whether every variable is within its limits."""
    for i in range(q.shape[0]):
        if not chain.lower[i] <= q[i] <= chain.upper[i]:
            return False
    return True


@inner_kernel
def bring_inside(chain, q):
    """Bring every variable within its limits."""
    for i in range(q.shape[0]):
        q[i] = inside(chain, i, q[i])


@inner_kernel
def turn_towards(chain, seed, q, strategy):
    """Turn every variable that full turns do not matter to as near to the seed as limits allow."""
    for i in range(q.shape[0]):
        turn = chain.turn[i]
        if turn == 0.0:
            continue
        # NumPy's floor stays a float: no integer holds an infinite bound.
        wanted = min(max(seed[i], -_FAR), _FAR)
        turns = np.floor((wanted - q[i]) / turn + 0.5)
        if strategy == IGNORE:
            q[i] += turn * turns
            continue
        turns = min(turns, np.floor((chain.upper[i] - q[i]) / turn))
        turns = max(turns, np.ceil((chain.lower[i] - q[i]) / turn))
        q[i] = min(max(q[i] + turn * turns, chain.lower[i]), chain.upper[i])  # rounding
