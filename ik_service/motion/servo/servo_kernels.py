"""Kernels that keep joint velocities within bounds, and the motion of the tip in its direction."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import (
    copy_vector,
    fill_vector,
    jacobian_rows,
    last_frame,
)
from ik_service.motion.command.motion_kernels import FULL_SPEED
from ik_service.motion.servo.redundancy_kernels import spread_motion, turn_first
from ik_service.solvers.loop.linear_algebra import orthogonal_columns

_BRAKING = 0.5
"""Share of the acceleration that is used before a joint limit; the rest is room for lag."""

_NEXT_TO_NOTHING = 1e-9  # share of the fastest joint's speed that is next to nothing


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
        if abs(velocity[i]) <= _NEXT_TO_NOTHING * fastest:
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

    As :func:`.motion_kernels.stopping_speed`, for kernels with other options.
    """
    if not (distance > 0.0 and braking > 0.0):
        return 0.0
    distance = min(distance, 1e9)
    return 2.0 * distance / (dt + math.sqrt(dt * dt + 2.0 * distance / braking))


APPROACHING, HALTED, LEAVING = 1, 2, 4
"""Flags of a motion beside a singularity: parts of it are slowed down, left out, lead away."""

_HORIZON = 0.1  # time in which the motion away from a singularity shall be completed [s]

_SINGULAR = 1e-6
"""Ratio of singular values at which a joint motion is no longer distinguishable from rounding."""

_NOTHING = 1e-9  # ratio of singular values that only rounding leaves, also there
_ASIDE = 1e-4  # distance from the singularity at which the Jacobian is then taken [rad] or [m]
_DIFFERENCE = 1e-3  # joint motion over which the curvature is measured [rad] or [m]

_CURVED = 0.02
"""Curvature, as a share of the largest singular value [1/rad], that clearly leads away."""

_NOTICED = 0.05  # share of a twist that is worth a message


@kernel
def twist_motion(chain, q, twist, zone, bounds, scratch, velocity):
    """
    Joint velocities for a twist of the tip.

    :param chain: :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    :param q: (n,) the last command [rad] or [m].
    :param twist: (6,) linear [m/s] before angular [rad/s], in the base frame.
    :param zone: :class:`~ik_service.motion.servo.velocity_solver.SingularZone`.
    :param bounds: :class:`~ik_service.motion.servo.velocity_solver.JointBounds`.
    :param scratch: :class:`~ik_service.motion.servo.velocity_solver.ServoScratch`.
    :param velocity: (n,) out.
    :returns: the condition number; flags; and the index of a joint that slows the motion down, or
        whose motion others take over, because of its limit or its speed, −1 for none.
    """
    condition = _decompose(chain, q, zone.rank, bounds.speed, scratch)
    flags = _range_motion(chain, twist, zone, scratch, velocity)
    free_speeds(q, bounds, scratch.free)
    if zone.rank == q.shape[0]:
        return condition, flags, scale_to_speeds(scratch.free, velocity)
    joint = spread_motion(chain, q, bounds.speed, scratch, velocity)
    scale_to_speeds(scratch.free, velocity)  # no more than rounding
    turn_first(zone, bounds, scratch, velocity)
    return condition, flags, joint


@inner_kernel
def _decompose(chain, q, rank, speed, scratch):
    """Decompose the Jacobian, beside q where it is singular there; return its condition."""
    copy_vector(q, scratch.place)
    condition = _decompose_at(chain, rank, speed, scratch)
    if condition > 1.0 / _SINGULAR:
        for i in range(q.shape[0]):
            scratch.place[i] += _ASIDE * (1.0 + 0.37 * i)
        _decompose_at(chain, rank, speed, scratch)
    return condition


@inner_kernel
def _decompose_at(chain, rank, speed, scratch):
    last_frame(chain, scratch.place, scratch.axes, scratch.frame)
    jacobian_rows(chain, scratch.axes, scratch.frame, scratch.rows)
    for i in range(speed.shape[0]):
        if speed[i] <= 0.0:  # a joint that is never moved
            fill_vector(scratch.rows[i], 0.0)
    orthogonal_columns(scratch.rows, scratch.columns, scratch.basis)
    sizes = scratch.sizes
    for j in range(6):
        square = 0.0
        for i in range(scratch.place.shape[0]):
            square += scratch.columns[j, i] * scratch.columns[j, i]
        sizes[j] = math.sqrt(square)
    for _ in range(6 - rank):  # the directions in which this arm never moves
        least = -1
        for j in range(6):
            if sizes[j] >= 0.0 and (least < 0 or sizes[j] < sizes[least]):
                least = j
        sizes[least] = -1.0
    largest, smallest = 0.0, math.inf
    for j in range(6):
        if sizes[j] >= 0.0:
            largest, smallest = max(largest, sizes[j]), min(smallest, sizes[j])
    return largest / max(smallest, 1e-300)


@inner_kernel
def _range_motion(chain, twist, zone, scratch, velocity):
    """Write the joint motion of least norm for a twist, less where directions get lost."""
    sizes = scratch.sizes
    largest = length = 0.0
    for j in range(6):
        largest = max(largest, sizes[j])
        length += twist[j] * twist[j]
    noticed = _NOTICED * math.sqrt(length)
    fill_vector(velocity, 0.0)
    fill_vector(scratch.leaving, 0.0)
    flags = 0
    for j in range(6):
        along = 0.0
        for k in range(6):
            along += scratch.basis[k, j] * twist[k]
        if along == 0.0 or sizes[j] <= _NOTHING * largest:
            continue
        divisor, leaves = sizes[j], 0.0
        if largest > zone.lower * divisor:
            kept = (zone.upper - largest / divisor) / (zone.upper - zone.lower)
            kept = min(max(kept, 0.0), 1.0)
            curvature = _curvature(chain, scratch, j)
            away = math.copysign(1.0, along) * curvature / (_CURVED * largest)
            away = min(max(away, 0.0), 1.0) * (1.0 - kept)
            reach = divisor * divisor + 2.0 * abs(curvature * along) * _HORIZON
            divisor += away * 0.5 * (math.sqrt(reach) - divisor)
            if abs(along) > noticed:
                flags |= _flag(kept, away)
            leaves = away * along / divisor / sizes[j]
            along *= kept + away
        for i in range(velocity.shape[0]):
            velocity[i] += along / divisor * scratch.columns[j, i] / sizes[j]
        if leaves != 0.0:
            for i in range(velocity.shape[0]):
                scratch.leaving[i] += leaves * scratch.columns[j, i]
    return flags


@inner_kernel
def _flag(kept, away):
    """Return the flag of a component of which some share is kept, or leads away."""
    if away > 0.5 * (1.0 - kept):
        return LEAVING
    return HALTED if kept == 0.0 else APPROACHING


@inner_kernel
def _curvature(chain, scratch, j):
    """Return the slope of singular value j along its own joint motion [1/rad]."""
    n = scratch.place.shape[0]
    slope = 0.0
    for side in (-1.0, 1.0):
        for i in range(n):
            step = scratch.columns[j, i] / scratch.sizes[j]
            scratch.beside[i] = scratch.place[i] + side * _DIFFERENCE * step
        last_frame(chain, scratch.beside, scratch.axes, scratch.frame)
        jacobian_rows(chain, scratch.axes, scratch.frame, scratch.rows)
        for i in range(n):
            along = 0.0
            for k in range(6):
                along += scratch.rows[i, k] * scratch.basis[k, j]
            slope += side * along * scratch.columns[j, i] / scratch.sizes[j]
    return slope / (2.0 * _DIFFERENCE)
