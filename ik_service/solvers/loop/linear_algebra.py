"""Linear algebra of the steps, in kernels: least squares, LU, LDLᵀ of bands, singular values."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, varied_kernel


@inner_kernel
def damped_least_squares(rows, e, damping, step):
    """
    Write Jᵀ(JJᵀ + λI)⁻¹ e to ``step``.

    The loops are unrolled, so that the numbers stay in registers: aij is the lower triangle of
    JJᵀ + λI, lij the unit lower triangle of its factor, di the inverse of its diagonal, and cij
    that triangle times the diagonal.

    :param rows: (n, 6) the rows of Jᵀ.
    :param e: (6,).
    :param step: (n,) out.
    :returns: the smallest pivot of JJᵀ + λI, at least its smallest eigenvalue.
    """
    a00 = a11 = a22 = a33 = a44 = a55 = damping
    a10 = a20 = a21 = a30 = a31 = a32 = a40 = a41 = a42 = a43 = 0.0
    a50 = a51 = a52 = a53 = a54 = 0.0
    for i in range(rows.shape[0]):
        r0, r1, r2 = rows[i, 0], rows[i, 1], rows[i, 2]
        r3, r4, r5 = rows[i, 3], rows[i, 4], rows[i, 5]
        a00 += r0 * r0
        a10 += r1 * r0
        a11 += r1 * r1
        a20 += r2 * r0
        a21 += r2 * r1
        a22 += r2 * r2
        a30 += r3 * r0
        a31 += r3 * r1
        a32 += r3 * r2
        a33 += r3 * r3
        a40 += r4 * r0
        a41 += r4 * r1
        a42 += r4 * r2
        a43 += r4 * r3
        a44 += r4 * r4
        a50 += r5 * r0
        a51 += r5 * r1
        a52 += r5 * r2
        a53 += r5 * r3
        a54 += r5 * r4
        a55 += r5 * r5
    d0 = 1.0 / a00
    c10 = a10
    l10 = c10 * d0
    d1 = 1.0 / (a11 - l10 * c10)
    c20 = a20
    l20 = c20 * d0
    c21 = a21 - l10 * c20
    l21 = c21 * d1
    d2 = 1.0 / (a22 - l20 * c20 - l21 * c21)
    c30 = a30
    l30 = c30 * d0
    c31 = a31 - l10 * c30
    l31 = c31 * d1
    c32 = a32 - l20 * c30 - l21 * c31
    l32 = c32 * d2
    d3 = 1.0 / (a33 - l30 * c30 - l31 * c31 - l32 * c32)
    c40 = a40
    l40 = c40 * d0
    c41 = a41 - l10 * c40
    l41 = c41 * d1
    c42 = a42 - l20 * c40 - l21 * c41
    l42 = c42 * d2
    c43 = a43 - l30 * c40 - l31 * c41 - l32 * c42
    l43 = c43 * d3
    d4 = 1.0 / (a44 - l40 * c40 - l41 * c41 - l42 * c42 - l43 * c43)
    c50 = a50
    l50 = c50 * d0
    c51 = a51 - l10 * c50
    l51 = c51 * d1
    c52 = a52 - l20 * c50 - l21 * c51
    l52 = c52 * d2
    c53 = a53 - l30 * c50 - l31 * c51 - l32 * c52
    l53 = c53 * d3
    c54 = a54 - l40 * c50 - l41 * c51 - l42 * c52 - l43 * c53
    l54 = c54 * d4
    d5 = 1.0 / (a55 - l50 * c50 - l51 * c51 - l52 * c52 - l53 * c53 - l54 * c54)
    y0 = e[0]
    y1 = e[1] - l10 * y0
    y2 = e[2] - l20 * y0 - l21 * y1
    y3 = e[3] - l30 * y0 - l31 * y1 - l32 * y2
    y4 = e[4] - l40 * y0 - l41 * y1 - l42 * y2 - l43 * y3
    y5 = e[5] - l50 * y0 - l51 * y1 - l52 * y2 - l53 * y3 - l54 * y4
    x5 = y5 * d5
    x4 = y4 * d4 - l54 * x5
    x3 = y3 * d3 - l43 * x4 - l53 * x5
    x2 = y2 * d2 - l32 * x3 - l42 * x4 - l52 * x5
    x1 = y1 * d1 - l21 * x2 - l31 * x3 - l41 * x4 - l51 * x5
    x0 = y0 * d0 - l10 * x1 - l20 * x2 - l30 * x3 - l40 * x4 - l50 * x5
    for i in range(rows.shape[0]):
        step[i] = (
            rows[i, 0] * x0
            + rows[i, 1] * x1
            + rows[i, 2] * x2
            + rows[i, 3] * x3
            + rows[i, 4] * x4
            + rows[i, 5] * x5
        )
    return 1.0 / max(d0, d1, d2, d3, d4, d5)


def damped_step(work, error, damping):
    """
    Write Jᵀ(JJᵀ + λI)⁻¹ e for the rows of ``work`` to ``work.step``.

    It minimises ‖J Δq − e‖² + λ‖Δq‖².

    :param work: :class:`~ik_service.solvers.loop.problem.Workspace`.
    :param error: (6,) e.
    :param damping: λ, above 0.
    """
    damped_least_squares(work.rows, error, damping, work.step)


damped_step = varied_kernel(damped_step, inlined=True)

# Keeps the 6×6 system definite where the Jacobian is singular and the error is nearly zero.
LEAST_DAMPING = 1e-12


def error_damped_step(work, error, damping):
    """
    Write the damped step for a damping in proportion to the cost to ``work.step``.

    :param damping: λ for the whole cost; of several tips, those with no joint in common with the
        others get the share of their own cost.
    """
    damped_step(work, error, damping)


error_damped_step = varied_kernel(error_damped_step, inlined=True)


@inner_kernel
def solve_by_lu(A, b):
    """
    Solve A x = b by LU decomposition with partial pivoting, in place.

    :param A: (n, n), overwritten; more rows than b is long are left alone.
    :param b: (n,), overwritten by x.
    :returns: whether all pivots were different from 0; if not, b is of no use.
    """
    n = b.shape[0]
    for column in range(n):
        pivot = column
        for i in range(column + 1, n):
            if abs(A[i, column]) > abs(A[pivot, column]):
                pivot = i
        if not abs(A[pivot, column]) > 0.0:  # nor where it is NaN
            return False
        if pivot != column:
            for k in range(n):
                A[column, k], A[pivot, k] = A[pivot, k], A[column, k]
            b[column], b[pivot] = b[pivot], b[column]
        inverse = 1.0 / A[column, column]
        for i in range(column + 1, n):
            factor = A[i, column] * inverse
            b[i] -= factor * b[column]
            for k in range(column, n):
                A[i, k] -= factor * A[column, k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[i, k] * b[k]
        b[i] /= A[i, i]
    return True


@inner_kernel
def solve_banded(band, vector):
    """
    Solve a symmetric system of few diagonals by LDLᵀ, in place.

    :param band: (p, w) the element of row i in column i − k is ``band[i, k]``; overwritten.
    :param vector: (p,) the right side, overwritten by x.
    :returns: whether the matrix is positive definite; if not, the vector is of no use.
    """
    size, width = band.shape
    for p in range(size):
        for k in range(min(width - 1, p), 0, -1):
            value = band[p, k]
            for m in range(k + 1, min(width - 1, p) + 1):
                if m - k < width:
                    value -= band[p, m] * band[p - k, m - k]
            band[p, k] = value  # the factor times the pivot, until the row is done
        for k in range(min(width - 1, p), 0, -1):
            value = band[p, k]
            band[p, k] = value / band[p - k, 0]
            band[p, 0] -= value * band[p, k]
            vector[p] -= band[p, k] * vector[p - k]
        if not 0.0 < band[p, 0] < math.inf:
            return False
    for p in range(size - 1, -1, -1):
        value = vector[p] / band[p, 0]
        for k in range(1, min(width - 1, size - 1 - p) + 1):
            value -= band[p + k, k] * vector[p + k]
        vector[p] = value
    return True


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
    """Return the index of the largest element, the first if there are several."""
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
