"""
Least-squares system of the basic elements and the task, solved in linear time.

With T = BᵀB of the rows of the elements, d their displacements, w their weight, J and e those of
the task, the step x minimises w² ‖B x − d‖² + ‖J x − e‖². An element knows two consecutive joints
only, so T is tridiagonal in the joints of the path, and with y = (J x − e) / w²

    | T   Jᵀ | | x |   | Bᵀd |
    | J  −w² | | y | = |  e  |

is a band with a border, which is eliminated along the chain, as far as the corner that is left for
the border; that one is solved by LU decomposition (G. H. Golub and C. F. Van Loan, Matrix
Computations, 2013, sections 4.3 and 4.4). The normal equations of Šoch and Lórencz, T w² + JᵀJ,
are the same with y put in; here w² is never added to larger numbers, and the rows of J are turned
so that each is as long as can be among those behind it: where the arm cannot make the motion of
the task, y grows with 1 / w², and rounding would mix it into the rest. Into the border come also

- each joint that moves with an earlier one, being moved by the same variable: xₖ − x_first = 0;
- each joint whose pivot is next to nothing, because the elements alone do not determine it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import inlined_kernel, inner_kernel
from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.loop.linear_algebra import solve_by_lu
from ik_service.solvers.methods.extended_jacobian.basic_elements import element_products, Elements

# Shares below which a rest is no pivot: of a joint's own diagonal element, and of the largest.
_WEAK, _WEAKEST = 1e-3, 1e-6
_TASK = 6


class ElementSystem(NamedTuple):
    """
    Symmetric band of m joints with a border of b ≤ 6 + (m − n) + m unknowns.

    :ivar diagonal: (m,) of T; behind the elimination, the pivots.
    :ivar beside: (m,) of T, the element that joins a joint to the next one.
    :ivar right: (m,) right side.
    :ivar solution: (m,) x.
    :ivar border_index: (m,) index of a joint in the border; −1: it is not.
    :ivar border: (m, b) rows of joints, columns of the border.
    :ivar corner: (b, b) of the border with itself.
    :ivar corner_right: (b,) right side, then y.
    :ivar normal: (6,) scratch.
    """

    diagonal: np.ndarray
    beside: np.ndarray
    right: np.ndarray
    solution: np.ndarray
    border_index: np.ndarray
    border: np.ndarray
    corner: np.ndarray
    corner_right: np.ndarray
    normal: np.ndarray


def memory_needed(n: int, m: int) -> int:
    """Return how many numbers the system takes, for n variables and m joints on the path."""
    b = _TASK + 2 * m - n
    return 5 * m + (m + b + 1) * b


@inner_kernel
def solve_elements(elements: Elements, chain, work):
    """Write the solution x to ``work.step``; return whether there is exactly one."""
    system = _open(work)
    size = _fill(system, elements, chain, work)
    _turn_task(system)
    size = _eliminate(system, size)
    regular = solve_by_lu(system.corner, system.corner_right[0:size])
    _substitute(system, size)
    for k in range(system.solution.shape[0]):
        if elements.first[k] == k:
            work.step[chain.variables[k]] = system.solution[k]
    return regular


@inlined_kernel
def _open(work):
    """Return the system's arrays, in the memory of the method."""
    m, n = work.axes.shape[0], work.q.shape[0]
    b = _TASK + 2 * m - n
    flat = work.memory.reshape(work.memory.size)
    corner = 5 * m + m * b
    return ElementSystem(
        flat[0:m],
        flat[m : 2 * m],
        flat[2 * m : 3 * m],
        flat[3 * m : 4 * m],
        flat[4 * m : 5 * m],
        flat[5 * m : corner].reshape((m, b)),
        flat[corner : corner + b * b].reshape((b, b)),
        flat[corner + b * b : corner + b * b + b],
        work.vector,
    )


@inlined_kernel
def _fill(system, elements, chain, work):
    """Write the system; returns the size of its border."""
    m = system.diagonal.shape[0]
    size = _TASK + m - work.q.shape[0]
    for i in range(size):
        fill_vector(system.corner[i], 0.0)
        system.corner_right[i] = 0.0
    for j in range(_TASK):
        system.corner[j, j] = -elements.weight * elements.weight
        system.corner_right[j] = work.error[j]
    element_products(chain, elements, work, system.diagonal, system.beside, system.right)
    for i in range(work.q.shape[0]):  # whether a variable moves anything
        work.step[i] = 0.0
        for j in range(_TASK):
            work.step[i] += abs(work.rows[i, j])
    for k in range(m):
        work.step[chain.variables[k]] += system.diagonal[k]
    tie = _TASK
    for k in range(m):
        i = chain.variables[k]
        for j in range(size):
            system.border[k, j] = 0.0
        if elements.first[k] == k:
            for j in range(_TASK):
                system.border[k, j] = work.rows[i, j]
        else:
            system.border[k, tie] = 1.0
            system.border[elements.first[k], tie] = -1.0
            tie += 1
        if work.step[i] == 0.0:  # a variable that moves nothing stays
            system.diagonal[k] = 1.0
    return size


