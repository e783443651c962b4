"""Motions of the arm by hand, in the units that the node takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

SCALES = ('scale.linear', 'scale.rotational', 'scale.joint')
UNITS = 'command_in_type'
PARAMETERS = (UNITS, *SCALES)
"""Parameters of the node that commands depend on."""

_DEFAULT_SCALES = (0.4, 0.8, 0.5)  # MoveIt Servo's [m/s], [rad/s], [rad/s] or [m/s]
_SPEED_UNITS = 'speed_units'

AXES = ('x', 'y', 'z')
"""Names of the axes."""


@dataclass(frozen=True)
class HandMotion:
    """
    Motion along or about an axis, or of a joint, as a share of the largest speed or as a speed.

    :ivar frame: link in whose frame the twist is.
    :ivar twist: (6,) linear before angular.
    :ivar joint: name of the joint that moves instead; empty for a twist.
    :ivar speed: the joint's.
    """

    frame: str = ''
    twist: tuple[float, ...] = (0.0,) * 6
    joint: str = ''
    speed: float = 0.0

    @property
    def rest(self) -> HandMotion:
        """The same command for no motion."""
        return replace(self, twist=(0.0,) * 6, speed=0.0)

    @property
    def text(self) -> str:
        """What moves, in a few words."""
        if self.joint:
            return self.joint
        axis = next((i for i, value in enumerate(self.twist) if value), 0)
        way = 'along' if axis < 3 else 'about'
        return f'{way} {AXES[axis % 3]} of {self.frame}'


@dataclass(frozen=True)
class SpeedUnits:
    """
    Units of the commands that a node takes.

    :ivar scales: largest linear [m/s], angular [rad/s] and joint speeds [rad/s] or [m/s].
    :ivar is_unitless: whether commands are shares of them.
    """

    scales: tuple[float, float, float] = _DEFAULT_SCALES
    is_unitless: bool = True

    def axis_motion(self, axis: int, share: float, frame: str) -> HandMotion:
        """
        Return the motion along or about an axis.

        :param axis: 0 to 2 along x, y, z; 3 to 5 about them.
        :param share: of the largest speed, −1 to 1.
        :param frame: link in whose frame the axis is.
        """
        twist = [0.0] * 6
        twist[axis] = share * self._unit(0 if axis < 3 else 1)
        return HandMotion(frame, tuple(twist))

    def joint_motion(self, joint: str, share: float) -> HandMotion:
        """
        Return the motion of a joint.

        :param joint: its name.
        :param share: of the largest speed, −1 to 1.
        """
        return HandMotion(joint=joint, speed=share * self._unit(2))

    def _unit(self, which: int) -> float:
        return 1.0 if self.is_unitless else self.scales[which]


def read_units(values: Mapping[str, object], before: SpeedUnits) -> SpeedUnits:
    """
    Return the units that parameters of the node tell.

    :param values: parameters by name; others than :data:`PARAMETERS` do not matter.
    :param before: the units as far as they are not among them.
    """
    scales = tuple(
        float(value) if isinstance(value := values.get(name), (int, float)) else old
        for name, old in zip(SCALES, before.scales, strict=True)
    )
    units = values.get(UNITS)
    is_unitless = before.is_unitless if units is None else units != _SPEED_UNITS
    return SpeedUnits((scales[0], scales[1], scales[2]), is_unitless)
