"""Linear systems in kernels."""

from __future__ import annotations

from ik_service.jit.compile import inner_kernel


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
