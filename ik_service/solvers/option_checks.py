"""Checks of option values that do not depend on the method."""

from __future__ import annotations

from collections.abc import Iterable
import math

import numpy as np

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import OptionError

_LARGEST = 1e9  # of any number: far beyond use, and within the range of a clock in nanoseconds


def check_number(name: str, value: object, zero: bool = False) -> float:
    """
    Check a number: above 0, or at least 0, and not too large.

    :param name: the option.
    :param value: its value.
    :param zero: whether 0 is valid.
    :returns: the value as a float of Python, so that equal options are written alike.
    :raises OptionError: naming the option.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not 0 <= value <= _LARGEST
        or (value == 0 and not zero)
    ):
        least = 'of at least 0' if zero else 'above 0'
        raise OptionError(
            name, f'has to be a number {least} and at most {_LARGEST:g}, not {safe_repr(value)}'
        )
    return float(value) + 0.0  # -0.0 becomes 0.0


def nanoseconds(seconds: float) -> int:
    """
    Return a time-out in nanoseconds, at least 1.

    :param seconds: the time-out [s].
    :raises OptionError: it is not a number that a time-out can be.
    """
    check_number('timeout', seconds)
    return max(1, int(seconds * 1e9))


def check_integer(name: str, value: object, at_least: int) -> int:
    """
    Check a whole number: at least a bound, and below 2**62.

    :param name: the option.
    :param value: its value.
    :param at_least: smallest valid number.
    :returns: the value as an int of Python.
    :raises OptionError: naming the option.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not at_least <= value < 2**62
    ):
        raise OptionError(
            name,
            f'has to be a whole number of at least {at_least} and below 2**62, '
            f'not {safe_repr(value)}',
        )
    return int(value)


def check_choice(name: str, value: object, valid: tuple[str, ...], also: str = '') -> None:
    """
    Check that a value is one of the valid choices.

    :param name: the option.
    :param value: its value.
    :param valid: the choices.
    :param also: description of other valid values, for the message.
    :raises OptionError: naming the option and the choices.
    """
    if not isinstance(value, str) or value not in valid:
        also = f', or {also}' if also else ''
        raise OptionError(
            name, f'has to be one of {", ".join(valid)}{also}, not {safe_repr(value)}'
        )


def six_weights(weights: Iterable[float]) -> tuple[float, ...]:
    """
    Return six finite weights, none negative and not all zero, as a tuple of floats.

    :param weights: (6,) linear before angular.
    :raises OptionError: naming the option.
    """
    values = _floats(weights)
    usable = len(values) == 6 and all(0.0 <= value < math.inf for value in values)
    if not usable or not any(values):
        raise OptionError(
            'task_weights',
            'has to be six finite numbers, none negative and not all zero '
            f'(x, y, z, then rotations about x, y, z), not {safe_repr(weights)}',
        )
    return values


def check_flag(name: str, value: object) -> bool:
    """
    Check that a value is True or False.

    :param name: the option.
    :param value: its value.
    :returns: the value as a bool of Python.
    :raises OptionError: naming the option.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(name, f'has to be True or False, not {safe_repr(value)}')
    return bool(value)


def finite_numbers(name: str, values: Iterable[float]) -> tuple[float, ...]:
    """
    Return any number of finite numbers as a tuple of floats.

    :param name: the option.
    :param values: its value.
    :raises OptionError: naming the option.
    """
    numbers = _floats(values)
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise OptionError(name, f'has to be finite numbers, not {safe_repr(values)}')
    return numbers


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    """Return a row of numbers as a tuple of floats; an empty one for anything else."""
    try:
        array = real_array(values if isinstance(values, np.ndarray) else tuple(values), 'values')
    except Exception:  # also what an object raises that is no row
        return ()
    return tuple((array + 0.0).tolist()) if array.ndim == 1 else ()  # -0.0 becomes 0.0
