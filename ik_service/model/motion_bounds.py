"""Bounds on the motion of joints beyond those of a URDF: of acceleration and jerk, and tighter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
import math

import numpy as np

from ik_service.common.arguments import check_kind, positive, single_number
from ik_service.common.quoting import listed, quote
from ik_service.exceptions import ArgumentError, JointLimitsError
from ik_service.model.joint import Joint, JointType, RATES


@dataclass(frozen=True)
class JointBounds:
    """
    Bounds on the motion of a joint; infinite where there are none.

    :ivar lower: lowest position [rad] or [m].
    :ivar upper: highest position [rad] or [m].
    :ivar velocity: highest speed [rad/s] or [m/s].
    :ivar acceleration: highest acceleration [rad/s²] or [m/s²].
    :ivar jerk: highest jerk [rad/s³] or [m/s³].
    :raises ArgumentError: naming the bound that is NaN, no number, or negative where it cannot be.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number = single_number(value, name)
            if not number >= (-math.inf if name in ('lower', 'upper') else 0.0):
                raise ArgumentError(name, f'has to be a number, not {number:g}')


_NONE = JointBounds()


@dataclass(frozen=True)
class MotionBounds:
    """
    Bounds on the motion of joints by name.

    :ivar joints: the bounds; joints that it does not name have none.
    :ivar velocity_scaling: share of the speeds that planners use where nobody says otherwise.
    :ivar acceleration_scaling: the same of the accelerations.
    :raises ArgumentError: naming what is of another type, or the share that is not above 0.
    """

    joints: Mapping[str, JointBounds] = field(default_factory=dict)
    velocity_scaling: float = 1.0
    acceleration_scaling: float = 1.0

    def __post_init__(self) -> None:
        check_kind(self.joints, Mapping, 'joints')
        for bounds in self.joints.values():
            check_kind(bounds, JointBounds, 'joints')
        positive(self.velocity_scaling, 'velocity_scaling')
        positive(self.acceleration_scaling, 'acceleration_scaling')

    def velocity(self, joints: Iterable[Joint]) -> np.ndarray:
        """Return the highest speeds of joints (n,) [rad/s] or [m/s]; inf for none."""
        return np.array([self.joints.get(joint.name, _NONE).velocity for joint in joints], float)

    def acceleration(self, joints: Iterable[Joint]) -> np.ndarray:
        """
        Return the highest accelerations of joints (n,) [rad/s²] or [m/s²]; inf for none.

        Those of the robot description count, too.

        :param joints: the joints, such as those of a chain.
        """
        return self._tighter(joints, 'acceleration')

    def jerk(self, joints: Iterable[Joint]) -> np.ndarray:
        """
        Return the highest jerks of joints (n,) [rad/s³] or [m/s³]; inf where there is none.

        Those of the robot description count, too.

        :param joints: the joints, such as those of a chain.
        """
        return self._tighter(joints, 'jerk')

    def tightened(self, joints: Iterable[Joint]) -> list[Joint]:
        """
        Return joints whose limits are within these bounds, too.

        Bounds of joints that there are not, such as those of a gripper that is not mounted, are
        ignored where each movable joint has its own: then none of them is a misspelled one's.

        :param joints: all joints of a robot.
        :raises JointLimitsError: a bound is of a joint that there is not, and may be meant for one
            that has none; or it leaves a joint no range.
        """
        joints = list(joints)
        known = [joint.name for joint in joints if joint.movable]
        unknown = [name for name in self.joints if name not in known]
        if unknown and not self.joints.keys() >= {*known}:
            raise JointLimitsError(
                f'the robot has no movable joint called {listed(unknown)}; it has {listed(known)}'
            )
        return [self._tightened(joint) for joint in joints]

    def _tightened(self, joint: Joint) -> Joint:
        bounds, own = self.joints.get(joint.name, _NONE), joint.limits
        lower, upper = max(own.lower, bounds.lower), min(own.upper, bounds.upper)
        most = {rate: min(getattr(own, rate), getattr(bounds, rate)) for rate in RATES}
        limits = replace(own, lower=lower, upper=upper, **most)
        if limits == own:
            return joint
        label = f'joint {quote(joint.name)}'
        if lower > upper:
            raise JointLimitsError(
                f'its positions from {bounds.lower:g} to {bounds.upper:g} and those of the robot '
                f'description, from {own.lower:g} to {own.upper:g}, have nothing in common',
                label,
            )
        if joint.type is JointType.CONTINUOUS and (lower, upper) != (own.lower, own.upper):
            raise JointLimitsError(
                'it turns without end, and can have no limits of position; a revolute joint can',
                label,
            )
        return replace(joint, limits=limits)

    def _tighter(self, joints: Iterable[Joint], what: str) -> np.ndarray:
        bounds = ((self.joints.get(joint.name, _NONE), joint.limits) for joint in joints)
        return np.array([min(getattr(bound, what) for bound in pair) for pair in bounds], float)