@inlined_kernel
def _turn_task(system):
    """
    Rotate the rows of the task so that they get shorter from one to the next.

    By Householder reflections, as a QR decomposition with column pivoting does it.
    """
    border, left = system.border, system.solution
    for k in range(left.shape[0]):
        left[k] = 0.0
        for j in range(_TASK):
            left[k] += border[k, j] * border[k, j]
    for row in range(_TASK - 1):
        longest = 0
        for k in range(left.shape[0]):
            if left[k] > left[longest]:
                longest = k
        _reflect(system, row, longest)
        for k in range(left.shape[0]):
            left[k] -= border[k, row] * border[k, row]


@inlined_kernel
def _reflect(system, row, longest):
    """Reflect the rows from ``row`` on, so that a joint has only the first of them."""
    border = system.border
    square = 0.0
    for j in range(row, _TASK):
        square += border[longest, j] * border[longest, j]
    length = math.copysign(math.sqrt(square), border[longest, row])
    if length == 0.0:
        return
    normal = system.normal
    for j in range(row, _TASK):
        normal[j] = border[longest, j]
    normal[row] += length
    factor = 1.0 / (length * normal[row])
    for k in range(border.shape[0] + 1):
        vector = border[k] if k < border.shape[0] else system.corner_right
        along = 0.0
        for j in range(row, _TASK):
            along += normal[j] * vector[j]
        along *= factor
        for j in range(row, _TASK):
            vector[j] -= along * normal[j]


@inlined_kernel
def _eliminate(system, size):
    """Eliminate the band; returns the size of the border, with the joints moved to it."""
    m = system.diagonal.shape[0]
    border, corner = system.border, system.corner
    least = 0.0
    for k in range(m):
        least = max(least, _WEAKEST * system.diagonal[k])
    carried = 0.0
    for k in range(m):
        pivot = system.diagonal[k] - carried
        if pivot <= max(least, _WEAK * system.diagonal[k]):
            _put_in_border(system, k, pivot, size)
            size += 1
            carried = 0.0
            continue
        system.border_index[k] = -1.0
        system.diagonal[k] = pivot
        factor = 1.0 / pivot
        for j in range(size):
            share = factor * border[k, j]
            system.corner_right[j] -= share * system.right[k]
            _subtract(share, border[k], corner[j], size)
        if k + 1 < m:
            share = factor * system.beside[k]
            carried = share * system.beside[k]
            system.right[k + 1] -= share * system.right[k]
            _subtract(share, border[k], border[k + 1], size)
    return size


@inlined_kernel
def _subtract(share, row, other, size):
    """Subtract a share of a row of the border from another; most borders are the task alone."""
    for j in range(_TASK):
        other[j] -= share * row[j]
    for j in range(_TASK, size):
        other[j] -= share * row[j]


@inner_kernel
def _put_in_border(system, k, pivot, size):
    """Make joint k, as far as it is eliminated, the last unknown of the border."""
    m = system.diagonal.shape[0]
    system.border_index[k] = size
    for j in range(size):
        system.corner[size, j] = system.border[k, j]
        system.corner[j, size] = system.border[k, j]
    system.corner[size, size] = pivot
    system.corner_right[size] = system.right[k]
    for i in range(m):
        system.border[i, size] = 0.0
    if k + 1 < m:
        system.border[k + 1, size] = system.beside[k]


@inlined_kernel
def _substitute(system, size):
    """Write the solution, from the last joint to the first."""
    m = system.diagonal.shape[0]
    for k in range(m - 1, -1, -1):
        if system.border_index[k] >= 0.0:
            system.solution[k] = system.corner_right[int(system.border_index[k])]
            continue
        value = system.right[k]
        if k + 1 < m:
            value -= system.beside[k] * system.solution[k + 1]
        for j in range(size):
            value -= system.border[k, j] * system.corner_right[j]
        system.solution[k] = value / system.diagonal[k]
