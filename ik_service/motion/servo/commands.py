"""Commands for servoing, checked and in units of speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import check_kind, real_array
from ik_service.common.quoting import quote, safe_repr
from ik_service.common.transforms import rigid_transform
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import check_transform, frame_of
from ik_service.solvers.options import check_flag, check_number

UNITLESS, SPEED_UNITS = INPUT_TYPES = ('unitless', 'speed_units')

_LARGEST_MARGIN = 0.25  # share of a joint's range that a margin takes up at most


@dataclass(frozen=True)
class ServoSettings:
    """
    Settings of servoing.

    :ivar linear: speed of the tip for a unitless 1, and for motions to poses [m/s].
    :ivar rotational: the same of its rotation [rad/s].
    :ivar joint: joint speed for a unitless 1 [rad/s] or [m/s].
    :ivar timeout: age at which a command no longer counts [s].
    :ivar unitless: whether commands are shares of these speeds, −1 to 1; otherwise speeds.
    :ivar margins: distance to the joint limits at which joints stop [rad] or [m]: one for all, or
        one for each joint.
    :ivar lower_threshold: condition number of the Jacobian from which motions towards a
        singularity slow down.
    :ivar hard_stop: the one at which they have come to rest.
    :raises OptionError: naming the setting whose value cannot be.
    :raises ArgumentError: the margins are no numbers.
    """

    linear: float = 0.4
    rotational: float = 0.8
    joint: float = 0.5
    timeout: float = 0.1
    unitless: bool = True
    margins: tuple[float, ...] = (0.1,)
    lower_threshold: float = 17.0
    hard_stop: float = 30.0

    def __post_init__(self) -> None:
        numbers = 'linear', 'rotational', 'joint', 'timeout', 'lower_threshold', 'hard_stop'
        for name in numbers:
            check_number(name, getattr(self, name))
        check_flag('unitless', self.unitless)
        margins = real_array(self.margins, 'joint_limit_margins')
        if margins.shape in ((), (0,)) or not (np.isfinite(margins) & (margins >= 0.0)).all():
            raise OptionError(
                'joint_limit_margins',
                f'have to be finite numbers of at least 0, not {safe_repr(self.margins)}',
            )
        if not 1.0 <= self.lower_threshold < self.hard_stop:
            raise OptionError(
                'hard_stop_singularity_threshold',
                f'has to be above lower_singularity_threshold, and that at least 1; they are '
                f'{self.hard_stop:g} and {self.lower_threshold:g}',
            )

    def margins_of(self, chain: KinematicChain) -> np.ndarray:
        """
        Return the distances to their limits at which the joints of a chain stop.

        :param chain: the chain.
        :returns: (n,) [rad] or [m]; a quarter of a joint's range at most.
        :raises OptionError: there are neither one nor n margins.
        """
        if len(self.margins) not in (1, chain.n):
            raise OptionError(
                'joint_limit_margins',
                f'are {len(self.margins)} numbers; there have to be one, or {chain.n} for '
                f'{", ".join(chain.joint_names)}',
            )
        lower, upper = chain.search_limits()
        return np.minimum(self.margins, _LARGEST_MARGIN * (upper - lower))


HIGHEST = 1e3  # size of a number from which it can be no command

_AXES = ('linear.x', 'linear.y', 'linear.z', 'angular.x', 'angular.y', 'angular.z')


@dataclass(frozen=True, eq=False)
class TwistCommand:
    """
    Velocity of the tip.

    :ivar twist: (6,) linear [m/s] before angular [rad/s], in the base frame.
    :ivar turns: whether it is given in the axes of the tip instead, and turns with them.
    """

    twist: np.ndarray
    turns: bool = False

    @property
    def is_zero(self) -> bool:
        """Whether it asks for no motion."""
        return not self.twist.any()


@dataclass(frozen=True, eq=False)
class JointCommand:
    """
    Velocities of joints.

    :ivar velocity: (n,) [rad/s] or [m/s].
    """

    velocity: np.ndarray

    @property
    def is_zero(self) -> bool:
        """Whether it asks for no motion."""
        return not self.velocity.any()


@dataclass(frozen=True, eq=False)
class PoseCommand:
    """
    Pose of the tip to go to, straight, for as long as such commands come.

    :ivar frame: (12,) T_base_target as kernels take it.
    :ivar linear: highest speed [m/s].
    :ivar rotational: highest speed of rotation [rad/s].
    """

    frame: np.ndarray
    linear: float
    rotational: float

    @property
    def is_zero(self) -> bool:
        """Whether it asks for no motion; one that is reached may still be held."""
        return False


ServoCommand = TwistCommand | JointCommand | PoseCommand


def twist_command(
    twist: ArrayLike, settings: ServoSettings, R: np.ndarray | None = None, turns: bool = False
) -> tuple[TwistCommand, str]:
    """
    Return a velocity of the tip.

    :param twist: (6,) linear before angular, of the tip, as the settings count them.
    :param settings: scales and units.
    :param R: (3, 3) rotation of the axes that it is given in, R_base_axes, or R_tip_axes for axes
        that turn with the tip; None where they are the same.
    :param turns: whether the axes turn with the tip.
    :returns: the command, and the changes made to it, as a sentence; empty for none.
    :raises ArgumentError: naming the number that cannot be, or the axes that are no rotation.
    """
    check_kind(settings, ServoSettings, 'settings')
    twist, note = _checked(real_array(twist, 'twist'), _AXES), ''
    if settings.unitless:
        twist, note = _shares(twist, _AXES)
        twist[:3] *= settings.linear
        twist[3:] *= settings.rotational
    if R is not None:
        R = real_array(R, 'R')
        if R.shape != (3, 3):
            raise ArgumentError('R', f'has shape {R.shape}, has to be (3, 3)')
        check_transform(rigid_transform(R), 'R')
        twist = np.concatenate([R @ twist[:3], R @ twist[3:]])
    return TwistCommand(twist, turns), note


def joint_command(
    velocities: Mapping[str, float], settings: ServoSettings, chain: KinematicChain
) -> tuple[JointCommand, str]:
    """
    Return velocities of joints; those that are not named rest.

    :param velocities: by name of the joint, as the settings count them.
    :param settings: scale and units.
    :param chain: the chain.
    :returns: the command, and the changes made to it, as a sentence; empty for none.
    :raises ArgumentError: naming the joint that is not moved, or the number that cannot be.
    """
    check_kind(velocities, Mapping, 'velocities')
    check_kind(settings, ServoSettings, 'settings')
    check_kind(chain, KinematicChain, 'chain')
    names = chain.joint_names
    unknown = [name for name in velocities if name not in names]
    if unknown:
        raise ArgumentError(
            'joint_names',
            f'{safe_repr(unknown[0])} is none of the moved joints: {", ".join(names)}',
        )
    given = tuple(velocities)
    values = real_array([velocities[name] for name in given], 'velocities')
    values = _checked(values, given)
    note = ''
    if settings.unitless:
        values, note = _shares(values, given)
        values *= settings.joint
    velocity = np.zeros(chain.n)
    for name, value in zip(given, values, strict=True):
        velocity[names.index(name)] = value
    return JointCommand(velocity), note


def pose_command(T_base_target: np.ndarray, settings: ServoSettings) -> PoseCommand:
    """Return a pose to go to, (4, 4) T_base_tip; raises ArgumentError where it is no pose."""
    T = check_transform(T_base_target, 'pose')
    check_kind(settings, ServoSettings, 'settings')
    return PoseCommand(frame_of(T), settings.linear, settings.rotational)


def _checked(values: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Return a copy of finite numbers of a plausible size."""
    if values.shape != (len(names),):
        raise ArgumentError('twist', f'has shape {values.shape}, has to be ({len(names)},)')
    for name, value in zip(names, values, strict=True):
        if not math.isfinite(value):
            raise ArgumentError(name, f'is {value}; it has to be a finite number')
        if abs(value) > HIGHEST:
            raise ArgumentError(name, f'is {value:g}, which can be no speed')
    return np.array(values, dtype=np.float64)


def _shares(values: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, str]:
    """Return unitless numbers, all of them divided by the largest where that is beyond 1."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest <= 1.0:
        return values, ''
    name = names[int(np.argmax(np.abs(values)))]
    return values / largest, (
        f'{quote(name)} is {largest:g}, above the maximum of 1 of unitless commands: all are '
        'divided by it'
    )
