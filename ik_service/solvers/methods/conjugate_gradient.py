"""
Conjugate gradients on ½ eᵀWe.

The direction is −g + β p with p the one before and β by E. Polak and G. Ribière (1969), not below
0 (J. Nocedal and S. J. Wright, Numerical Optimization, 2006, equation 5.45), which starts anew
where the directions would no longer be conjugate. The step goes to the minimum of the linearised
cost along it, and is shortened if that does not lower the cost.
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.kinematics.kernels import copy_vector
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

_GRADIENT, _BEFORE, _DIRECTION, _TRIAL = range(4)
MEMORY_ROWS = 4  # of n numbers: these four


class ConjugateGradient(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: the share of the distance to the minimum along the direction that is tried first.
    """

    gain: float


@step_of(ConjugateGradient)
def conjugate_gradient_step(method, chain, settings, work):
    """Write a step to ``work.step`` that lowers the cost; 0 where none does."""
    n = work.q.shape[0]
    gradient, before = work.memory[_GRADIENT], work.memory[_BEFORE]
    direction, trial = work.memory[_DIRECTION], work.memory[_TRIAL]
    write_gradient(chain, settings, work, gradient)
    beta = 0.0
    if work.iteration[0] > 0:
        beta = max(0.0, (dot(gradient, gradient) - dot(gradient, before)) / dot(before, before))
    for i in range(n):
        held_back = gradient[i] == 0.0
        direction[i] = 0.0 if held_back else beta * direction[i] - gradient[i]
    slope = dot(direction, gradient)
    if not is_descent(slope):
        for i in range(n):
            direction[i] = -gradient[i]
        slope = -dot(gradient, gradient)
    length = method.gain * best_length(work, direction, slope)
    if not take_step_along(chain, settings, work, direction, slope, length, trial):
        for i in range(n):
            direction[i] = 0.0
    copy_vector(gradient, before)


SPEC = SolverSpec(
    name='conjugate_gradient',
    summary='conjugate gradients on the squared error (Polak, Ribière)',
    uses=frozenset({'step_gain', 'jacobian'}),
    parameters=lambda chain, options: ConjugateGradient(given(options.step_gain, 1.0)),
    max_iterations=1000,
    patience=25,
    progress=0.1,
    keeps_limits=True,
    trees=True,
    length_weight=lambda chain, options: length_weight(chain),
    memory_rows=lambda chain: MEMORY_ROWS,
)
