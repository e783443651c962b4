"""Compiled steps of redundant arms that spare slow joints, and those near their limits."""

from __future__ import annotations

import math

from ik_service.jit.compile import short_inlined_kernel, short_kernel
from ik_service.kinematics.kernels import jacobian_rows, last_frame

_FREE = 0.5
"""Distance from the middle, as a share of that of the limits, up to which nothing is weighted."""

_STRENGTH = 30.0
"""Weight of a joint about halfway from there to its limit; it grows beyond all bounds there."""

_NEAREST = 0.999  # share of the path from there to the limit that nearer ones count as

_DAMPING = 1e-6
"""Damping, as a share of the largest diagonal element: of singular values up to 0.1 %."""

_RESULT, _ERROR = 6, 7  # columns of the room, after the matrix


_NARROWEST = 1e-4  # half the range of a joint that narrower ones count as [rad] or [m]


@short_kernel
def least_weighted_step(
    chain, goal, weights, lower, upper, ease, axes, frame, rows, light, room, q
):
    """
    Find the step with the least weighted norm; slow joints, and those near limits, weigh more.

    :param chain: :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    :param goal: (4, 4) where the tip shall be, not far away.
    :param weights: (6,) square roots of the weights of the pose error's components.
    :param lower: (n,) limits [rad] or [m]; −inf for none.
    :param upper: (n,) likewise; inf for none.
    :param ease: (n,) one over the weights of the joints far from their limits.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param rows: (n, 6) scratch.
    :param light: (n,) scratch.
    :param room: (6, 8) scratch.
    :param q: (n,) positions [rad] or [m]; gets where the step leads within the limits.
    :returns: the longest step of a joint [rad] or [m]; 0 where the step with the least norm is
        the same.
    """
    last_frame(chain, q, axes, frame)
    jacobian_rows(chain, axes, frame, rows)
    _set_error(chain.tip[0], chain.tip[1], frame, goal, room)
    for i in range(6):
        room[i, _ERROR] *= weights[i]
        for j in range(len(q)):
            rows[j, i] *= weights[i]
    for j in range(len(q)):
        light[j] = ease[j]
    _solve(rows, light, room)
    differs = False
    for j in range(len(q)):
        differs = differs or ease[j] != 1.0
        position = _relative_position(q[j], lower[j], upper[j])
        if position * _unit_step(rows, room, j) > 0.0:
            near = min((abs(position) - _FREE) / (1.0 - _FREE), _NEAREST)
            if near > 0.0:
                light[j] = ease[j] / (1.0 + _STRENGTH * near * near / (1.0 - near))
                differs = True
    if not differs:
        return 0.0
    _solve(rows, light, room)
    longest = 0.0
    for j in range(len(q)):
        step = light[j] * _unit_step(rows, room, j)
        longest = max(longest, abs(step))
        q[j] = min(max(q[j] + step, lower[j]), upper[j])
    return longest


@short_inlined_kernel
def _relative_position(position, lower, upper):
    """Return where a joint is: −1 at the lower limit, 1 at the upper one; 0 without both."""
    half = max(0.5 * (upper - lower), _NARROWEST)
    return 0.0 if math.isinf(half) else (position - 0.5 * (lower + upper)) / half


@short_inlined_kernel
def _set_error(c, s, frame, goal, room):
    """Write the pose error: translation, then the rotation vector to first order in the angle."""
    for i in range(3):
        room[i, _ERROR] = goal[i, 3] - frame[9 + i]
        a, b = (i + 1) % 3, (i + 2) % 3
        turn = frame[6 + a] * goal[b, 2] - frame[6 + b] * goal[a, 2]
        xa, xb = c * frame[a] + s * frame[3 + a], c * frame[b] + s * frame[3 + b]
        ya, yb = c * frame[3 + a] - s * frame[a], c * frame[3 + b] - s * frame[b]
        turn += xa * goal[b, 0] - xb * goal[a, 0] + ya * goal[b, 1] - yb * goal[a, 1]
        room[3 + i, _ERROR] = 0.5 * turn


@short_inlined_kernel
def _unit_step(rows, room, j):
    """Return the path of a joint that has the weight 1."""
    step = 0.0
    for i in range(6):
        step += rows[j, i] * room[i, _RESULT]
    return step


@short_inlined_kernel
def _solve(rows, light, room):
    """Solve (J diag(light) Jᵀ + damping) result = error by Cholesky's method."""
    most = 0.0
    for i in range(6):
        for k in range(i + 1):
            value = 0.0
            for j in range(len(light)):
                value += rows[j, i] * light[j] * rows[j, k]
            room[i, k] = value
        most = max(most, room[i, i])
    damping = max(_DAMPING * most, 1e-300)
    for i in range(6):
        for k in range(i + 1):
            value = room[i, k] + (damping if i == k else 0.0)
            for m in range(k):
                value -= room[i, m] * room[k, m]
            room[i, k] = math.sqrt(max(value, damping)) if i == k else value / room[k, k]
    for i in range(6):
        value = room[i, _ERROR]
        for m in range(i):
            value -= room[i, m] * room[m, _RESULT]
        room[i, _RESULT] = value / room[i, i]
    for i in range(5, -1, -1):
        value = room[i, _RESULT]
        for m in range(i + 1, 6):
            value -= room[m, i] * room[m, _RESULT]
        room[i, _RESULT] = value / room[i, i]
