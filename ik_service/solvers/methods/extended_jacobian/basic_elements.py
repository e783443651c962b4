"""
Basic elements of a chain: motion of every two consecutive joints, in rows of a matrix.

M. Šoch and R. Lórencz, "Solving inverse kinematics – a new approach to the extended Jacobian
technique", section 2: an element is two segments and the joint between; its rows describe the end
of its second segment, in the frame in which its first joint moves. In the plane these
are rows of position, and the matrix is their equation (9). In space they are rows of the whole
pose, with the position in units of a characteristic length.

A joint vector that no row of the elements notices would let the twists of every two consecutive
joints cancel. Twists of two joints cancel only where both joints share one axis, so rows of the
whole pose have rank n at every posture, those of the elements alone, unless all joints share one
axis.

Rows of position only are blind to more: where an element is stretched or folded, its joints can
turn without moving its end. The paper's matrix therefore loses rank where all its segments lie in
one line and lengths match: with two segments wherever they are in line, as the tip is the end of
the only element then; with segments of 1, 2 and 1 where they are folded onto the base.

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
from numpy.typing import ArrayLike

from ik_service.exceptions import OptionError
from ik_service.jit.compile import inlined_kernel, inner_kernel, kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_path, kernel_frame_angles
from ik_service.kinematics.kernels import fill_vector, last_frame
from ik_service.solvers.loop.linear_algebra import solve_by_lu
from ik_service.solvers.options import IkOptions, length_weight
from ik_service.solvers.registry import given


class Elements(NamedTuple):
    """
    Basic elements of a chain with m joints on its path.

    :ivar weight: w, that multiplies their rows.
    :ivar per_length: position rows per metre: 1 over the characteristic length [1/m].
    :ivar angular: 1 for rows of the whole pose, 0 for rows of position only.
    :ivar turns: (m, 2) cosine and sine of the turn about its own axis between the frame in which a
        joint moves, as the kernels see it, and that which the robot's description gives it.
    :ivar displacements: (m, 6) displacement of each element in its frame; position in units of the
        characteristic length, then rotation [rad]. The last row is not used.
    :ivar first: (m,) the first joint that is moved by the variable of each.
    """

    weight: float
    per_length: float
    angular: float
    turns: np.ndarray
    displacements: np.ndarray
    first: np.ndarray


@inner_kernel
def start_frame(chain, state):
    """Write the x and y axes of the frame in which the first joint moves to ``state`` (12,)."""
    for i in range(6):
        state[i] = chain.base[i]


@inner_kernel
def next_frame(chain, q, axes, k, state):
    """
    Update ``state`` from the frame of joint k to that of joint k + 1.

    :param axes: (m, 6) from :func:`~ik_service.kinematics.kernels.last_frame`.
    :param state: (12,) updated, see :func:`start_frame`.
    """
    angle = chain.joints[k, 0] + chain.joints[k, 6] * q[chain.variables[k]]
    c, s = math.cos(angle), math.sin(angle)
    cosine, sine = chain.joints[k, 4], chain.joints[k, 5]
    for i in range(3):
        x, y, z = state[i], state[3 + i], axes[k, i]
        state[i] = c * x + s * y
        state[3 + i] = cosine * (c * y - s * x) + sine * z


@inner_kernel
def element(chain, elements, axes, frame, k, state, first, second):
    """
    Write the columns of joints k and k + 1 in the rows of their element.

    :param elements: :class:`Elements`.
    :param axes: (m, 6) from the forward kinematics.
    :param frame: (12,) likewise.
    :param state: (12,) at the frame of joint k.
    :param first: (6,) out: column of joint k, linear before angular, in its frame.
    :param second: (6,) out: column of joint k + 1, in the same frame.
    """
    c, s = elements.turns[k, 0], elements.turns[k, 1]
    for i in range(3):
        x, y = state[i], state[3 + i]
        state[6 + i] = c * x + s * y
        state[9 + i] = c * y - s * x
    last = k + 2 == axes.shape[0]
    for j in range(k, k + 2):
        column = first if j == k else second
        ax, ay, az = axes[j, 0], axes[j, 1], axes[j, 2]
        dx = (frame[9] if last else axes[k + 2, 3]) - axes[j, 3]
        dy = (frame[10] if last else axes[k + 2, 4]) - axes[j, 4]
        dz = (frame[11] if last else axes[k + 2, 5]) - axes[j, 5]
        turns, slides = chain.joints[j, 6], chain.joints[j, 7]
        _in_frame(
            elements.per_length * (turns * (ay * dz - az * dy) + slides * ax),
            elements.per_length * (turns * (az * dx - ax * dz) + slides * ay),
            elements.per_length * (turns * (ax * dy - ay * dx) + slides * az),
            state,
            axes[k],
            column[0:3],
        )
        turns *= elements.angular
        _in_frame(turns * ax, turns * ay, turns * az, state, axes[k], column[3:6])


@inner_kernel
def _in_frame(x, y, z, state, axis, out):
    """Write a vector of the base frame, in the frame of an element, to ``out``."""
    out[0] = x * state[6] + y * state[7] + z * state[8]
    out[1] = x * state[9] + y * state[10] + z * state[11]
    out[2] = x * axis[0] + y * axis[1] + z * axis[2]


@inner_kernel
def element_products(chain, elements, work, diagonal, beside, right):
    """
    Write BᵀB and Bᵀd of the rows B of all elements, without their weight, by joints.

    :param elements: :class:`Elements`.
    :param diagonal: (m,) out; 0 for joints that are held.
    :param beside: (m,) out: of a joint and the next one; the last is 0.
    :param right: (m,) out.
    """
    first, second, rest = work.matrix[0], work.matrix[1], work.matrix[2]
    start_frame(chain, work.probe_frame)
    diagonal[0] = right[0] = 0.0
    for k in range(work.axes.shape[0] - 1):
        element(chain, elements, work.axes, work.frame, k, work.probe_frame, first, second)
        a, b = chain.variables[k], chain.variables[k + 1]
        back_a, back_b = _moved_anyway(work, a), _moved_anyway(work, b)
        for j in range(6):
            rest[j] = elements.displacements[k, j] - first[j] * back_a - second[j] * back_b
        scale_a, scale_b = _free_scale(work, a), _free_scale(work, b)
        diagonal[k + 1] = right[k + 1] = beside[k] = 0.0
        for j in range(6):
            p, r = scale_a * first[j], scale_b * second[j]
            diagonal[k] += p * p
            beside[k] += p * r
            diagonal[k + 1] += r * r
            right[k] += p * rest[j]
            right[k + 1] += r * rest[j]
        next_frame(chain, work.q, work.axes, k, work.probe_frame)
    beside[work.axes.shape[0] - 1] = 0.0


@inner_kernel
def _free_scale(work, i):
    """Return the motion of a variable per unit of its step."""
    return work.scale[i] if math.isnan(work.fixed_at[i]) else 0.0


@inner_kernel
def _moved_anyway(work, i):
    """Return the motion of a variable that does not depend on its step."""
    return -work.penalty_shift[i] if math.isnan(work.fixed_at[i]) else work.fixed_at[i] - work.q[i]


# Of the elements: with 1, as in the paper, searches take thousands of steps.
_WEIGHT = 0.01
_PARALLEL = 1e-9  # sine of the angle between two axes that count as parallel


def choose_elements(chain: KinematicChain, options: IkOptions) -> Elements:
    """
    Return the basic elements for given options.

    Rows are of position in the plane of a planar chain when the task has no orientation, which is
    the matrix of the paper, and of the whole pose otherwise.

    :param options: options of the extended Jacobian.
    :raises OptionError: when the displacements do not fit the chain.
    """
    m = len(chain.arrays.variables)
    planar = _in_plane(chain, options)
    if planar and options.characteristic_length is not None:
        raise OptionError(
            'characteristic_length', 'is not used where all rows are of position, in a plane'
        )
    length = 1.0 if planar else given(options.characteristic_length, mean_distance(chain))
    rows = 2 if planar else 6
    displacements = np.zeros((m, 6))
    if options.element_displacements is not None:
        if len(options.element_displacements) != rows * (m - 1):
            raise OptionError(
                'element_displacements',
                f'has to be {rows * (m - 1)} numbers, {rows} for each of {m - 1} basic elements, '
                f'not {len(options.element_displacements)}',
            )
        wanted = np.reshape(options.element_displacements, (rows, m - 1))
        displacements[: m - 1, :rows] = wanted.T
        displacements[:, :3] /= length
    path = joint_path(chain.robot, chain.base_link, chain.tip_link, chain.locked)
    angles = kernel_frame_angles(path)
    return Elements(
        given(options.element_weight, _WEIGHT),
        1.0 / length,
        0.0 if planar else 1.0,
        np.column_stack([np.cos(angles), np.sin(angles)]),
        displacements,
        first_of_each(chain),
    )


def _in_plane(chain: KinematicChain, options: IkOptions) -> bool:
    """Return whether all rows are of position in the plane of the chain, as in the paper."""
    return is_planar(chain) and not any(options.task_weights[3:])


def tip_weight(chain: KinematicChain, options: IkOptions) -> float:
    """Return the weight of a metre of the tip's error: 1 where all rows are in metres."""
    return 1.0 if _in_plane(chain, options) else length_weight(chain)


