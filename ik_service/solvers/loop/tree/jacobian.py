"""
Weighted Jacobian of a tree, a row a variable and six columns a tip, and its damped step.

The columns of a tip are the derivative of its error by the joints. A component within its
tolerance has the error 0 and a column of zeros, so steps may use the freedom. Of both forms of the
step, Jᵀ(JJᵀ + λI)⁻¹ e and (JᵀJ + λI)⁻¹ Jᵀ e, the one with the smaller matrix is computed, by an
LDLᵀ factorisation. Zeros, as between a joint and a tip that it does not move, are skipped.
The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

from ik_service.jit.compile import inner_kernel, variant
from ik_service.kinematics.kernels import copy_vector, jacobian_rows, last_frame
from ik_service.kinematics.pose_error import frame_error
from ik_service.kinematics.tree import TreeArrays
from ik_service.solvers.loop.iteration import errors, task_rows, weighted_rows
from ik_service.solvers.loop.linear_algebra import damped_step, error_damped_step, LEAST_DAMPING
from ik_service.solvers.loop.tree.goals import group_of, INSET, point_offset, tip_chain
from ik_service.solvers.loop.tree.problem import (
    COST,
    DAMPING,
    EXACT,
    FREE,
    KIND,
    REGION,
    TARGET,
    TreeWorkspace,
    TURNING,
)
from ik_service.solvers.loop.tree.tolerances import (
    along_axes,
    angle_derivative,
    angles,
    region_derivative,
)


@variant(weighted_rows, TreeArrays)
def _tree_weighted_rows(chain, settings, work):
    """Write the weighted Jacobian at ``work.q`` to ``work.rows``."""
    if settings.perturbation > 0.0:
        _numerical_rows(chain, settings, work)
    else:
        _geometric_rows(chain, settings, work)


@variant(task_rows, TreeArrays)
def _tree_task_rows(chain, settings, work, q):
    """Write the weighted Jacobian at any joint vector to ``work.rows``."""
    last_frame(chain, q, work.axes, work.frame)
    _geometric_rows(chain, settings, work)


@inner_kernel
def _geometric_rows(chain, settings, work):
    """Write the weighted Jacobian at ``work.frame`` and ``work.axes`` to ``work.rows``."""
    for tip in range(work.frame.shape[0]):
        first, last = chain.spans[tip], chain.spans[tip + 1]
        frame, goal = work.frame[tip], work.goal[tip]
        rows = work.rows[:, 6 * tip : 6 * tip + 6]
        dx, dy, dz = point_offset(frame, goal)
        # The Jacobian is that of the point, so the frame's origin is moved there.
        copy_vector(frame, work.probe_frame)
        work.probe_frame[9] = goal[9] + dx
        work.probe_frame[10] = goal[10] + dy
        work.probe_frame[11] = goal[11] + dz
        jacobian_rows(tip_chain(chain, tip), work.axes[first:last], work.probe_frame, rows)
        if goal[KIND] != 0.0:
            _map_to_region(chain, settings, work, tip, rows)
        if goal[TURNING] != EXACT:
            _map_to_angles(chain, settings, work, tip, rows)
        for j in range(6):
            weight = settings.weights[j]
            if weight != 1.0:
                for i in range(rows.shape[0]):
                    rows[i, j] *= weight


@inner_kernel
def _map_to_region(chain, settings, work, tip, rows):
    """Make linear rows those of the distance from the region."""
    goal = work.goal[tip]
    dx, dy, dz = point_offset(work.frame[tip], goal)
    x, y, z = along_axes(goal[REGION : REGION + 9], dx, dy, dz)
    margin = INSET * settings.tolerances[0]
    region_derivative(goal, margin, x, y, z, work.maps[:9])
    _turn_map(goal[REGION : REGION + 9], work.maps)
    _apply_map(chain, work, tip, rows[:, :3])


@inner_kernel
def _map_to_angles(chain, settings, work, tip, rows):
    """Replace angular rows by derivatives of the excess of the angles over their tolerances."""
    goal = work.goal[tip]
    if goal[TURNING] == FREE:
        for i in range(rows.shape[0]):
            rows[i, 3] = rows[i, 4] = rows[i, 5] = 0.0
        return
    margin = INSET * settings.tolerances[1]
    frame_error(work.frame[tip], goal, work.twist)
    a, b, c = angles(work.frame[tip], goal, margin, work.twist)
    angle_derivative(goal, margin, a, b, c, work.maps[:9])
    _turn_map(goal[TARGET : TARGET + 9], work.maps)
    _apply_map(chain, work, tip, rows[:, 3:])


@inner_kernel
def _turn_map(axes, maps):
    """
    Turn a matrix from the frame of some axes into the base frame.

    :param axes: (9,) x, y and z axis in the base frame.
    :param maps: (18,) the matrix comes first, and is overwritten; the rest is scratch.
    """
    x, y, z = axes[:3], axes[3:6], axes[6:9]
    for i in range(3):
        a, b, c = maps[3 * i], maps[3 * i + 1], maps[3 * i + 2]
        for j in range(3):
            maps[9 + 3 * i + j] = a * x[j] + b * y[j] + c * z[j]
    for i in range(3):
        for j in range(3):
            maps[3 * i + j] = x[i] * maps[9 + j] + y[i] * maps[12 + j] + z[i] * maps[15 + j]


@inner_kernel
def _apply_map(chain, work, tip, rows):
    """Multiply three columns of the rows with the matrix in ``work.maps``."""
    maps = work.maps
    for i in range(rows.shape[0]):
        if chain.moves[tip, i] == 0.0:
            continue
        x, y, z = rows[i, 0], rows[i, 1], rows[i, 2]
        rows[i, 0] = maps[0] * x + maps[1] * y + maps[2] * z
        rows[i, 1] = maps[3] * x + maps[4] * y + maps[5] * z
        rows[i, 2] = maps[6] * x + maps[7] * y + maps[8] * z


@inner_kernel
def _numerical_rows(chain, settings, work):
    """Write the Jacobian as the change of the error, with each variable moved in turn."""
    copy_vector(work.error, work.vector)
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = before + settings.perturbation
        last_frame(chain, work.q, work.axes, work.frame)
        errors(settings, work)
        work.q[i] = before
        for j in range(work.error.shape[0]):
            work.rows[i, j] = (work.vector[j] - work.error[j]) / settings.perturbation
    last_frame(chain, work.q, work.axes, work.frame)
    errors(settings, work)


@variant(damped_step, TreeWorkspace)
def _tree_damped_step(work, error, damping):
    """Write the damped step for the rows of ``work`` to ``work.step``."""
    for tip in range(work.reached.shape[0]):
        work.reached[tip, DAMPING] = damping
    _write_step(work, error)


@variant(error_damped_step, TreeWorkspace)
def _tree_error_damped_step(work, error, damping):
    """Write the step, each tip damped for the cost of its group, to ``work.step``."""
    for tip in range(work.reached.shape[0]):
        share, whole = work.groups[group_of(work, tip), COST], 2.0 * work.cost[0]
        share = share / whole if whole > 0.0 else 1.0
        work.reached[tip, DAMPING] = max(damping * share, LEAST_DAMPING)
    _write_step(work, error)


@inner_kernel
def _write_step(work, error):
    """Write the step, with the dampings of the tips, to ``work.step``."""
    rows, matrix = work.rows, work.matrix
    n, width = rows.shape
    if width <= n:
        solution = work.solution
        copy_vector(error, solution)
        _outer_products(rows, work.reached, matrix)
        solve_definite(matrix, solution)
        for i in range(n):
            work.step[i] = 0.0
            for j in range(width):
                work.step[i] += rows[i, j] * solution[j]
    else:
        _inner_products(rows, work.reached, matrix)
        for i in range(n):
            work.step[i] = 0.0
            for j in range(width):
                work.step[i] += rows[i, j] * error[j]
        solve_definite(matrix, work.step)


@inner_kernel
def _outer_products(rows, tips, matrix):
    """Write the lower triangle of JJᵀ + λI, with the damping of each tip."""
    for j in range(rows.shape[1]):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = tips[j // 6, DAMPING]
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(row.shape[0]):
            value = row[j]
            if value != 0.0:
                for k in range(j + 1):
                    matrix[j, k] += value * row[k]


@inner_kernel
def _inner_products(rows, tips, matrix):
    """Write the lower triangle of JᵀJ + λI, with the damping of a tip that each joint moves."""
    for i in range(rows.shape[0]):
        damping = tips[0, DAMPING]
        for j in range(rows.shape[1]):
            if rows[i, j] != 0.0:
                damping = tips[j // 6, DAMPING]
        for k in range(i + 1):
            total = damping if i == k else 0.0
            for j in range(rows.shape[1]):
                total += rows[i, j] * rows[k, j]
            matrix[i, k] = total


@inner_kernel
def solve_definite(matrix, vector):
    """Solve a symmetric positive definite system by LDLᵀ; the right side (s,) becomes x."""
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
