"""Text output of ``ik_demo``: poses, joint values, errors and progress."""

from __future__ import annotations

from collections.abc import Mapping
import math
from pathlib import Path
import select
import sys
import textwrap

import numpy as np

from ik_service.cli.formatting import number_text
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.model.joint import JointType

_LABEL = 14  # width of the first column
_WIDTH = 100  # of all of them


class Deviation:
    """
    Position and orientation error of a pose.

    :param T: (4, 4) T_base_tip.
    :param T_target: (4, 4) T_base_target.
    :ivar position: distance [m].
    :ivar orientation: angle [rad].
    """

    def __init__(self, T: np.ndarray, T_target: np.ndarray) -> None:
        error = pose_error(T, T_target)
        self.position = float(np.linalg.norm(error[:3]))
        self.orientation = float(np.linalg.norm(error[3:]))

    def __str__(self) -> str:
        return f'{_short(self.position * 1e3)} mm, {_short(math.degrees(self.orientation))}°'


def enter_pressed() -> bool:
    """Return whether Enter was pressed in the terminal since the last call; never without one."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return False
    return bool(sys.stdin.readline())


def heading(text: str) -> None:
    """Print a heading."""
    say(f'\n{text}')


def row(label: str, text: str) -> None:
    """Print a text with a label before it, wrapped."""
    indent = ' ' * (3 + _LABEL)
    first, *others = textwrap.wrap(text, _WIDTH - len(indent), drop_whitespace=False) or ['']
    say(f'   {label:<{_LABEL}}{first.rstrip()}')
    for line in others:
        say(f'{indent}{line.strip()}')


def say(text: str) -> None:
    """Print a line in place of the progress line, and flush it."""
    clear_progress()
    print(text, flush=True)


def progress(text: str) -> None:
    """Show a line that the next one replaces, on a terminal; elsewhere nothing."""
    if sys.stdout.isatty():
        print(f'\r\033[K   {"":<{_LABEL}}{text}', end='', flush=True)


def position_text(T: np.ndarray) -> str:
    """Return the position of a pose (4, 4) in columns of eight characters each [m]."""
    return ''.join(f'{number_text(value, 3):>8}' for value in T[:3, 3])


def robot_text(chain: KinematicChain, urdf: Path) -> str:
    """Return the lines about the arm; joints whose velocity limit is 0 are named."""
    robot = f'{chain.robot.name}: {chain.n} joints, {chain.base_link} → {chain.tip_link}'
    lines = [f'Robot     {robot}', f'          {urdf}']
    fixed = [name for name, v in zip(chain.joint_names, chain.velocity, strict=True) if v == 0.0]
    if fixed:
        lines.append(f'Note      velocity limit 0, so that nothing moves them: {", ".join(fixed)}')
    return '\n'.join(lines)


def joint_lines(chain: KinematicChain, positions: Mapping[str, float]) -> list[str]:
    """Return the joint values of a chain, given by name, a line each."""
    width = max(map(len, chain.joint_names))
    lines = []
    for name in chain.joint_names:
        value = positions[name]
        if chain.robot.joints[name].type is JointType.PRISMATIC:
            lines.append(f'{name:<{width}}  {value:8.4f} m    {value * 1e3:8.2f} mm')
        else:
            lines.append(f'{name:<{width}}  {value:8.4f} rad  {math.degrees(value):8.2f}°')
    return lines


def clear_progress() -> None:
    """Remove the progress line from the terminal."""
    if sys.stdout.isatty():
        print('\r\033[K', end='')


def _short(value: float) -> str:
    """Return a number with three digits behind the point, or one from 10 on."""
    if value < 0.001:
        return '< 0.001'
    return f'{value:.3f}' if value < 10.0 else f'{value:.1f}'
