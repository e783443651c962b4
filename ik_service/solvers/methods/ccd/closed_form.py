"""
Cycle over the joints in which each goes straight to its best place.

For a turning joint that is the angle of a vector: w_p ‖p − p_target‖² and
½ w_r ‖R − R_target‖² both vary with a turn by θ as constant − 2 (A cos θ + B sin θ).
L.-C. T. Wang and C. C. Chen, "A combined optimization method for solving the inverse kinematics
problem of mechanical manipulators", IEEE Transactions on Robotics and Automation 7, 1991. The
bounds of a joint are kept exactly: the best place within them is where the cosine is largest.
"""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inner_kernel
from ik_service.solvers.choices import LimitStrategy

# An effect of a joint below this share of the numbers it is computed from is rounding.
NOISE = 1e-14


@inner_kernel
def turn_weights(square, settings):
    """
    Return the weights of ‖p − p_target‖² and of ‖R − R_target‖².

    The latter is twice the squared angle, where that is small.

    :param square: square of the characteristic length [m²], or 1.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    """
    position = settings.weights[0] * settings.weights[0]
    return position, 0.5 * square * settings.weights[3] * settings.weights[3]


@inner_kernel
def closed_form_cycle(method, chain, settings, work, q):
    """
    Move each joint of ``q`` to its best place, the last one first.

    The axes of the joints before it do not move with a joint, so only the tip has to be followed.

    :param method: :class:`~ik_service.solvers.methods.ccd.method.CyclicCoordinateDescent`.
    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`; its frame moves with ``q``.
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
    for shift in (0.0, -full, full):
        if lower <= best + shift <= upper:
            return best + shift
    at_lower = cosine * math.cos(turns * lower) + sine * math.sin(turns * lower)
    at_upper = cosine * math.cos(turns * upper) + sine * math.sin(turns * upper)
    return lower if at_lower > at_upper else upper


@inner_kernel
def within(chain, settings, i, value):
    """
    Return the value of a variable clamped to its limits, unless they are ignored.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param i: index of the variable.
    :param value: its position [rad] or [m].
    """
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
