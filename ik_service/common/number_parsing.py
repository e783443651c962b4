"""Parsing of joint positions and number lists from the text of parameters."""

from __future__ import annotations

import math

from ik_service.common.quoting import quote
from ik_service.exceptions import OptionError


def parse_positions(text: str, option: str) -> dict[str, float]:
    """
    Parse joint positions such as ``'torso=0.1, head=0'``.

    :param text: joint names and positions [rad] or [m]; may be empty.
    :param option: name of the option or parameter, for the message.
    :returns: position by joint name [rad] or [m].
    :raises OptionError: a part of it is not a name, an equals sign and a finite number, or a
        joint stands twice.
    """
    positions: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(','))):
        name, _, number = map(str.strip, part.partition('='))
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not name or not math.isfinite(value):
            raise OptionError(
                option, f"has to look like 'torso=0.1, head=0', but has {quote(part)}"
            )
        if name in positions:
            raise OptionError(option, f'names joint {quote(name)} twice')
        positions[name] = value
    return positions


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """
    Parse numbers such as ``'0.1, -2'``.

    :param text: numbers, separated by commas.
    :param option: name of the option or parameter, for the message.
    :raises OptionError: a part of it is not a finite number.
    """
    numbers = []
    for part in map(str.strip, text.split(',')):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise OptionError(option, f"has to look like '0.1, -2', but has {quote(part)}")
        numbers.append(number)
    return tuple(numbers)
