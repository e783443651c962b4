"""
Cyclic coordinate descent: one joint at a time, from the tip to the base.

A step of the loop is a cycle over all joints, each of which goes to where it alone brings the tip
closest to the target. For a turning joint that is the angle of a vector: w_p ‖p − p_target‖² and
½ w_r ‖R − R_target‖² both vary with a turn by θ as constant − 2 (A cos θ + B sin θ).
L.-C. T. Wang and C. C. Chen, "A combined optimization method for solving the inverse kinematics
problem of mechanical manipulators", IEEE Transactions on Robotics and Automation 7, 1991. The
bounds of a joint are kept exactly: the best position within them is where the cosine is largest.
There is no such closed form for tasks whose weights differ between the axes, nor for variables
that move several joints: there, a joint goes to the minimum of its linearised error.

With 'transform' each joint goes to the same position, as the best one does not depend on the
variable that stands for it. With 'penalty' a joint whose best position is beyond its bound by v
stops at v / (1 + w) beyond it: near there its cost is ½ k (θ − θ_best)², and w times that of a
motion of the length by which it is beyond the bound comes to it.

The classical variant takes the cycles as they are. The accelerated one weighs metres and radians
alike, by a characteristic length, and extrapolates from cycle to cycle. A cycle takes the joint
vector q to q + f(q), and ends at f = 0. From how f has changed with q over the last cycles, the
columns of ΔF and ΔQ, the next q is

    q + f − (ΔQ + ΔF) γ,  γ = argmin ‖f − ΔF γ‖

D. G. Anderson, "Iterative procedures for nonlinear integral equations", Journal of the ACM 12,
1965, in the form that H. F. Walker and P. Ni give it, "Anderson acceleration for fixed-point
iterations", SIAM Journal on Numerical Analysis 49, 2011, section 2. The extrapolated posture is
taken if the error is less there than after the cycle, so no step is worse than the cycle alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import copy_vector, jacobian_rows, last_frame
from ik_service.solvers.loop.iteration import errors
from ik_service.solvers.loop.limits import (
    beyond_limits,
    inside,
    substitute_of,
    without_turns,
)
from ik_service.solvers.loop.line_search import dot
from ik_service.solvers.loop.linear_algebra import solve_by_lu
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.options import (
    characteristic_length,
    IkOptions,
    LimitStrategy,
    refuse_characteristic_length,
)
from ik_service.solvers.registry import given, SolverSpec

# An effect of a joint below this share of the numbers it is computed from is rounding.
NOISE = 1e-14


@inner_kernel
def turn_weights(square, settings):
    """
    Return the weights of ‖p − p_target‖² and of ‖R − R_target‖².

    The latter is twice the squared angle, where that is small.

    :param square: square of the characteristic length [m²], or 1.
    """
    position = settings.weights[0] * settings.weights[0]
    return position, 0.5 * square * settings.weights[3] * settings.weights[3]


@inner_kernel
def closed_form_cycle(method, chain, settings, work, q):
    """
    Move each joint of ``q`` to its best position, the last one first.

    The axes of the joints before it do not move with a joint, so only the tip has to be followed.

    :param work: :class:`~ik_service.solvers.loop.problem.Workspace`; its frame moves with ``q``.
    :param q: (n,) joint vector [rad] or [m], in and out.
    """
    position_weight, orientation_weight = turn_weights(method.square, settings)
    for k in range(work.axes.shape[0] - 1, -1, -1):
        i = chain.variables[k]
        axis = work.axes[k]
        turns, slides = chain.joints[k, 6], chain.joints[k, 7]
        motion = 0.0
        if slides != 0.0 and position_weight > 0.0:
            motion = _best_slide(axis, work.frame, work.goal) / slides
        elif turns != 0.0:
            cosine, sine = _turn_terms(
                axis, work.frame, work.goal, position_weight, orientation_weight
            )
            motion = _best_turn(chain, settings, i, q[i], turns, cosine, sine)
        before = q[i]
        q[i] = within(chain, settings, i, before + method.gain * motion)
        _carry(axis, work.frame, turns * (q[i] - before), slides * (q[i] - before))


@inner_kernel
def _best_slide(axis, frame, goal):
    """Return the distance from the tip to the goal along an axis [m]."""
    return (
        axis[0] * (goal[9] - frame[9])
        + axis[1] * (goal[10] - frame[10])
        + axis[2] * (goal[11] - frame[11])
    )


@inner_kernel
def _turn_terms(axis, frame, goal, position_weight, orientation_weight):
    """
    Return A and B of the agreement A cos θ + B sin θ with the goal after a turn by θ.

    Both are 0 where a turn changes nothing but the rounding.
    """
    ax, ay, az = axis[0], axis[1], axis[2]
    cosine = sine = size = 0.0
    for part in range(4):
        weight = position_weight if part == 3 else orientation_weight
        fx, fy, fz = frame[3 * part], frame[3 * part + 1], frame[3 * part + 2]
        gx, gy, gz = goal[3 * part], goal[3 * part + 1], goal[3 * part + 2]
        away = 0.0
        if part == 3:
            away = abs(axis[3]) + abs(axis[4]) + abs(axis[5])
        size += (
            weight * (abs(fx) + abs(fy) + abs(fz) + away) * (abs(gx) + abs(gy) + abs(gz) + away)
        )
        if part == 3:
            fx, fy, fz = fx - axis[3], fy - axis[4], fz - axis[5]
            gx, gy, gz = gx - axis[3], gy - axis[4], gz - axis[5]
        along = (ax * fx + ay * fy + az * fz) * (ax * gx + ay * gy + az * gz)
        cosine += weight * (fx * gx + fy * gy + fz * gz - along)
        sine += weight * (
            ax * (fy * gz - fz * gy) + ay * (fz * gx - fx * gz) + az * (fx * gy - fy * gx)
        )
    if math.hypot(cosine, sine) <= NOISE * size:
        return 0.0, 0.0
    return cosine, sine


@inner_kernel
def _best_turn(chain, settings, i, value, turns, cosine, sine):
    """Return the motion of a variable that maximises A cos θ + B sin θ within its limits."""
    if cosine == 0.0 and sine == 0.0:
        return 0.0
    best = math.atan2(sine, cosine) / turns
    if settings.limits == LimitStrategy.IGNORE:
        return best
    lower, upper = chain.lower[i] - value, chain.upper[i] - value
    full = 2.0 * math.pi / abs(turns)
    nearest = math.inf
    motion = best
    for shift in (0.0, -full, full):
        beyond = max(lower - best - shift, best + shift - upper)
        if beyond <= 0.0:
            return best + shift
        if beyond < nearest:
            nearest, motion = beyond, best + shift
    if settings.limits == LimitStrategy.PENALTY_IN_COST:
        return motion
    at_lower = cosine * math.cos(turns * lower) + sine * math.sin(turns * lower)
    at_upper = cosine * math.cos(turns * upper) + sine * math.sin(turns * upper)
    return lower if at_lower > at_upper else upper


@inner_kernel
def within(chain, settings, i, value):
    """Return the value of a variable clamped to its limits, or drawn back to them by a penalty."""
    lower, upper = chain.lower[i], chain.upper[i]
    if settings.limits == LimitStrategy.IGNORE:
        return value
    if settings.limits == LimitStrategy.PENALTY_IN_COST and lower < upper:
        weight = settings.penalty
        return value - weight * beyond_limits(chain, i, value) / (1.0 + weight)
    return min(max(value, lower), upper)


@inner_kernel
def _carry(axis, frame, angle, slide):
    """Move the tip's frame by a turn about an axis and a slide along it."""
    ax, ay, az = axis[0], axis[1], axis[2]
    c, s = math.cos(angle), math.sin(angle)
    for part in range(4):
        x, y, z = frame[3 * part], frame[3 * part + 1], frame[3 * part + 2]
        if part == 3:
            x, y, z = x - axis[3], y - axis[4], z - axis[5]
        along = (ax * x + ay * y + az * z) * (1.0 - c)
        rx = c * x + s * (ay * z - az * y) + along * ax
        ry = c * y + s * (az * x - ax * z) + along * ay
        rz = c * z + s * (ax * y - ay * x) + along * az
        if part == 3:
            rx += axis[3] + slide * ax
            ry += axis[4] + slide * ay
            rz += axis[5] + slide * az
        frame[3 * part], frame[3 * part + 1], frame[3 * part + 2] = rx, ry, rz


