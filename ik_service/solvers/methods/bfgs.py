"""
Quasi-Newton minimisation of ½ eᵀWe: Broyden, Fletcher, Goldfarb and Shanno (1970).

The step is −H g with g the gradient and H an estimate of the inverse Hessian, updated by the last
change of the gradient (J. Nocedal and S. J. Wright, Numerical Optimization, 2006, equations
6.17 and 6.20), shortened until it lowers the cost. Joints that stand at a bound and would cross it
take no part.
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector, fill_vector
from ik_service.solvers.loop.limits import substitute_of
from ik_service.solvers.loop.line_search import (
    best_length,
    dot,
    is_descent,
    take_step_along,
    write_gradient,
)
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.options import length_weight
from ik_service.solvers.registry import given, SolverSpec

# The curvature along a step below which it teaches nothing.
_LEAST_CURVATURE = 1e-10
# Rows of the memory behind the n of the estimate.
_GRADIENT, _BEFORE, _STEP, _TRIAL, _DIRECTION = range(5)
VECTORS = 5


class Bfgs(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: the share of the step −H g that is tried first.
    """

    gain: float


@step_of(Bfgs)
def bfgs_step(method, chain, settings, work):
    """Write a step to ``work.step`` that lowers the cost; 0 where none does."""
    n = work.q.shape[0]
    inverse = work.memory
    gradient, before = work.memory[n + _GRADIENT], work.memory[n + _BEFORE]
    trial, direction = work.memory[n + _TRIAL], work.memory[n + _DIRECTION]
    write_gradient(chain, settings, work, gradient)
    fresh = work.iteration[0] == 0
    if fresh:
        _forget(inverse, n)
    else:
        fresh = not _learn(inverse, gradient, before, work.memory[n + _STEP], trial)
    copy_vector(gradient, before)
    slope = _descent_direction(inverse, gradient, direction)
    if not is_descent(slope):
        fresh = True
        _forget(inverse, n)
        slope = _descent_direction(inverse, gradient, direction)
    length = method.gain * (best_length(work, direction, slope) if fresh else 1.0)
    found = take_step_along(chain, settings, work, direction, slope, length, trial)
    if not found:
        _forget(inverse, n)
    # A bound may cut the step, and the gradient changes by the remainder.
    for i in range(n):
        taken = substitute_of(chain, settings.limits, i, trial[i])
        taken -= substitute_of(chain, settings.limits, i, work.q[i])
        work.memory[n + _STEP, i] = taken if found else 0.0


@inner_kernel
def _forget(inverse, n):
    """Set the estimate to the identity."""
    for i in range(n):
        for k in range(n):
            inverse[i, k] = 1.0 if i == k else 0.0


@inner_kernel
def _is_identity(inverse, n):
    """Whether the estimate is the identity."""
    for i in range(n):
        for k in range(n):
            if inverse[i, k] != (1.0 if i == k else 0.0):
                return False
    return True


@inner_kernel
def _descent_direction(inverse, gradient, direction):
    """Write −H g to ``direction``, 0 where the gradient is held back; returns its slope."""
    _multiply(inverse, gradient, direction)
    for i in range(gradient.shape[0]):
        direction[i] = -direction[i] if gradient[i] != 0.0 else 0.0
    return dot(direction, gradient)


@inner_kernel
def _multiply(inverse, vector, product):
    """Write H v to ``product``, by the columns of H, which are its rows: it is symmetric."""
    fill_vector(product, 0.0)
    for i in range(vector.shape[0]):
        share = vector[i]
        for k in range(vector.shape[0]):
            product[k] += share * inverse[i, k]


@inner_kernel
def _learn(inverse, gradient, before, step, change):
    """Update the estimate by the last step; return whether it is more than the identity."""
    n = gradient.shape[0]
    for i in range(n):
        change[i] = gradient[i] - before[i]
    curvature, length, changed = dot(step, change), dot(step, step), dot(change, change)
    if not curvature > _LEAST_CURVATURE * (length * changed) ** 0.5:
        if length == 0.0:
            _forget(inverse, n)
        return length > 0.0
    if _is_identity(inverse, n):
        for i in range(n):
            inverse[i, i] = curvature / changed
    # H ← (I − ρ s yᵀ) H (I − ρ y sᵀ) + ρ s sᵀ, with H y in place of the gradient before
    _multiply(inverse, change, before)
    factor = 1.0 + dot(change, before) / curvature
    for i in range(n):
        along = (factor * step[i] - before[i]) / curvature
        back = step[i] / curvature
        for k in range(n):
            inverse[i, k] += along * step[k] - back * before[k]
    return True


SPEC = SolverSpec(
    name='bfgs',
    summary='quasi-Newton minimisation of the squared error (Broyden, Fletcher, Goldfarb, Shanno)',
    uses=frozenset({'step_gain', 'jacobian'}),
    parameters=lambda chain, options: Bfgs(given(options.step_gain, 1.0)),
    max_iterations=200,
    patience=10,
    progress=0.1,
    keeps_limits=True,
    trees=True,
    length_weight=lambda chain, options: length_weight(chain),
    memory_rows=lambda chain: chain.n + VECTORS,
)
