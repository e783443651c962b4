"""Singular value decomposition of a Jacobian in kernels."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel

# Singular values below this share of the largest count as zero; the noise of rounding is below.
RANK_TOLERANCE = 1e-13
# One-sided Jacobi: sweeps at most, and the cosine of two columns that counts as orthogonal.
_SWEEPS = 30
_ORTHOGONAL = 1e-14


@inner_kernel
def orthogonal_columns(rows, columns, V):
    """
    Singular value decomposition of a Jacobian by one-sided Jacobi rotations (Hestenes 1958).

    :param rows: (n, w) the transpose of the Jacobian J, w = 6 for a single tip.
    :param columns: (w, n) out: row j is column j of Jᵀ V, whose length is a singular value.
    :param V: (w, w) out: orthogonal, such that the columns of Jᵀ V are.
    """
    n, width = rows.shape
    for j in range(width):
        for i in range(n):
            columns[j, i] = rows[i, j]
        for k in range(width):
            V[j, k] = 1.0 if j == k else 0.0
    for _ in range(_SWEEPS):
        rotated = False
        for j in range(width - 1):
            for k in range(j + 1, width):
                rotated |= _orthogonalise(columns, V, j, k)
        if not rotated:
            break


@inner_kernel
def squared_singular_values(columns, squares):
    """
    Write the squares of the singular values.

    :param columns: (w, n) from :func:`orthogonal_columns`.
    :param squares: (w,) out.
    :returns: the largest square that counts as zero.
    """
    largest = 0.0
    for j in range(columns.shape[0]):
        square = 0.0
        for i in range(columns.shape[1]):
            square += columns[j, i] * columns[j, i]
        squares[j] = square
        largest = max(largest, square)
    return largest * RANK_TOLERANCE * RANK_TOLERANCE


@inner_kernel
def largest_index(vector):
    """
    Return the index of the largest element, the first if there are several.

    :param vector: (n,).
    """
    largest = 0
    for j in range(vector.shape[0]):
        if vector[j] > vector[largest]:
            largest = j
    return largest


@inner_kernel
def _orthogonalise(columns, V, j, k):
    """Rotate two columns until they are orthogonal; False when they already were."""
    alpha = beta = gamma = 0.0
    for i in range(columns.shape[1]):
        alpha += columns[j, i] * columns[j, i]
        beta += columns[k, i] * columns[k, i]
        gamma += columns[j, i] * columns[k, i]
    noise = min(alpha, beta) <= RANK_TOLERANCE * RANK_TOLERANCE * max(alpha, beta)
    if noise or abs(gamma) <= _ORTHOGONAL * math.sqrt(alpha * beta):
        return False
    zeta = (beta - alpha) / (2.0 * gamma)
    tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    c = 1.0 / math.sqrt(1.0 + tangent * tangent)
    s = c * tangent
    for i in range(columns.shape[1]):
        a, b = columns[j, i], columns[k, i]
        columns[j, i], columns[k, i] = c * a - s * b, s * a + c * b
    for i in range(V.shape[0]):
        a, b = V[i, j], V[i, k]
        V[i, j], V[i, k] = c * a - s * b, s * a + c * b
    return True