# The longest motion [rad] or [m] to the minimum of a linearised error.
_LONGEST_MOTION = math.pi


@inner_kernel
def linearised_cycle(method, chain, settings, work, q):
    """
    Move each variable of ``q`` to the minimum of its linearised error, the last one first.

    :param work: :class:`~ik_service.solvers.loop.problem.Workspace`, used as scratch.
    :param q: (n,) joint vector [rad] or [m], in and out.
    """
    length = math.sqrt(method.square)
    for i in range(q.shape[0] - 1, -1, -1):
        last_frame(chain, q, work.axes, work.frame)
        errors(settings, work)
        jacobian_rows(chain, work.axes, work.frame, work.rows)
        largest = along = 0.0
        for k in range(q.shape[0]):
            largest = max(largest, _squared_effect(length, settings, work.rows[k]))
        square = _squared_effect(length, settings, work.rows[i])
        for j in range(6):
            scale = method.square if j > 2 else 1.0
            along += scale * settings.weights[j] * work.rows[i, j] * work.error[j]
        if square > NOISE * NOISE * largest:
            motion = min(max(along / square, -_LONGEST_MOTION), _LONGEST_MOTION)
            q[i] = within(chain, settings, i, q[i] + method.gain * motion)


@inner_kernel
def _squared_effect(length, settings, row):
    """Return the squared length of a weighted row of the Jacobian, rotations times a length."""
    square = 0.0
    for j in range(6):
        scale = length if j > 2 else 1.0
        square += (scale * settings.weights[j] * row[j]) ** 2
    return square


