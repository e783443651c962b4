"""Text output of ``ik_teleop``: the keys, and a line about what happens."""

from __future__ import annotations

import shutil
import sys

from ik_service.cli.teleop.keys import AXIS_NAMES, Keys, Motion

KEYS_TEXT = """\
   w / s  forward, back  (x)        u / o  roll   (about x)     1 … 9  joints
   a / d  left, right    (y)        i / k  pitch  (about y)     v      joints backwards
   r / f  up, down       (z)        j / l  yaw    (about z)     space  stop
   + / -  speed                     t      axes of base or tip  ?      these keys
   q      quit                      The arm moves while a key is held."""


def motion_text(motion: Motion | None, joints: tuple[str, ...]) -> str:
    """
    Return a motion in words.

    :param motion: the motion; None for none.
    :param joints: names of the joints.
    """
    if motion is None:
        return 'at rest'
    if motion.joint >= 0:
        name = joints[motion.joint] if motion.joint < len(joints) else f'joint {motion.joint + 1}'
        return f'{name} {"+" if motion.speed > 0 else "−"}'
    parts = [
        f'{name} {"+" if value > 0 else "−"}'
        for name, value in zip(AXIS_NAMES, motion.twist, strict=True)
        if value
    ]
    return ', '.join(parts) or 'at rest'


def line(motion: str, keys: Keys, status: str) -> str:
    """
    Return the line about what happens.

    :param motion: the motion in words.
    :param keys: speed and axes.
    :param status: what the node says, or what is wrong.
    """
    axes = 'tip' if keys.in_tip else 'base'
    return f'{motion:<14}  {100 * keys.speed:3.0f} %  axes of the {axes:<4}  {status}'


def show(text: str) -> None:
    """
    Show a line in place of the one before; without a terminal, nothing.

    :param text: the line.
    """
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f'\r\033[K{text[:width]}', end='', flush=True)


def say(text: str) -> None:
    """
    Print lines that stay.

    :param text: the lines.
    """
    clear = '\r\033[K' if sys.stdout.isatty() else ''
    print(f'{clear}{text}', flush=True)
