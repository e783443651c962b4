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


@short_kernel
def least_weighted_step(jacobian, error, weights, place, room, step):
    """
    Find the step with the least weighted norm, in which joints near their limits weigh more.

    :param jacobian: (6, n) of the arm; is weighted.
    :param error: (6,) what the tip has to move by [m], [rad]; is weighted.
    :param weights: (6,) square roots of the weights of its components.
    :param place: (n,) of each joint between its limits: −1 at the lower one, 1 at the upper one.
    :param room: (6, 7) is written to.
    :param step: (n,) gets the step [rad] or [m].
    :returns: whether it differs from the one with the least norm.
    """
    for i in range(6):
        error[i] *= weights[i]
        for j in range(len(step)):
            jacobian[i, j] *= weights[i]
    light = step
    light[:] = 1.0
    _solve(jacobian, error, light, room)
    differs = False
    for j in range(len(step)):
        way = 0.0
        for i in range(6):
            way += jacobian[i, j] * room[i, 6]
        light[j] = 1.0
        if place[j] * way > 0.0:
            near = min((abs(place[j]) - _FREE) / (1.0 - _FREE), _NEAREST)
            if near > 0.0:
                light[j] = 1.0 / (1.0 + _STRENGTH * near * near / (1.0 - near))
                differs = True
    if not differs:
        return False
    _solve(jacobian, error, light, room)
    for j in range(len(step)):
        way = 0.0
        for i in range(6):
            way += jacobian[i, j] * room[i, 6]
        step[j] = light[j] * way
    return True


@short_inlined_kernel
def _solve(jacobian, error, light, room):
    """Solve (J diag(light) Jᵀ + damping) y = error by Cholesky's method; y in the last column."""
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
        value = error[i]
        for m in range(i):
            value -= room[i, m] * room[m, 6]
        room[i, 6] = value / room[i, i]
    for i in range(5, -1, -1):
        value = room[i, 6]
        for m in range(i + 1, 6):
            value -= room[m, i] * room[m, 6]
        room[i, 6] = value / room[i, i]