def first_of_each(chain: KinematicChain) -> np.ndarray:
    """Return the index (m,) of the first joint that is moved by the variable of each joint."""
    variables = chain.arrays.variables
    return np.argmax(variables[None, :] == variables[:, None], axis=1)


def is_planar(chain: KinematicChain) -> bool:
    """Return whether all joints turn, about parallel axes."""
    joints = chain.arrays.joints
    return bool(np.all(joints[:, 7] == 0.0) and np.all(np.abs(joints[:-1, 5]) < _PARALLEL))


def mean_distance(chain: KinematicChain) -> float:
    """Return the mean distance of consecutive joints, with the tip [m]; 1 if all are 0."""
    distances = np.linalg.norm(chain.arrays.joints[:, 1:4], axis=1)
    return float(distances.mean()) or 1.0


def extended_matrix(
    chain: KinematicChain, q: ArrayLike, options: IkOptions | None = None
) -> np.ndarray:
    """
    Return the matrix that ``extended_jacobian`` with ``basic_elements`` solves.

    For a planar chain and the weights (1, 1, 0, 0, 0, 0) it is, entry for entry, equation (9) of
    M. Šoch and R. Lórencz, "Solving inverse kinematics – a new approach to the extended Jacobian
    technique".

    :param chain: the chain, with m joints on its path.
    :param q: (n,) joint positions [rad] or [m].
    :param options: ``task_weights``, ``element_weight`` and ``characteristic_length`` count.
    :returns: (r (m − 1) + w, n): the first coordinate of every basic element, each in the frame in
        which its first joint moves, then the second of every element, and so on; then the
        weighted axes of the tip, in the base frame. r is 2 in the plane and 6 otherwise.
    :raises ArgumentError: when q has another shape or is not finite.
    """
    options = options or IkOptions()
    q = chain.check_q(q)
    elements = choose_elements(chain, options)
    columns = np.zeros((len(chain.arrays.variables) - 1, 2, 6))
    axes, frame, state = np.empty((len(columns) + 1, 6)), np.empty(12), np.empty(12)
    _columns(chain.arrays, elements, q, axes, frame, state, columns)
    rows = 6 if elements.angular else 2
    matrix = np.zeros((rows, len(columns), chain.n))
    for k, pair in enumerate(columns):
        for variable, column in zip(chain.arrays.variables[k : k + 2], pair, strict=True):
            matrix[:, k, variable] += elements.weight * column[:rows]
    weights = np.sqrt(options.task_weights)
    weights[:3] *= tip_weight(chain, options)
    tip = (weights[:, None] * chain.jacobian(q))[weights > 0.0]
    return np.vstack([matrix.reshape(-1, chain.n), tip])


@kernel
def _columns(chain, elements, q, axes, frame, state, columns):
    """Write the columns (m − 1, 2, 6) of all basic elements; ``state`` (12,) is scratch."""
    last_frame(chain, q, axes, frame)
    start_frame(chain, state)
    for k in range(columns.shape[0]):
        element(chain, elements, axes, frame, k, state, columns[k, 0], columns[k, 1])
        next_frame(chain, q, axes, k, state)


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
