"""
The Jacobian's pseudoinverse, by singular value decomposition.

The step is α J⁺ e (Whitney 1969), or with damping α Σ σᵢ / (σᵢ² + λ²) vᵢ uᵢᵀ e (Wampler 1986).
Undamped, it is exact far from singularities and jumps close to them, because 1/σ has no bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ik_service.kinematics.compile import fill_vector, inner_kernel
from ik_service.solvers.step import step_of

# Singular values below this share of the largest count as zero; the noise of rounding is below.
_RANK_TOLERANCE = 1e-13
# One-sided Jacobi: sweeps at most, and the cosine of two columns that counts as orthogonal.
_SWEEPS = 30
_ORTHOGONAL = 1e-14


class Pseudoinverse(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: α, the share of the step that is taken.
    :ivar damping: λ, in the unit of the singular values; 0 for none.
    """

    gain: float
    damping: float


@step_of(Pseudoinverse)
def pseudoinverse_step(method, work):
    """Write α J⁺ e to ``work.step``; rows of J that are zero take no part."""
    columns = work.columns
    V = work.matrix
    orthogonal_columns(work.rows, columns, V)
    n = columns.shape[1]
    largest = 0.0
    for j in range(6):
        square = 0.0
        for i in range(n):
            square += columns[j, i] * columns[j, i]
        work.vector[j] = square
        largest = max(largest, square)
    cut = largest * _RANK_TOLERANCE * _RANK_TOLERANCE
    damping = method.damping * method.damping
    fill_vector(work.step, 0.0)
    for j in range(6):
        square = work.vector[j]
        if square <= cut:
            continue
        projected = 0.0
        for k in range(6):
            projected += V[k, j] * work.error[k]
        factor = method.gain * projected / (square + damping)
        for i in range(n):
            work.step[i] += factor * columns[j, i]


@inner_kernel
def orthogonal_columns(rows, columns, V):
    """
    Singular value decomposition of a Jacobian by one-sided Jacobi rotations (Hestenes 1958).

    :param rows: (n, 6) the transpose of the Jacobian J.
    :param columns: (6, n) out: row j is column j of Jᵀ V, whose length is a singular value.
    :param V: (6, 6) out: orthogonal, such that the columns of Jᵀ V are.
    """
    n = rows.shape[0]
    for j in range(6):
        for i in range(n):
            columns[j, i] = rows[i, j]
        for k in range(6):
            V[j, k] = 1.0 if j == k else 0.0
    for _ in range(_SWEEPS):
        rotated = False
        for j in range(5):
            for k in range(j + 1, 6):
                rotated |= _orthogonalise(columns, V, j, k)
        if not rotated:
            break


@inner_kernel
def _orthogonalise(columns, V, j, k):
    """Rotate two columns until they are orthogonal; False when they already were."""
    alpha = beta = gamma = 0.0
    for i in range(columns.shape[1]):
        alpha += columns[j, i] * columns[j, i]
        beta += columns[k, i] * columns[k, i]
        gamma += columns[j, i] * columns[k, i]
    noise = min(alpha, beta) <= _RANK_TOLERANCE * _RANK_TOLERANCE * max(alpha, beta)
    if noise or abs(gamma) <= _ORTHOGONAL * math.sqrt(alpha * beta):
        return False
    zeta = (beta - alpha) / (2.0 * gamma)
    tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    c = 1.0 / math.sqrt(1.0 + tangent * tangent)
    s = c * tangent
    for i in range(columns.shape[1]):
        a, b = columns[j, i], columns[k, i]
        columns[j, i], columns[k, i] = c * a - s * b, s * a + c * b
    for i in range(6):
        a, b = V[i, j], V[i, k]
        V[i, j], V[i, k] = c * a - s * b, s * a + c * b
    return True
