"""Kernels that keep joint velocities within bounds, and the motion of the tip in its direction."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.motion.command.speed_kernels import FULL_SPEED

_BRAKING = 0.5
"""Share of the acceleration that is used before a joint limit; the rest is room for lag."""

_NOTHING = 1e-9
"""Share of the fastest joint's speed that is next to nothing."""


@kernel
def bounded_joints(q, wanted, bounds, scratch, velocity):
    """
    Joint velocities for wanted ones, each joint for itself at its limits.

    :param q: (n,) the last command [rad] or [m].
    :param wanted: (n,) wanted velocities [rad/s] or [m/s].
    :param bounds: :class:`~ik_service.motion.servo.velocity_solver.JointBounds`.
    :param scratch: :class:`~ik_service.motion.servo.velocity_solver.ServoScratch`.
    :param velocity: (n,) out.
    :returns: index of a joint that its limit slows down; −1 for none.
    """
    free_speeds(q, bounds, scratch.free)
    share = 1.0
    for i in range(q.shape[0]):
        most = bounds.speed[i] * FULL_SPEED
        if abs(wanted[i]) > most:
            share = min(share, most / abs(wanted[i]))
    bound = -1
    for i in range(q.shape[0]):
        speed = share * wanted[i]
        velocity[i] = min(max(speed, -scratch.free[0, i]), scratch.free[1, i])
        if velocity[i] != speed:
            bound = i
    return bound


@inner_kernel
def free_speeds(q, bounds, free):
    """
    Write the highest speeds from which every joint can stop where it has to.

    :param q: (n,) the last command [rad] or [m].
    :param bounds: :class:`~ik_service.motion.servo.velocity_solver.JointBounds`.
    :param free: (2, n) out: downwards and upwards [rad/s] or [m/s], at least 0.
    """
    for i in range(q.shape[0]):
        braking = _BRAKING * bounds.acceleration[i]
        most = bounds.speed[i] * FULL_SPEED
        free[0, i] = min(most, _stopping_speed(q[i] - bounds.lower[i], braking, bounds.dt))
        free[1, i] = min(most, _stopping_speed(bounds.upper[i] - q[i], braking, bounds.dt))


@inner_kernel
def scale_to_speeds(free, velocity):
    """
    Scale velocities down until none is too high, which keeps the direction of the tip.

    Next to nothing is cut off instead: rounding must not stop the whole motion at a joint limit.

    :param free: (2, n) highest speeds downwards and upwards.
    :param velocity: (n,) in and out.
    :returns: index of the joint that needs it most, −1 for none.
    """
    share, worst, fastest = 1.0, -1, 0.0
    for i in range(velocity.shape[0]):
        fastest = max(fastest, abs(velocity[i]))
    for i in range(velocity.shape[0]):
        most = free[1, i] if velocity[i] > 0.0 else free[0, i]
        if abs(velocity[i]) <= _NOTHING * fastest:
            velocity[i] = math.copysign(min(abs(velocity[i]), most), velocity[i])
        elif abs(velocity[i]) * share > most:
            share, worst = most / abs(velocity[i]), i
    for i in range(velocity.shape[0]):
        velocity[i] *= share
    return worst


@inner_kernel
def _stopping_speed(distance, braking, dt):
    """
    Return the highest speed from which the ticks that follow can stop within a distance.

    As :func:`.speed_kernels.stopping_speed`, for kernels with other options.
    """
    if not (distance > 0.0 and braking > 0.0):
        return 0.0
    distance = min(distance, 1e9)
    return 2.0 * distance / (dt + math.sqrt(dt * dt + 2.0 * distance / braking))
