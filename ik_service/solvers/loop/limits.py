"""
Joint limits of starts, steps and solutions, by the default strategy.

``active_set``: a variable whose step would cross a bound is fixed at the bound, what that part
of its motion does to the pose is taken off the error, and the step is computed again for the
others. It is free again in the next iteration, so it leaves the bound as soon as a step points
inside. A variable that can make a full turn within its limits is turned instead of fixed.
For the other strategies see :mod:`ik_service.solvers.loop.strategies`.
The package docstring, :mod:`ik_service.solvers.loop`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inner_kernel
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.substitution import off_the_bounds
from ik_service.solvers.loop.width import width

# Farther out [rad], full turns would cost the angle its precision.
_FAR = 1e6


@inner_kernel
def inside(chain, i, value):
    """Return a value within the limits: by full turns where possible, else clamped."""
    lower = chain.lower[i]
    upper = chain.upper[i]
    if lower <= value <= upper:
        return value
    turned = turned_inside(chain, i, value)
    return turned if lower <= turned <= upper else min(max(value, lower), upper)


@inner_kernel
def turned_inside(chain, i, value):
    """Return a value moved by the full turns that bring it back over the bound it exceeds."""
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
        if strategy != LimitStrategy.IGNORE:
            value = inside(chain, i, value)
        if strategy == LimitStrategy.TRANSFORM:
            value = off_the_bounds(chain, i, value)
        start[i] = value


@inner_kernel
def fix_crossing(chain, work):
    """Fix free variables that the step would carry over a bound; returns their number."""
    count = 0
    for i in range(work.q.shape[0]):
        value = work.q[i] + work.step[i]
        lower = chain.lower[i]
        upper = chain.upper[i]
        if lower <= value <= upper or not math.isnan(work.fixed_at[i]):
            continue
        if lower <= turned_inside(chain, i, value) <= upper:
            continue
        bound = upper if value > upper else lower
        motion = bound - work.q[i]
        for j in range(width(work)):
            work.error[j] -= motion * work.rows[i, j]
            work.rows[i, j] = 0.0
        work.fixed_at[i] = bound
        count += 1
    return count


@inner_kernel
def take_step_inside(chain, work):
    """Take the step, fixed variables to their bounds; write the step taken to ``work.step``."""
    for i in range(work.q.shape[0]):
        before = work.q[i]
        value = before + work.step[i]
        fixed_at = work.fixed_at[i]
        value = inside(chain, i, value) if math.isnan(fixed_at) else fixed_at
        work.q[i] = value
        work.step[i] = value - before


@inner_kernel
def turn_towards(chain, seed, q, strategy):
    """Move variables by full turns as near to the seed as the limits allow."""
    for i in range(q.shape[0]):
        turn = chain.turn[i]
        if turn == 0.0:
            continue
        # NumPy's floor stays a float: no integer holds an infinite bound.
        wanted = min(max(seed[i], -_FAR), _FAR)
        turns = np.floor((wanted - q[i]) / turn + 0.5)
        if strategy == LimitStrategy.IGNORE:
            q[i] += turn * turns
            continue
        turns = min(turns, np.floor((chain.upper[i] - q[i]) / turn))
        turns = max(turns, np.ceil((chain.lower[i] - q[i]) / turn))
        q[i] = min(max(q[i] + turn * turns, chain.lower[i]), chain.upper[i])  # rounding
