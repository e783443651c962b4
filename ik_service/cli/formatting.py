"""Text of poses, joint values, sizes, times and tables, in units that people read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import math
import textwrap

import numpy as np

from ik_service.common.quoting import counted
from ik_service.common.transforms import rpy_from_rotation

_LABEL = 10  # width of the first column
_WIDTH = 100  # of all of them
_FAR = 10.0  # a distance that is written in metres [m]


def labelled(label: str, text: str) -> list[str]:
    """Return a text in a second column, after a label in the first line of the first one."""
    indent = ' ' * _LABEL
    wrapped = textwrap.wrap(
        text, _WIDTH - _LABEL, drop_whitespace=False, break_on_hyphens=False
    ) or ['']
    first, *others = (line.strip() for line in wrapped)
    return [f'{label:<{_LABEL}}{first}'.rstrip(), *(f'{indent}{line}' for line in others)]


def table(rows: Sequence[Sequence[str]], left: Iterable[int] = (0,)) -> list[str]:
    """
    Return rows of texts as lines with aligned columns.

    :param rows: texts of the cells, one a column; the first row is the heading.
    :param left: numbers of the columns that are aligned to the left.
    """
    to_the_left = set(left)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        '  '.join(
            f'{text:<{width}}' if number in to_the_left else f'{text:>{width}}'
            for number, (text, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in rows
    ]


def pose_text(T: np.ndarray, turned: bool = True, *free: str, digits: int = 4) -> str:
    """
    Return position and orientation of a pose.

    :param T: (4, 4); the rotation is given as roll, pitch, yaw about fixed axes, as in URDF.
    :param turned: whether the orientation counts; otherwise "any orientation" is written.
    :param free: names of the axes that the task leaves free.
    :param digits: behind the point of a position [m]; angles [°] have two fewer.
    """
    x, y, z = (number_text(value, digits) for value in T[:3, 3])
    angles = 'any orientation'
    if turned:
        degrees = map(math.degrees, rpy_from_rotation(T[:3, :3]))
        roll, pitch, yaw = (number_text(angle, digits - 2) for angle in degrees)
        angles = f'roll {roll}  pitch {pitch}  yaw {yaw}°'
    text = f'x {x}  y {y}  z {z} m   {angles}'
    return f'{text}   (free: {", ".join(free)})' if free else text


def effort_text(iterations: int, searches: int) -> str:
    """Return the effort of a solve: iterations over all searches, and searches."""
    made = counted(iterations, 'iteration')
    return f'{made} in {searches} search{"" if searches == 1 else "es"}'


def joint_value_text(value: float, slides: bool) -> tuple[str, str]:
    """Return a joint value in the unit of the URDF, and in degrees, empty for a slide."""
    if slides:
        return f'{number_text(value, 4)} m  ', ''
    return f'{number_text(value, 4)} rad', f'{number_text(math.degrees(value), 2)}°'


def motion_text(value: float, slides: bool) -> str:
    """Return the motion of a joint with its sign, in degrees, or in metres of a slide."""
    number, digits, unit = (value, 4, ' m') if slides else (math.degrees(value), 2, '°')
    if abs(number) >= 1e5:
        return f'{number:+.3g}{unit}'
    return f'{round(number, digits) + 0.0:+.{digits}f}{unit}'


def limits_text(lower: float, upper: float, slides: bool) -> str:
    """
    Return the limits of a joint.

    :param lower: [rad] or [m]; −∞ without a limit.
    :param upper: [rad] or [m]; ∞ without a limit.
    :param slides: whether the joint is prismatic.
    """
    if lower == -math.inf and upper == math.inf:
        return 'none'
    low = '−∞' if lower == -math.inf else number_text(lower, 4)
    high = '∞' if upper == math.inf else number_text(upper, 4)
    return f'{low:>7} … {high:>7} {"m" if slides else "rad"}'


def distance_text(distance: float) -> str:
    """Return a distance [m] in millimetres, or in metres from 10 m on."""
    return f'{distance:.4g} m' if distance >= _FAR else f'{size_text(distance * 1e3)} mm'


def angle_text(angle: float) -> str:
    """Return an angle [rad], not negative, in degrees."""
    return f'{size_text(math.degrees(angle))}°'


def time_text(seconds: float) -> str:
    """Return a time [s] in seconds, milliseconds or microseconds."""
    if seconds >= 1.0:
        return f'{seconds:.3g} s'
    return f'{seconds * 1e3:.3g} ms' if seconds >= 1e-3 else f'{seconds * 1e6:.3g} µs'


def size_text(value: float) -> str:
    """Return a size with three digits, without an exponent from 0.001 to 100,000."""
    if value == 0.0 or 1e-3 <= value < 1e5:
        return f'{value:.3g}' if value < 1000.0 else f'{value:.0f}'
    return f'{value:.2g}'


def number_text(value: float, digits: int) -> str:
    """Return a number rounded to digits behind the point, with an exponent from 1e9 on."""
    if 1e9 <= abs(value) < math.inf:
        return f'{value:.3g}'
    return f'{round(value, digits) + 0.0:.{digits}f}'
