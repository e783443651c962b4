"""Compiled steps of redundant arms on which joints keep away from their limits."""

from __future__ import annotations

import math

from ik_service.kinematics.compile import short_inlined_kernel, short_kernel

_FREE = 0.5
"""Distance from the middle, as a share of that of the limits, up to which nothing is weighted."""

_STRENGTH = 30.0
"""Weight of a joint about halfway from there to its limit; it grows beyond all bounds there."""

_NEAREST = 0.999
"""Share of the way from there to the limit that nearer ones count as."""

_DAMPING = 1e-6
"""Damping, as a share of the largest diagonal element: of singular values up to 0.1 %."""

_RESULT, _ERROR = 6, 7  # columns of the room, after the matrix


LOWER, UPPER, MIDDLE, HALF = range(4)
"""Rows of the ranges of joints; where there is no limit, the middle is 0 and the half inf."""


@short_kernel
def least_weighted_step(tip, goal, jacobian, weights, ranges, q, room, guess):
    """
    Find the step with the least weighted norm, in which joints near their limits weigh more.

    :param tip: (4, 4) where the tip is.
    :param goal: (4, 4) where it shall be, not far away.
    :param jacobian: (6, n) of the arm; is written to.
    :param weights: (6,) square roots of the weights of the pose error's components.
    :param ranges: (4, n) rows of the ranges of the joints [rad] or [m].
    :param q: (n,) positions [rad] or [m].
    :param room: (6, 8) is written to.
    :param guess: (n,) gets where the step leads within the limits [rad] or [m].
    :returns: the longest step of a joint [rad] or [m]; 0 where the step with the least norm is
        the same.
    """
    _set_error(tip, goal, room)
    for i in range(6):
        room[i, _ERROR] *= weights[i]
        for j in range(len(q)):
            jacobian[i, j] *= weights[i]
    light = guess
    light[:] = 1.0
    _solve(jacobian, light, room)
    differs = False
    for j in range(len(q)):
        light[j] = 1.0
        place = (q[j] - ranges[MIDDLE, j]) / ranges[HALF, j]
        if place * _way(jacobian, room, j) > 0.0:
            near = min((abs(place) - _FREE) / (1.0 - _FREE), _NEAREST)
            if near > 0.0:
                light[j] = 1.0 / (1.0 + _STRENGTH * near * near / (1.0 - near))
                differs = True
    if not differs:
        return 0.0
    _solve(jacobian, light, room)
    longest = 0.0
    for j in range(len(q)):
        step = light[j] * _way(jacobian, room, j)
        longest = max(longest, abs(step))
        guess[j] = min(max(q[j] + step, ranges[LOWER, j]), ranges[UPPER, j])
    return longest


@short_inlined_kernel
def _set_error(tip, goal, room):
    """Write the pose error: the way, and of the rotation vector what small angles have."""
    for i in range(3):
        room[i, _ERROR] = goal[i, 3] - tip[i, 3]
        a, b = (i + 1) % 3, (i + 2) % 3
        turn = 0.0
        for axis in range(3):
            turn += tip[a, axis] * goal[b, axis] - tip[b, axis] * goal[a, axis]
        room[3 + i, _ERROR] = 0.5 * turn


@short_inlined_kernel
def _way(jacobian, room, j):
    """Return the way of a joint that has the weight 1."""
    way = 0.0
    for i in range(6):
        way += jacobian[i, j] * room[i, _RESULT]
    return way


@short_inlined_kernel
def _solve(jacobian, light, room):
    """Solve (J diag(light) Jᵀ + damping) result = error by Cholesky's method."""
    most = 0.0
    for i in range(6):
        for k in range(i + 1):
            value = 0.0
            for j in range(len(light)):
                value += jacobian[i, j] * light[j] * jacobian[k, j]
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
