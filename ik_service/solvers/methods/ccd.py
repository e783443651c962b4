"""
Cyclic coordinate descent: one joint at a time, from the tip to the base.

Each joint goes to where it alone brings the tip closest to the target, which for a turning joint
is the angle of a vector: Σ w ‖p − p_target‖² and Σ w ‖R − R_target‖² both vary with a turn as
constant − 2 (A cos θ + B sin θ). L.-C. T. Wang and C. C. Chen, "A combined optimization method for
solving the inverse kinematics problem of mechanical manipulators", IEEE Transactions on Robotics
and Automation 7, 1991. A step of the loop is a cycle over all joints. A joint's own bounds are
kept exactly: the best place within them is where the cosine is largest.

Where the weights differ between the axes, or a variable moves several joints, the joint goes to
the minimum of its linearised error instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector, jacobian_rows, last_frame
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.iteration import errors
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import given, SolverSpec

_TRIAL = 0
MEMORY_ROWS = 1
# An effect of a joint below this share of the numbers it is computed from is rounding.
_NOISE = 1e-14
# The longest motion [rad] or [m] to the minimum of a linearised error.
_LONGEST = math.pi


class CyclicCoordinateDescent(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: the share of each joint's motion that is taken.
    :ivar closed_form: whether every turning joint can go to the best angle at once.
    """

    gain: float
    closed_form: int


@step_of(CyclicCoordinateDescent)
def ccd_step(method, chain, settings, work):
    """Write the motion of one cycle over all joints to ``work.step``."""
    n = work.q.shape[0]
    q = work.memory[_TRIAL]
    copy_vector(work.q, q)
    if method.closed_form != 0:
        _cycle(method.gain, chain, settings, work, q)
    else:
        _linearised_cycle(method.gain, chain, settings, work, q)
    for i in range(n):
        work.step[i] = q[i] - work.q[i]


@inner_kernel
def _cycle(gain, chain, settings, work, q):
    """
    Move each joint of ``q`` to its best place, the last one first.

    The axes of the joints before it do not move with a joint, so only the tip has to be followed.
    """
    position_weight = settings.weights[0] * settings.weights[0]
    # ‖R − R_target‖² is twice the squared angle, where that is small.
    orientation_weight = 0.5 * settings.weights[3] * settings.weights[3]
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
        q[i] = _within(chain, settings, i, before + gain * motion)
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
    if math.hypot(cosine, sine) <= _NOISE * size:
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
    for shift in (0.0, -full, full):
        if lower <= best + shift <= upper:
            return best + shift
    at_lower = cosine * math.cos(turns * lower) + sine * math.sin(turns * lower)
    at_upper = cosine * math.cos(turns * upper) + sine * math.sin(turns * upper)
    return lower if at_lower > at_upper else upper


@inner_kernel
def _within(chain, settings, i, value):
    """Return the value of a variable clamped to its limits, unless they are ignored."""
    if settings.limits == LimitStrategy.IGNORE:
        return value
    return min(max(value, chain.lower[i]), chain.upper[i])


@inner_kernel
def _carry(axis, frame, angle, way):
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
            rx += axis[3] + way * ax
            ry += axis[4] + way * ay
            rz += axis[5] + way * az
        frame[3 * part], frame[3 * part + 1], frame[3 * part + 2] = rx, ry, rz


@inner_kernel
def _linearised_cycle(gain, chain, settings, work, q):
    """Move each variable of ``q`` to the minimum of its linearised error, the last one first."""
    for i in range(q.shape[0] - 1, -1, -1):
        last_frame(chain, q, work.axes, work.frame)
        errors(settings, work)
        jacobian_rows(chain, work.axes, work.frame, work.rows)
        largest = square = along = 0.0
        for k in range(q.shape[0]):
            largest = max(largest, _squared_effect(settings, work.rows[k]))
        square = _squared_effect(settings, work.rows[i])
        for j in range(6):
            along += settings.weights[j] * work.rows[i, j] * work.error[j]
        if square > _NOISE * _NOISE * largest:
            motion = min(max(along / square, -_LONGEST), _LONGEST)
            q[i] = _within(chain, settings, i, q[i] + gain * motion)


@inner_kernel
def _squared_effect(settings, row):
    """Return the squared length of a weighted row of the Jacobian."""
    square = 0.0
    for j in range(6):
        square += (settings.weights[j] * row[j]) ** 2
    return square


def _parameters(chain: KinematicChain, options: IkOptions) -> CyclicCoordinateDescent:
    weights = options.task_weights
    alike = len(set(weights[:3])) == 1 and len(set(weights[3:])) == 1
    alone = len(set(chain.arrays.variables.tolist())) == len(chain.arrays.variables)
    return CyclicCoordinateDescent(given(options.step_gain, 1.0), int(alike and alone))


_ONE_BY_ONE = 'each joint goes to its best place within its limits, one at a time; take clamp'

SPEC = SolverSpec(
    name='ccd',
    summary='cyclic coordinate descent: one joint at a time, from the tip to the base',
    uses=frozenset({'step_gain'}),
    parameters=_parameters,
    max_iterations=500,
    max_searches=50,
    patience=25,
    progress=0.1,
    keeps_limits=True,
    memory_rows=lambda chain: MEMORY_ROWS,
    refuses={('joint_limits', 'transform'): _ONE_BY_ONE, ('joint_limits', 'penalty'): _ONE_BY_ONE},
)
