"""Limits of joint motion along a path."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.joint_space import frozen, joint_speeds, JointSpace
from ik_service.model.motion_bounds import MotionBounds

ACCELERATION_TIME = 0.2
"""Time from rest to the largest speed [s], where no limit of acceleration is known."""
_MOST = 1e30
"""Largest limit of a speed, an acceleration or a jerk: squares of larger ones overflow."""


def _bounded(limits: np.ndarray) -> np.ndarray:
    """Return limits that can be calculated with; infinite ones stay."""
    return np.where(np.isfinite(limits), np.minimum(limits, _MOST), limits)


class JointTorques(Protocol):
    """
    Torques that motions of a chain need, such as those of Pinocchio in the extra ``dynamics``.

    :ivar limit: (n,) the largest torques [N m] or forces [N]; inf for none.
    """

    limit: np.ndarray

    def of(self, q: np.ndarray, velocities: np.ndarray, accelerations: np.ndarray) -> np.ndarray:
        """
        Return the torques (k, n) of k motions.

        :param q: (k, n) joint vectors [rad] or [m].
        :param velocities: (k, n) [rad/s] or [m/s].
        :param accelerations: (k, n) [rad/s²] or [m/s²].
        """


@dataclass(frozen=True, eq=False)
class TimingLimits:
    """
    Limits of the motion of n joints; those above 1e30 count as that.

    :ivar velocity: (n,) largest speeds [rad/s] or [m/s]; 0 for a joint that does not move.
    :ivar acceleration: (n,) largest accelerations [rad/s²] or [m/s²]; inf for none.
    :raises ArgumentError: one is negative or NaN, a velocity infinite, or they are not as many.
    """

    velocity: np.ndarray
    acceleration: np.ndarray

    def __post_init__(self) -> None:
        for name in ('velocity', 'acceleration'):
            values = real_array(getattr(self, name), name)
            if values.ndim != 1 or not (values >= 0.0).all():
                raise ArgumentError(name, 'has to be (n,) numbers of at least 0')
            if name == 'velocity' and np.isinf(values).any():
                raise ArgumentError(name, 'has to be finite')
            object.__setattr__(self, name, frozen(_bounded(values)))
        if len(self.velocity) != len(self.acceleration):
            raise ArgumentError('acceleration', 'has to be for as many joints as velocity')


def timing_limits(chain: JointSpace, limits: TimingLimits | MotionBounds | None) -> TimingLimits:
    """
    Return the limits of a chain.

    :param chain: the chain.
    :param limits: limits of its joints, or of a robot; None for those of its description. Where
        there are none, accelerations reach the largest speed within :data:`ACCELERATION_TIME`.
    :raises ArgumentError: they are for another number of joints.
    """
    if isinstance(limits, TimingLimits):
        if len(limits.velocity) != chain.n:
            raise ArgumentError(
                'limits', f'are for {len(limits.velocity)} joints; {chain.n} is right'
            )
        return limits
    if not isinstance(limits, (MotionBounds, NoneType)):
        raise ArgumentError(
            'limits', f'have to be TimingLimits or MotionBounds, not {safe_repr(limits)}'
        )
    bounds = limits or MotionBounds()
    velocity = np.minimum(joint_speeds(chain), bounds.velocity(chain.joints))
    given = bounds.acceleration(chain.joints)
    return TimingLimits(
        velocity, np.where(np.isfinite(given), given, velocity / ACCELERATION_TIME)
    )


def jerk_limits(
    chain: JointSpace, limits: TimingLimits | MotionBounds | None, jerk: ArrayLike | None
) -> np.ndarray:
    """
    Return the largest jerks of the joints of a chain, (n,) [rad/s³] or [m/s³]; inf for none.

    :param chain: the chain.
    :param limits: limits of its joints, or of a robot.
    :param jerk: (n,) the jerks, or one number for all joints; None for those of the limits.
    :raises ArgumentError: they are negative or NaN, or for another number of joints.
    """
    if jerk is None:
        bounds = limits if isinstance(limits, MotionBounds) else MotionBounds()
        return _bounded(bounds.jerk(chain.joints))
    given = real_array(jerk, 'jerk')
    if given.shape not in ((), (chain.n,)) or not (given >= 0.0).all():
        raise ArgumentError('jerk', f'has to be ({chain.n},) numbers of at least 0, or one')
    return np.broadcast_to(_bounded(given), chain.n)
