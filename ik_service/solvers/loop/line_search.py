"""Gradient of the cost ½ eᵀWe, and line search along a direction."""

from __future__ import annotations

import math

from ik_service.jit.compile import inlined_kernel, inner_kernel
from ik_service.kinematics.kernels import last_frame
from ik_service.solvers.loop.iteration import errors
from ik_service.solvers.loop.limits import beyond_limits, moved
from ik_service.solvers.loop.problem import width
from ik_service.solvers.options import LimitStrategy

# Trials at most, and the least share of the decrease predicted by the slope (Armijo 1966).
_TRIALS = 12
_SUFFICIENT = 1e-4
# The longest motion of a joint in a step [rad] or [m]: beyond it the slope says nothing any more.
_LONGEST = 1.0


@inlined_kernel
def write_gradient(chain, settings, work, gradient):
    """
    Write the gradient of the cost to ``gradient``, 0 for variables that a bound holds back.

    For ½ eᵀWe it is −JᵀWe: exact where the rotations have one weight, since a rotation vector
    changes along its own direction as the angular velocity says.

    :param gradient: (n,) out.
    """
    for i in range(work.q.shape[0]):
        slope = 0.0
        for j in range(width(work)):
            slope -= work.rows[i, j] * work.error[j]
        if settings.limits == LimitStrategy.PENALTY_IN_COST:
            slope += settings.penalty * beyond_limits(chain, i, work.q[i])
        gradient[i] = 0.0 if _held_back(chain, settings.limits, work.q[i], i, slope) else slope


@inner_kernel
def _held_back(chain, strategy, value, i, slope):
    """Whether a variable stands at a bound and going down the slope would cross it."""
    if strategy == LimitStrategy.PENALTY_IN_COST:
        return chain.lower[i] == chain.upper[i]
    if strategy != LimitStrategy.CLAMP:
        return False
    return (value >= chain.upper[i] and slope < 0.0) or (value <= chain.lower[i] and slope > 0.0)


@inlined_kernel
def best_length(work, direction, slope):
    """Return the length along a direction that minimises the linearised cost."""
    square = 0.0
    for j in range(width(work)):
        moved = 0.0
        for i in range(direction.shape[0]):
            moved += work.rows[i, j] * direction[i]
        square += moved * moved
    return -slope / square if square > 0.0 else 1.0


@inlined_kernel
def take_step_along(chain, settings, work, direction, slope, length, trial):
    """
    Write a step along a direction to ``work.step`` that lowers the cost enough; 0 if none does.

    Backtracking, by the minimum of the parabola through the known values, but at least to a tenth.

    :param trial: (n,) scratch.
    :returns: whether there was such a step.
    """
    n = work.q.shape[0]
    longest = 0.0
    for i in range(n):
        longest = max(longest, abs(direction[i] * work.scale[i]))
    if length * longest > _LONGEST:
        length = _LONGEST / longest
    before = work.cost[0] + _penalty(chain, settings, work.q)
    for _ in range(_TRIALS):
        for i in range(n):
            work.step[i] = length * direction[i]
            trial[i] = moved(chain, work, settings.limits, i, work.step[i])
        last_frame(chain, trial, work.axes, work.frame)
        _, _, cost = errors(settings, work)
        cost += _penalty(chain, settings, trial)
        if cost <= before + _SUFFICIENT * length * slope:
            return True
        curved = 2.0 * (cost - before - length * slope)
        shorter = -slope * length * length / curved if curved > 0.0 else 0.0
        length = min(max(shorter, 0.1 * length), 0.5 * length)
    for i in range(n):
        work.step[i] = 0.0
    return False


@inner_kernel
def _penalty(chain, settings, q):
    """Return the cost of joints beyond their limits."""
    if settings.limits != LimitStrategy.PENALTY_IN_COST:
        return 0.0
    total = 0.0
    for i in range(q.shape[0]):
        beyond = beyond_limits(chain, i, q[i])
        total += 0.5 * settings.penalty * beyond * beyond
    return total


@inner_kernel
def dot(a, b):
    """Return the inner product of two vectors."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@inner_kernel
def is_descent(slope):
    """Return whether the cost falls along a direction of this slope."""
    return slope < 0.0 and math.isfinite(slope)
