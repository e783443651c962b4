"""
Classical variant of the transpose: the length of each step by what it alone does.

The step is α Jᵀ e (Wolovich and Elliott 1984), with a fixed α or the one that minimises the
linearised error ‖e − α J Jᵀ e‖, which is (e · J Jᵀ e) / ‖J Jᵀ e‖² (Buss 2004).
"""

from __future__ import annotations

from ik_service.kinematics.compile import inlined_kernel
from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.loop.width import width


@inlined_kernel
def descend_steepest(fixed_gain, work):
    """
    Write α Jᵀ e to ``work.step``.

    :param fixed_gain: α; 0 for the one that minimises the linearised error.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    """
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
    gain = fixed_gain
    if gain == 0.0:
        along = length = 0.0
        for j in range(width(work)):
            along += work.error[j] * moved[j]
            length += moved[j] * moved[j]
        gain = along / length if length > 0.0 else 0.0
    for i in range(rows.shape[0]):
        work.step[i] *= gain
