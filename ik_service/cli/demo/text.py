"""How the demo prints what it asks, what comes back, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
import math
import sys
import textwrap

import numpy as np

from ik_service.common.transforms import rpy_from_rotation
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose import pose_error
from ik_service.model.joint import JointType

_LABEL = 14  # width of the first column
_WIDTH = 100  # of all of them


class Deviation:
    """
    How far a pose is from another.

    :param T: (4, 4) the pose.
    :param T_target: (4, 4) the other one.
    :ivar position: [m].
    :ivar orientation: [rad].
    """

    def __init__(self, T: np.ndarray, T_target: np.ndarray) -> None:
        error = pose_error(T, T_target)
        self.position = float(np.linalg.norm(error[:3]))
        self.orientation = float(np.linalg.norm(error[3:]))

    def __str__(self) -> str:
        return f'{_short(self.position * 1e3)} mm, {_short(math.degrees(self.orientation))}°'


def heading(text: str) -> None:
    """Print a headline."""
    say(f'\n{text}')


def row(label: str, text: str) -> None:
    """Print a text with a label before it."""
    indent = ' ' * (3 + _LABEL)
    first, *others = textwrap.wrap(text, _WIDTH - len(indent), drop_whitespace=False) or ['']
    say(f'   {label:<{_LABEL}}{first.rstrip()}')
    for line in others:
        say(f'{indent}{line.strip()}')


def say(text: str) -> None:
    """Print a line, at once."""
    _clear_progress()
    print(text, flush=True)


def progress(text: str) -> None:
    """Show a line that the next one replaces, if someone sits at a terminal."""
    if sys.stdout.isatty():
        print(f'\r\033[K   {"":<{_LABEL}}{text}', end='', flush=True)


def pose_text(T: np.ndarray) -> str:
    """
    Return a pose in words, for people.

    :param T: (4, 4); the rotation is given as roll, pitch, yaw about fixed axes, as in URDF.
    """
    x, y, z = (_plain(value, 3) for value in T[:3, 3])
    roll, pitch, yaw = (_plain(math.degrees(angle), 1) for angle in rpy_from_rotation(T[:3, :3]))
    return f'x {x}  y {y}  z {z} m   roll {roll}  pitch {pitch}  yaw {yaw}°'


def position_text(T: np.ndarray) -> str:
    """Return the position of a pose (4, 4) in columns, eight characters each [m]."""
    return ''.join(f'{_plain(value, 3):>8}' for value in T[:3, 3])


def joint_lines(chain: KinematicChain, positions: Mapping[str, float]) -> list[str]:
    """Return the chain's joint values, a line each."""
    width = max(map(len, chain.joint_names))
    lines = []
    for name in chain.joint_names:
        value = positions[name]
        if chain.robot.joints[name].type is JointType.PRISMATIC:
            lines.append(f'{name:<{width}}  {value:8.4f} m    {value * 1e3:8.2f} mm')
        else:
            lines.append(f'{name:<{width}}  {value:8.4f} rad  {math.degrees(value):8.2f}°')
    return lines


def _clear_progress() -> None:
    if sys.stdout.isatty():
        print('\r\033[K', end='')


def _short(value: float) -> str:
    """Return a number with three digits or so."""
    if value < 0.001:
        return '< 0.001'
    return f'{value:.3f}' if value < 10.0 else f'{value:.1f}'


def _plain(value: float, digits: int) -> str:
    """Return a rounded number without the sign of a zero."""
    return f'{round(value, digits) + 0.0:.{digits}f}'
