"""Joint positions and other numbers as one line of text, the form they have in parameters."""

from __future__ import annotations

import math

from ik_service.common.quoting import echo
from ik_service.exceptions import OptionError


def parse_positions(text: str, option: str) -> dict[str, float]:
    """
    Read positions such as ``'torso=0.1, head=0'``.

    :param text: names and numbers; may be empty.
    :param option: what the text is the value of, for the message.
    :returns: the positions by joint [rad] or [m].
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
                option, f"has to look like 'torso=0.1, head=0', but has {echo(part)}"
            )
        if name in positions:
            raise OptionError(option, f'names joint {echo(name)} twice')
        positions[name] = value
    return positions


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """
    Read numbers such as ``'0.1, -2'``.

    :param text: the numbers.
    :param option: what the text is the value of, for the message.
    :raises OptionError: a part of it is not a finite number.
    """
    numbers = []
    for part in map(str.strip, text.split(',')):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise OptionError(option, f"has to look like '0.1, -2', but has {echo(part)}")
        numbers.append(number)
    return tuple(numbers)
