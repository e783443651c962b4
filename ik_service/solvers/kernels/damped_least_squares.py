"""
Damped least squares in six dimensions, written out.

The step Jᵀ(JJᵀ + λI)⁻¹ e minimises ‖J Δq − e‖² + λ‖Δq‖². The 6×6 system is solved by an LDLᵀ
factorisation whose loops are unrolled by hand: the numbers stay in registers, which makes an
iteration of the solver a third shorter than with loops over a matrix in memory.
"""

from __future__ import annotations

from ik_service.kinematics.compile import inner_kernel


@inner_kernel
def damped_least_squares(rows, e, damping, step):
    """
    Write Jᵀ(JJᵀ + λI)⁻¹ e to ``step``.

    :param rows: (n, 6) the transpose of J.
    :param e: (6,) error.
    :param damping: λ, positive.
    :param step: (n,) out.
    """
    # a: lower triangle of JJᵀ + λI
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
    # l: unit lower triangle; i: inverse of the diagonal; c: l times the diagonal
    i0 = 1.0 / a00
    l10 = a10 * i0
    i1 = 1.0 / (a11 - l10 * a10)
    l20 = a20 * i0
    c21 = a21 - l10 * a20
    l21 = c21 * i1
    i2 = 1.0 / (a22 - l20 * a20 - l21 * c21)
    l30 = a30 * i0
    c31 = a31 - l10 * a30
    l31 = c31 * i1
    c32 = a32 - l20 * a30 - l21 * c31
    l32 = c32 * i2
    i3 = 1.0 / (a33 - l30 * a30 - l31 * c31 - l32 * c32)
    l40 = a40 * i0
    c41 = a41 - l10 * a40
    l41 = c41 * i1
    c42 = a42 - l20 * a40 - l21 * c41
    l42 = c42 * i2
    c43 = a43 - l30 * a40 - l31 * c41 - l32 * c42
    l43 = c43 * i3
    i4 = 1.0 / (a44 - l40 * a40 - l41 * c41 - l42 * c42 - l43 * c43)
    l50 = a50 * i0
    c51 = a51 - l10 * a50
    l51 = c51 * i1
    c52 = a52 - l20 * a50 - l21 * c51
    l52 = c52 * i2
    c53 = a53 - l30 * a50 - l31 * c51 - l32 * c52
    l53 = c53 * i3
    c54 = a54 - l40 * a50 - l41 * c51 - l42 * c52 - l43 * c53
    l54 = c54 * i4
    i5 = 1.0 / (a55 - l50 * a50 - l51 * c51 - l52 * c52 - l53 * c53 - l54 * c54)
    # forward and back substitution
    y0 = e[0]
    y1 = e[1] - l10 * y0
    y2 = e[2] - l20 * y0 - l21 * y1
    y3 = e[3] - l30 * y0 - l31 * y1 - l32 * y2
    y4 = e[4] - l40 * y0 - l41 * y1 - l42 * y2 - l43 * y3
    y5 = e[5] - l50 * y0 - l51 * y1 - l52 * y2 - l53 * y3 - l54 * y4
    x5 = y5 * i5
    x4 = y4 * i4 - l54 * x5
    x3 = y3 * i3 - l43 * x4 - l53 * x5
    x2 = y2 * i2 - l32 * x3 - l42 * x4 - l52 * x5
    x1 = y1 * i1 - l21 * x2 - l31 * x3 - l41 * x4 - l51 * x5
    x0 = y0 * i0 - l10 * x1 - l20 * x2 - l30 * x3 - l40 * x4 - l50 * x5
    for i in range(rows.shape[0]):
        step[i] = (
            rows[i, 0] * x0
            + rows[i, 1] * x1
            + rows[i, 2] * x2
            + rows[i, 3] * x3
            + rows[i, 4] * x4
            + rows[i, 5] * x5
        )