_CYCLES = 5  # remembered, or one a joint
# Rows of memory: the posture after the cycle, the motion of the cycle before and its start, the
# extrapolated posture, γ; then ΔF, ΔQ and the matrix ΔFᵀΔF.
AFTER, _BEFORE, _START, _EXTRAPOLATED, _GAMMA, _CHANGES = range(6)
# Share of itself that is added to the diagonal of ΔFᵀΔF: cycles in line leave it singular.
_RIDGE = 1e-10
# The longest motion of a joint in a step [rad] or [m].
_LONGEST = 1.0


def memory_rows(n: int) -> int:
    """Return the rows of memory that the extrapolation takes for n variables."""
    return _CHANGES + 3 * min(n, _CYCLES)


@inner_kernel
def extrapolate(method, chain, settings, work):
    """Write the step to ``work.step``: to the extrapolated posture, or that of the cycle alone."""
    best, posture = work.memory[AFTER], work.memory[_EXTRAPOLATED]
    disagreement = _disagreement(method, settings, work)
    known = _remember_cycle(chain, work)
    if known > 0 and _solve_for_gamma(work, known):
        _write_extrapolated(chain, settings, work, known)
        last_frame(chain, posture, work.axes, work.frame)
        if _disagreement(method, settings, work) < disagreement:
            best = posture
    for i in range(work.q.shape[0]):
        work.step[i] = best[i] - work.q[i]


@inner_kernel
def _disagreement(method, settings, work):
    """Return the objective that the cycle lowers, at ``work.frame``."""
    position = orientation = 0.0
    if method.closed_form != 0:
        for j in range(9):
            orientation += (work.frame[j] - work.goal[j]) ** 2
        for j in range(9, 12):
            position += (work.frame[j] - work.goal[j]) ** 2
        position_weight, orientation_weight = turn_weights(method.square, settings)
        return position_weight * position + orientation_weight * orientation
    errors(settings, work)
    for j in range(3):
        position += work.error[j] * work.error[j]
        orientation += work.error[j + 3] * work.error[j + 3]
    return position + method.square * orientation


@inner_kernel
def _remember_cycle(chain, work):
    """Keep the changes of joints since the cycle before; returns the number of changes known."""
    n = work.q.shape[0]
    depth = min(n, _CYCLES)
    before, start = work.memory[_BEFORE], work.memory[_START]
    slot = _CHANGES + work.iteration[0] % depth
    for i in range(n):
        motion = without_turns(work.memory[AFTER, i] - work.q[i], chain.turn[i])
        work.memory[slot, i] = motion - before[i]
        work.memory[slot + depth, i] = without_turns(work.q[i] - start[i], chain.turn[i])
        before[i] = motion
    copy_vector(work.q, start)
    return min(work.iteration[0], depth)


