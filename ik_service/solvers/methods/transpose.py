"""
Transpose of the Jacobian: steepest descent of the squared error.

The step is α Jᵀ e (Wolovich and Elliott 1984), with a fixed α or the one that minimises the
linearised error ‖e − α J Jᵀ e‖, which is (e · J Jᵀ e) / ‖J Jᵀ e‖² (Buss 2004).
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.loop.width import width
from ik_service.solvers.registry import given, SolverSpec


class Transpose(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: α; 0 for the one that minimises the linearised error.
    """

    gain: float


@step_of(Transpose, short=True)
def transpose_step(method, chain, settings, work):
    """Write α Jᵀ e to ``work.step``."""
    rows = work.rows
    moved = work.vector
    fill_vector(moved, 0.0)
    for i in range(rows.shape[0]):
        value = 0.0
        for j in range(width(work)):
            value += rows[i, j] * work.error[j]
        work.step[i] = value
        for j in range(width(work)):
            moved[j] += rows[i, j] * value
    gain = method.gain
    if gain == 0.0:
        along = length = 0.0
        for j in range(width(work)):
            along += work.error[j] * moved[j]
            length += moved[j] * moved[j]
        gain = along / length if length > 0.0 else 0.0
    for i in range(rows.shape[0]):
        work.step[i] *= gain


SPEC = SolverSpec(
    name='transpose',
    summary='transpose of the Jacobian, the best step length unless it is given',
    uses=frozenset({'step_gain', 'jacobian'}),
    parameters=lambda chain, options: Transpose(given(options.step_gain, 0.0)),
    max_iterations=2000,
    max_searches=20,
    patience=50,
    progress=0.05,
    trees=True,
)
