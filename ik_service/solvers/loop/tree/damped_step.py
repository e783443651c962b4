"""
Damped least squares for any number of error components and variables.

Of both forms of the step, Jᵀ(JJᵀ + λI)⁻¹ e and (JᵀJ + λI)⁻¹ Jᵀ e, the one with the smaller matrix
is computed, by an LDLᵀ factorisation. Zeros, as between a joint and a tip that it does not move,
are skipped.
"""

from __future__ import annotations

from ik_service.jit.compile import inner_kernel, variant
from ik_service.kinematics.kernels import copy_vector
from ik_service.solvers.kernels.damped_least_squares import damped_step
from ik_service.solvers.loop.tree.problem import TreeWorkspace


@variant(damped_step, TreeWorkspace)
def _tree_damped_step(work, error, damping):
    """Write the damped step for the rows of ``work`` to ``work.step``."""
    rows, matrix = work.rows, work.matrix
    n, width = rows.shape
    if width <= n:
        solution = work.solution
        copy_vector(error, solution)
        _outer_products(rows, damping, matrix)
        solve_definite(matrix, solution)
        for i in range(n):
            work.step[i] = 0.0
            for j in range(width):
                work.step[i] += rows[i, j] * solution[j]
    else:
        _inner_products(rows, damping, matrix)
        for i in range(n):
            work.step[i] = 0.0
            for j in range(width):
                work.step[i] += rows[i, j] * error[j]
        solve_definite(matrix, work.step)


@inner_kernel
def _outer_products(rows, damping, matrix):
    """Write the lower triangle of JJᵀ + λI."""
    for j in range(rows.shape[1]):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = damping
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(row.shape[0]):
            value = row[j]
            if value != 0.0:
                for k in range(j + 1):
                    matrix[j, k] += value * row[k]


@inner_kernel
def _inner_products(rows, damping, matrix):
    """Write the lower triangle of JᵀJ + λI."""
    for i in range(rows.shape[0]):
        for k in range(i + 1):
            total = damping if i == k else 0.0
            for j in range(rows.shape[1]):
                total += rows[i, j] * rows[k, j]
            matrix[i, k] = total


@inner_kernel
def solve_definite(matrix, vector):
    """
    Solve a symmetric positive definite system by LDLᵀ, in place.

    :param matrix: its lower triangle, as large as the vector or larger; overwritten.
    :param vector: (s,) right side, overwritten with the solution.
    """
    size = vector.shape[0]
    for i in range(size):
        pivot = matrix[i, i]
        value = vector[i]
        for j in range(i):
            product = matrix[i, j]
            for k in range(j):
                product -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = product  # the factor times the pivot, until the row is done
        for j in range(i):
            factor = matrix[i, j] * matrix[j, j]
            pivot -= factor * matrix[i, j]
            value -= factor * vector[j]
            matrix[i, j] = factor
        matrix[i, i] = 1.0 / pivot
        vector[i] = value
    for i in range(size - 1, -1, -1):
        value = vector[i] * matrix[i, i]
        for k in range(i + 1, size):
            value -= matrix[k, i] * vector[k]
        vector[i] = value
