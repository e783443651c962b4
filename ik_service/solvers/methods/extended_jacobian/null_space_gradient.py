"""Square system of Baillieul's extended Jacobian."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector, fill_vector
from ik_service.solvers.loop.iteration import rows_at
from ik_service.solvers.loop.linear_algebra import (
    largest_index,
    orthogonal_columns,
    squared_singular_values,
)
from ik_service.solvers.secondary_objectives import MEMORY_ROWS, objective_gradient

# Of the central differences of the slope [rad] or [m].
_PERTURBATION = 1e-4
# The slope along the self-motions that counts as none.
_SETTLED = 1e-6


def memory_rows(n: int) -> int:
    """Return the rows needed for n variables: matrix, two vectors, null space, objective."""
    return n + 2 + n + MEMORY_ROWS


@inner_kernel
def fill_square_system(method, chain, settings, work, matrix):
    """
    Write the extended Jacobian to ``matrix`` and the right-hand side to ``work.step``.

    Rows of J come as its right singular vectors, so that a task of which the chain can fulfil
    less than six components is one of fewer rows. A variable that is held has a row of its own.

    :param matrix: (n, n) out.
    """
    n = work.q.shape[0]
    right = work.step
    for i in range(n):
        fill_vector(matrix[i], 0.0)
    free = 0
    for i in range(n):
        free += math.isnan(work.fixed_at[i])
    rank = min(method.objective.rank, free)
    orthogonal_columns(work.rows, work.columns, work.matrix)
    cut = squared_singular_values(work.columns, work.vector)
    for row in range(rank):
        largest = largest_index(work.vector)
        length = math.sqrt(work.vector[largest])
        right[row] = 0.0
        if work.vector[largest] <= cut:  # the row stays 0, and the matrix singular
            continue
        work.vector[largest] = -1.0
        for j in range(6):
            right[row] += work.matrix[j, largest] * work.error[j] / length
        for i in range(n):
            matrix[row, i] = work.columns[largest, i] / length
    row = free
    for i in range(n):
        if not math.isnan(work.fixed_at[i]):
            matrix[row, i] = 1.0
            right[row] = 0.0
            row += 1
    work.unfinished[0] = 0
    if free > rank:
        _add_slopes(method, chain, settings, work, matrix, rank, free)


@inner_kernel
def _add_slopes(method, chain, settings, work, matrix, rank, free):
    """Write the rows ∂(ηᵢ · ∇g) / ∂q, from row ``rank`` on until row ``free``."""
    n = work.q.shape[0]
    varied, projected, basis = work.memory[n], work.memory[n + 1], work.memory[n + 2 :]
    _null_space(work, matrix, basis, rank, free)
    _project_gradient(method, chain, settings, work, work.q, rank, projected)
    steepest = 0.0
    for i in range(free - rank):
        slope = 0.0
        for k in range(n):
            slope += basis[i, k] * projected[k]
        work.step[rank + i] = -method.null_space_gain * slope
        steepest = max(steepest, abs(slope))
    copy_vector(work.q, varied)
    for k in range(n):
        if not math.isnan(work.fixed_at[k]):
            continue
        for sign in (1.0, -1.0):
            varied[k] = work.q[k] + sign * _PERTURBATION
            _project_gradient(method, chain, settings, work, varied, rank, projected)
            for i in range(free - rank):
                for j in range(n):
                    part = sign * basis[i, j] * projected[j] / (2.0 * _PERTURBATION)
                    matrix[rank + i, k] += part * work.scale[k]
        varied[k] = work.q[k]
    work.unfinished[0] = method.null_space_gain > 0.0 and steepest > _SETTLED
    rows_at(chain, settings, work, work.q)


@inner_kernel
def _null_space(work, matrix, basis, rank, free):
    """
    Write an orthonormal basis of the null space of the first rows of ``matrix``.

    By the projections of the unit vectors, always of the one that is left the longest.
    """
    n = work.q.shape[0]
    for row in range(free - rank):
        best, longest = 0, -1.0
        for k in range(n):
            left = 1.0 if math.isnan(work.fixed_at[k]) else -1.0
            for i in range(rank):
                left -= matrix[i, k] * matrix[i, k]
            for i in range(row):
                left -= basis[i, k] * basis[i, k]
            if left > longest:
                best, longest = k, left
        fill_vector(basis[row], 0.0)
        basis[row, best] = 1.0
        for _ in range(2):  # twice, for rounding
            for i in range(rank):
                _subtract_projection(matrix[i], basis[row])
            for i in range(row):
                _subtract_projection(basis[i], basis[row])
        length = 0.0
        for k in range(n):
            length += basis[row, k] * basis[row, k]
        for k in range(n):
            basis[row, k] /= math.sqrt(length)


@inner_kernel
def _subtract_projection(unit, vector):
    """Make a vector orthogonal to a unit vector."""
    along = 0.0
    for k in range(vector.shape[0]):
        along += unit[k] * vector[k]
    for k in range(vector.shape[0]):
        vector[k] -= along * unit[k]


@inner_kernel
def _project_gradient(method, chain, settings, work, q, rank, projected):
    """Write (I − J⁺J) ∇g at any joint vector to ``projected``."""
    objective_gradient(method.objective, chain, settings, work, q, projected)
    for i in range(q.shape[0]):
        projected[i] *= work.scale[i]
    rows_at(chain, settings, work, q)
    orthogonal_columns(work.rows, work.columns, work.matrix)
    squared_singular_values(work.columns, work.vector)
    for _ in range(rank):
        largest = largest_index(work.vector)
        square = work.vector[largest]
        work.vector[largest] = -1.0
        along = 0.0
        for i in range(q.shape[0]):
            along += work.columns[largest, i] * projected[i]
        for i in range(q.shape[0]):
            projected[i] -= along / square * work.columns[largest, i]
