"""Compiled Jacobians of many postures."""

from __future__ import annotations

from ik_service.jit.compile import kernel
from ik_service.kinematics.kernels import jacobian_rows, last_frame


@kernel
def fill_products(chain, q, rows, axes, frame, columns, products):
    """
    Write the product of the Jacobian with its transpose for many postures.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param q: (N, n) variables.
    :param rows: (r,) rows of the Jacobian that count.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param columns: (n, 6) scratch: the columns of the Jacobian, linear before angular.
    :param products: (N, k, k) out: J Jᵀ for r < n, else Jᵀ J.
    """
    n = columns.shape[0]
    size = products.shape[1]
    for k in range(q.shape[0]):
        last_frame(chain, q[k], axes, frame)
        jacobian_rows(chain, axes, frame, columns)
        for i in range(size):
            for j in range(i + 1):
                total = 0.0
                if rows.shape[0] < n:
                    for c in range(n):
                        total += columns[c, rows[i]] * columns[c, rows[j]]
                else:
                    for r in range(rows.shape[0]):
                        total += columns[i, rows[r]] * columns[j, rows[r]]
                products[k, i, j] = total
                products[k, j, i] = total
