"""How the motion of a window ends when no other command comes."""

from __future__ import annotations

import numpy as np

from ik_service.following.motion import JointMotion
from ik_service.following.motion_limits import MotionLimits

_LONGEST = 0.5
"""Longest time in which a motion comes to where it rests [s]."""

_Way = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Times (k,) [s] above 0, positions (k, n) and velocities (k, n)."""


def way_to_rest(
    q: np.ndarray,
    velocity: np.ndarray,
    limits: MotionLimits,
    braking: np.ndarray,
    coast: float,
    shortest: float,
) -> _Way:
    """
    Return how joints go on with their velocity for a while, and come to rest inside their limits.

    All slow down in proportion, as quickly as the braking allows; one that would go beyond its
    limit stops there.

    :param q: (n,) where they are [rad] or [m].
    :param velocity: (n,) how fast they move [rad/s] or [m/s].
    :param limits: bounds on the motion.
    :param braking: (n,) largest decrease of the speeds since they rested, in shares of the
        velocity limits [1/s]: what was in time to stop stays so when limits change.
    :param coast: time for which they go on at most [s]; shorter where a limit is near.
    :param shortest: shortest time in which they come to rest [s], where no acceleration is given.
    :returns: times (k,) [s] above 0, positions (k, n) and velocities (k, n); k is 0 at rest.
    """
    size = np.abs(velocity)
    if not size.any():
        return np.zeros(0), np.zeros((0, len(q))), np.zeros((0, len(q)))
    moving = size > 0.0
    speed = np.where(moving, size, 1.0)
    duration = max(float((size / np.maximum(braking * limits.unit, 1e-9)).max()), shortest)
    room = np.maximum(np.where(velocity > 0.0, limits.upper - q, q - limits.lower), 0.0)
    free = np.where(moving, room / speed, np.inf) - 0.5 * duration  # before it has to slow down
    before = min(max(float(free.min()), 0.0), coast)
    ramps = np.where(free < before, 2.0 * (free + 0.5 * duration - before), duration)
    ramps = np.maximum(ramps, 1e-3)
    ends = np.unique(np.round(before + ramps, 6))
    times = ends if before < 1e-4 else np.concatenate([[before], ends])
    into = np.clip(times[:, None] - before, 0.0, ramps)
    covered = np.minimum(times, before)[:, None] + into - into**2 / (2.0 * ramps)
    velocities = velocity * np.maximum(1.0 - into / ramps, 0.0)
    velocities[-1] = 0.0
    return times, limits.inside(q + velocity * covered, q), velocities


def way_to(
    goal: np.ndarray,
    q: np.ndarray,
    velocity: np.ndarray,
    limits: MotionLimits,
    braking: np.ndarray,
    period: float,
) -> _Way | None:
    """
    Return how joints come to rest at a goal.

    :param goal: (n,) where they shall rest [rad] or [m].
    :param q: (n,) where they are [rad] or [m].
    :param velocity: (n,) how fast they move [rad/s] or [m/s].
    :param limits: bounds on the motion.
    :param braking: as of :func:`way_to_rest`.
    :param period: length of the steps in which they go there, and of the one before [s].
    :returns: as of :func:`way_to_rest`; None when that takes too long.
    """
    motion, still = JointMotion(q), np.zeros_like(q)
    motion.speed, motion.braking = velocity / limits.unit, braking
    points = []
    for k in range(round(_LONGEST / period)):
        before = motion.q
        motion.track(goal, still, limits, period)
        middle = 0.5 * (before + motion.q), (motion.q - before) / period
        points.append(((k + 0.5) * period, *middle))
        if motion.at_rest and (before == goal).all() and (motion.q == goal).all():
            break
    else:
        return None
    times, positions, velocities = zip(*points, strict=True)
    return np.array(times), np.array(positions), np.array(velocities)
