"""Joint positions as one line of text, the form they have in parameters."""

from __future__ import annotations

import math

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
            raise OptionError(option, f"has to look like 'torso=0.1, head=0', but has {part!r}")
        if name in positions:
            raise OptionError(option, f'names joint {name!r} twice')
        positions[name] = value
    return positions
