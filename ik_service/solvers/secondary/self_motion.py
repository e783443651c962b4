"""Self-motions: joint motions that lower an objective and do not move the tip."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector
from ik_service.solvers.kernels.singular_values import squared_singular_values
from ik_service.solvers.loop.rows import rows_at
from ik_service.solvers.loop.strategies import moved
from ik_service.solvers.secondary.objectives import (
    MEMORY_ROWS,
    objective_gradient,
    objective_value,
)

# Rows of the method's memory, and their number.
_GRADIENT, _TRIAL, _MOTION, _COLUMNS = range(4)
SELF_MOTION_ROWS = 9 + MEMORY_ROWS
# The longest motion of a step [rad] or [m].
_LONGEST = 0.1
# The slope along the self-motion at which the objective has settled.
_SETTLED = 1e-5
# A motion that does not lower the objective is halved, so often at most.
_HALVINGS = 12


@inner_kernel
def add_self_motion(method, chain, settings, work, cut):
    """
    Add −β (I − J⁺J) ∇g to ``work.step``, shortened until it lowers g.

    :param method: the method's parameters.
    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: ``columns`` and ``vector`` hold the decomposition of J; ``pending`` is written.
    :param cut: the largest squared singular value that counts as zero.
    """
    n = work.q.shape[0]
    gradient, motion = work.memory[_GRADIENT], work.memory[_MOTION]
    for j in range(6):
        copy_vector(work.columns[j], work.memory[_COLUMNS + j])
    objective_gradient(method.objective, chain, settings, work, work.q, gradient)
    squared_singular_values(work.memory[_COLUMNS : _COLUMNS + 6], work.vector)
    for i in range(n):
        gradient[i] = gradient[i] * work.scale[i] if math.isnan(work.fixed_at[i]) else 0.0
        motion[i] = gradient[i]
    for j in range(6):
        if work.vector[j] > cut:
            column = work.memory[_COLUMNS + j]
            along = 0.0
            for i in range(n):
                along += column[i] * gradient[i]
            for i in range(n):
                motion[i] -= along / work.vector[j] * column[i]
    steepest = 0.0
    for i in range(n):
        steepest = max(steepest, abs(motion[i]))
        motion[i] *= -method.null_space_gain
    work.unfinished[0] = 0
    if steepest > _SETTLED:
        longest = method.null_space_gain * steepest
        share = _lowering_share(method, chain, settings, work, min(1.0, _LONGEST / longest))
        work.unfinished[0] = share > 0.0
        for i in range(n):
            work.step[i] += share * motion[i]
    rows_at(chain, settings, work, work.q)


@inner_kernel
def _lowering_share(method, chain, settings, work, share):
    """Return the share of the motion in ``work.memory`` that lowers the objective, or 0."""
    n = work.q.shape[0]
    trial, motion = work.memory[_TRIAL], work.memory[_MOTION]
    before = -math.inf
    copy_vector(work.q, trial)
    for _ in range(_HALVINGS):
        value = objective_value(method.objective, chain, settings, work, trial)
        if value < before:
            return share
        if before == -math.inf:
            before = value
        else:
            share *= 0.5
        for i in range(n):
            trial[i] = moved(chain, work, settings.limits, i, share * motion[i])
    return 0.0