@inner_kernel
def _solve_for_gamma(work, known):
    """Solve the normal equations ΔFᵀΔF γ = ΔFᵀf; returns whether they can be."""
    n = work.q.shape[0]
    depth = min(n, _CYCLES)
    changes = work.memory[_CHANGES : _CHANGES + depth]
    matrix = work.memory[_CHANGES + 2 * depth :]
    gamma = work.memory[_GAMMA]
    for a in range(known):
        of_a = changes[(work.iteration[0] - a) % depth]
        for b in range(a + 1):
            matrix[a, b] = dot(of_a, changes[(work.iteration[0] - b) % depth])
            matrix[b, a] = matrix[a, b]
        matrix[a, a] *= 1.0 + _RIDGE
        gamma[a] = dot(of_a, work.memory[_BEFORE])
    return solve_by_lu(matrix, gamma[:known])


@inner_kernel
def _write_extrapolated(chain, settings, work, known):
    """Write q + f − (ΔQ + ΔF) γ, or as much of it as is not too far, within the limits."""
    n = work.q.shape[0]
    depth = min(n, _CYCLES)
    posture, gamma = work.memory[_EXTRAPOLATED], work.memory[_GAMMA]
    longest = 0.0
    for i in range(n):
        posture[i] = work.memory[_BEFORE, i]
        for a in range(known):
            slot = _CHANGES + (work.iteration[0] - a) % depth
            posture[i] -= gamma[a] * (work.memory[slot, i] + work.memory[slot + depth, i])
        longest = max(longest, abs(posture[i]))
    share = _LONGEST / longest if longest > _LONGEST else 1.0
    for i in range(n):
        posture[i] = work.q[i] + share * posture[i]
        if settings.limits != LimitStrategy.IGNORE:
            posture[i] = inside(chain, i, posture[i])


class CyclicCoordinateDescent(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: the share of each joint's motion that is taken.
    :ivar closed_form: whether every turning joint can go to the best angle at once.
    :ivar accelerated: whether cycles are extrapolated.
    :ivar square: square of the characteristic length [m²]; 1 for the classical variant.
    """

    gain: float
    closed_form: int
    accelerated: int
    square: float


@step_of(CyclicCoordinateDescent)
def ccd_step(method, chain, settings, work):
    """Write the motion of one cycle over all joints to ``work.step``."""
    q = work.memory[AFTER]
    copy_vector(work.q, q)
    if method.closed_form != 0:
        closed_form_cycle(method, chain, settings, work, q)
    else:
        linearised_cycle(method, chain, settings, work, q)
        last_frame(chain, q, work.axes, work.frame)
    if method.accelerated != 0:
        extrapolate(method, chain, settings, work)
    else:
        for i in range(work.q.shape[0]):
            work.step[i] = q[i] - work.q[i]
    if settings.limits == LimitStrategy.TRANSFORM:
        for i in range(work.q.shape[0]):
            after = substitute_of(chain, settings.limits, i, work.q[i] + work.step[i])
            work.step[i] = after - substitute_of(chain, settings.limits, i, work.q[i])


def _parameters(chain: KinematicChain, options: IkOptions) -> CyclicCoordinateDescent:
    weights = options.task_weights
    alike = len(set(weights[:3])) == 1 and len(set(weights[3:])) == 1
    alone = len(set(chain.arrays.variables.tolist())) == len(chain.arrays.variables)
    closed_form = int(alike and alone)
    if options.chosen_variant == 'classical':
        refuse_characteristic_length(options)
        return CyclicCoordinateDescent(given(options.step_gain, 1.0), closed_form, 0, 1.0)
    length = characteristic_length(chain, options)
    return CyclicCoordinateDescent(1.0, closed_form, 1, length * length)


SPEC = SolverSpec(
    name='ccd',
    summary='cyclic coordinate descent: one joint at a time, from the tip to the base',
    uses=frozenset({'variant', 'characteristic_length', 'step_gain'}),
    parameters=_parameters,
    max_iterations=300,
    patience=8,
    progress=0.4,
    keeps_limits=True,
    memory_rows=lambda chain: memory_rows(chain.n),
    variants={
        'accelerated': {},
        'classical': {
            'max_iterations': 500, 'max_searches': 50, 'patience': 25, 'progress': 0.1,
        },
    },
)  # fmt: skip
