"""Limits of joint motion along a path."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Protocol

import numpy as np

from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.joint_space import frozen, JointSpace
from ik_service.model.joint import JointType

ACCELERATION_TIME = 0.2
"""Time from rest to the largest speed [s], where no limit of acceleration is known."""
_FALLBACK_SPEED = 1.0  # [rad/s], where the robot description has none
_FALLBACK_LINEAR_SPEED = 0.1  # [m/s]


class Bounds(Protocol):
    """Limits of the joints of a robot, such as those of a ``joint_limits.yaml``."""

    def velocity(self, chain: JointSpace) -> np.ndarray:
        """Return (n,) [rad/s] or [m/s]; inf where there is none."""

    def acceleration(self, chain: JointSpace) -> np.ndarray:
        """Return (n,) [rad/s²] or [m/s²]; inf where there is none."""


@dataclass(frozen=True)
class TimingLimits:
    """
    Limits of the motion of n joints.

    :ivar velocity: (n,) largest speeds [rad/s] or [m/s]; 0 for a joint that does not move.
    :ivar acceleration: (n,) largest accelerations [rad/s²] or [m/s²]; inf for none.
    :raises ArgumentError: a limit is negative or NaN, or they are not as many.
    """

    velocity: np.ndarray
    acceleration: np.ndarray

    def __post_init__(self) -> None:
        for name in ('velocity', 'acceleration'):
            values = real_array(getattr(self, name), name)
            if values.ndim != 1 or not (values >= 0.0).all():
                raise ArgumentError(name, 'has to be (n,) numbers of at least 0')
            object.__setattr__(self, name, frozen(values))
        if len(self.velocity) != len(self.acceleration):
            raise ArgumentError('acceleration', 'has to be for as many joints as velocity')


def timing_limits(chain: JointSpace, limits: TimingLimits | Bounds | None) -> TimingLimits:
    """
    Return the limits of a chain.

    :param chain: the chain.
    :param limits: limits of its joints, or of a robot; None for those of its description, with
        accelerations that reach the largest speed within :data:`ACCELERATION_TIME`.
    :raises ArgumentError: they are for another number of joints.
    """
    if isinstance(limits, TimingLimits):
        if len(limits.velocity) != chain.n:
            raise ArgumentError(
                'limits', f'are for {len(limits.velocity)} joints; {chain.n} is right'
            )
        return limits
    velocity = chain.velocity if limits is None else limits.velocity(chain)
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    sliding = [kind is JointType.PRISMATIC for kind in kinds]
    fallback = np.where(sliding, _FALLBACK_LINEAR_SPEED, _FALLBACK_SPEED)
    velocity = np.where(np.isfinite(velocity), velocity, fallback)
    given = np.full(chain.n, math.inf) if limits is None else limits.acceleration(chain)
    return TimingLimits(
        velocity, np.where(np.isfinite(given), given, velocity / ACCELERATION_TIME)
    )
