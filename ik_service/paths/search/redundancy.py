"""Kernels of the smoothing of a path: null spaces of its rows, and the banded system in them."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import copy_vector, fill_vector
from ik_service.solvers.loop.iteration import evaluate_pose, set_goal, weighted_rows
from ik_service.solvers.loop.linear_algebra import damped_step
from ik_service.solvers.loop.problem import open_problem

# Squared singular value of the Jacobian below which a direction belongs to the null space, and
# the length of what is left of a direction that counts as another one.
_NULL = 1e-8
_LEAST = 0.3


@kernel
def null_spaces(problem, targets, q, bases, scratch, trace):
    """
    Write an orthonormal basis of the null space of the Jacobian at every row of a path.

    The columns of I − J⁺J, the longest first, are made orthogonal one after the other (Gram and
    Schmidt); where there are fewer, zeros are left.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`, or that of a tree.
    :param targets: (N, …) as the kernels of the solver take them.
    :param q: (N, n) the path [rad] or [m].
    :param bases: (N, r, n) out.
    :param scratch: (n, n).
    :param trace: (0, 2n + 3), for none.
    """
    chain, settings, work = open_problem(problem)
    for row in range(q.shape[0]):
        set_goal(chain, targets[row], work.goal)
        copy_vector(q[row], work.q)
        evaluate_pose(chain, settings, work, 0, trace)
        weighted_rows(chain, settings, work)
        _write_projector(chain, work, scratch)
        for k in range(bases.shape[1]):
            if not _take_longest(scratch, bases[row, k]):
                for rest in range(k, bases.shape[1]):
                    fill_vector(bases[row, rest], 0.0)
                break


@inner_kernel
def _write_projector(chain, work, projector):
    """Write I − J⁺J; joints that cannot move have zeros."""
    n = projector.shape[0]
    for i in range(n):
        if not chain.lower[i] < chain.upper[i]:
            fill_vector(work.rows[i], 0.0)
    for i in range(n):
        copy_vector(work.rows[i], work.vector)
        damped_step(work, work.vector, _NULL)
        free = chain.lower[i] < chain.upper[i]
        for j in range(n):
            projector[i, j] = -work.step[j] if free else 0.0
        if free:
            projector[i, i] += 1.0


@inner_kernel
def _take_longest(vectors, longest):
    """Write the longest of some vectors, normalised, and take its share from all; False: none."""
    best, square = 0, 0.0
    for i in range(vectors.shape[0]):
        total = 0.0
        for j in range(vectors.shape[1]):
            total += vectors[i, j] * vectors[i, j]
        if total > square:
            best, square = i, total
    if square < _LEAST * _LEAST:
        return False
    length = math.sqrt(square)
    for j in range(longest.shape[0]):
        longest[j] = vectors[best, j] / length
    for i in range(vectors.shape[0]):
        share = 0.0
        for j in range(longest.shape[0]):
            share += vectors[i, j] * longest[j]
        for j in range(longest.shape[0]):
            vectors[i, j] -= share * longest[j]
    return True


@kernel
def solve_in_null_spaces(bases, coupling, stiffness, damping, gradient, band, vector):
    """
    Solve for the self-motions of all rows that lower a quadratic cost most.

    The cost couples each row with the two before it; its matrix in the coordinates of the null
    spaces has 3r − 1 diagonals below the main one. It is factorised as LDLᵀ.

    :param bases: (N, r, n) of the null spaces.
    :param coupling: (3, N) of each row with itself, the one before and the one before that.
    :param stiffness: (N, n) added to the coupling of each joint with itself.
    :param damping: (N,) added to the main diagonal.
    :param gradient: (N, n) of the cost; overwritten with the motions of the joints.
    :param band: (N r, 3r) scratch.
    :param vector: (N r,) scratch.
    """
    _assemble(bases, coupling, stiffness, damping, gradient, band, vector)
    _solve_banded(band, vector)
    rows, r, n = bases.shape
    for row in range(rows):
        for i in range(n):
            motion = 0.0
            for k in range(r):
                motion += bases[row, k, i] * vector[row * r + k]
            gradient[row, i] = motion


@inner_kernel
def _assemble(bases, coupling, stiffness, damping, gradient, band, vector):
    """Write the lower half of the matrix and the right side."""
    rows, r, n = bases.shape
    for row in range(rows):
        for k in range(r):
            p = row * r + k
            fill_vector(band[p], 0.0)
            vector[p] = 0.0
            for i in range(n):
                vector[p] -= bases[row, k, i] * gradient[row, i]
            for back in range(min(row, 2) + 1):
                for other in range(k + 1 if back == 0 else r):
                    product = stiff = 0.0
                    for i in range(n):
                        term = bases[row, k, i] * bases[row - back, other, i]
                        product += term
                        stiff += term * stiffness[row, i]
                    value = coupling[back, row] * product
                    if back == 0:
                        value += stiff
                    band[p, back * r + k - other] = value
            band[p, 0] += damping[row]


@inner_kernel
def _solve_banded(band, vector):
    """Solve by LDLᵀ; ``band[p, k]`` is the element of row p in column p − k."""
    size, width = band.shape
    for p in range(size):
        for k in range(min(width - 1, p), 0, -1):
            column = p - k
            value = band[p, k]
            for m in range(k + 1, min(width - 1, p) + 1):
                if m - k < width:
                    value -= band[p, m] * band[column, m - k]
            band[p, k] = value  # the factor times the pivot, until the row is done
        for k in range(min(width - 1, p), 0, -1):
            value = band[p, k]
            band[p, k] = value / band[p - k, 0]
            band[p, 0] -= value * band[p, k]
            vector[p] -= band[p, k] * vector[p - k]
    for p in range(size - 1, -1, -1):
        value = vector[p] / band[p, 0]
        for k in range(1, min(width - 1, size - 1 - p) + 1):
            value -= band[p + k, k] * vector[p + k]
        vector[p] = value
