"""Values of options and parameters given as text: positions, and numbers within bounds."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
import math
from typing import TypeVar

from ik_service.common.arguments import to_number
from ik_service.common.quoting import quote
from ik_service.exceptions import OptionError

Number = TypeVar('Number', int, float)


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
        value = to_number(number)
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
        number = to_number(part)
        if not math.isfinite(number):
            raise OptionError(option, f"has to look like '0.1, -2', but has {quote(part)}")
        numbers.append(number)
    return tuple(numbers)


def checked_option(
    kind: Callable[[str], Number], holds: Callable[[Number], bool], refusal: str
) -> Callable[[str], Number]:
    """
    Return a reader of an option of a command line, as the ``type`` of an argument of argparse.

    :param kind: reads the number; raises ValueError for text that is none.
    :param holds: returns whether the option may have a value.
    :param refusal: why others are refused, with ``{}`` where the text stands.
    """

    def read(text: str) -> Number:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not holds(value):
            raise ArgumentTypeError(refusal.format(text.strip()))
        return value

    return read


def at_least(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Return a reader, as of :func:`checked_option`, of whole numbers from a least one on."""
    bound = '' if most == math.inf else f' and at most {most:,}'
    refusal = f'{{!r}} is no whole number of at least {least}{bound}'
    return checked_option(int, lambda number: least <= number <= most, refusal)
