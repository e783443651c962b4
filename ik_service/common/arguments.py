"""Arguments, and values given as text, as checked numbers and arrays."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
import math
import operator
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import quote, safe_repr
from ik_service.exceptions import ArgumentError, OptionError

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


_REAL = 'fiu'  # kinds of NumPy's types that hold real numbers


def check_kind(value: object, kind: type, argument: str) -> None:
    """Refuse a value that is not of a type; raises ArgumentError."""
    if not isinstance(value, kind):
        raise ArgumentError(argument, f'has to be a {kind.__name__}, not {safe_repr(value)}')


def truth_value(value: object, argument: str) -> bool:
    """Return True or False, of Python or of NumPy; raises ArgumentError for all else."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(argument, f'has to be True or False, not {safe_repr(value)}')
    return bool(value)


def real_array(values: ArrayLike, argument: str) -> np.ndarray:
    """
    Return numbers as a contiguous array of floats, a copy; NaN and infinity may be among them.

    :param values: numbers in any nesting that NumPy understands.
    :param argument: their name in the error.
    :raises ArgumentError: they are no real numbers, such as complex ones, truth values or text,
        some of them are masked, or no array can be made of them.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return np.array(values, order='C')
    try:
        array = np.asarray(values)
    except Exception as error:  # also errors raised by an object asked for its array
        raise ArgumentError(argument, f'has to be numbers: {safe_repr(error, str)}') from error
    if hasattr(values, 'mask') and np.ma.is_masked(values):
        raise ArgumentError(argument, 'has masked elements, which are no numbers')
    if array.dtype.kind == 'O':
        array = _from_objects(array, argument)
    if array.dtype.kind not in _REAL:
        raise ArgumentError(argument, f'has to be real numbers, not {array.dtype}')
    with np.errstate(over='ignore'):  # of a longer float: infinity, which the caller reports
        return np.array(array, dtype=np.float64, order='C')


def _from_objects(array: np.ndarray, argument: str) -> np.ndarray:
    """Return floats from Python objects, such as whole numbers beyond 64 bits."""
    floats = np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (int, float, np.integer, np.floating)
        ):
            raise ArgumentError(argument, f'has to be numbers, not {safe_repr(value)}')
        try:
            floats[place] = value
        except OverflowError as error:
            raise ArgumentError(argument, f'{safe_repr(value)} is beyond all numbers') from error
    return floats


def single_number(value: ArrayLike, argument: str) -> float:
    """Return a number, which may be NaN or infinite; raises ArgumentError for all else."""
    number = real_array(value, argument)
    if number.shape != ():
        raise ArgumentError(argument, f'has to be a single number, not {safe_repr(value)}')
    return float(number)


def positive(value: ArrayLike, argument: str) -> float:
    """Return a finite number above 0; raises ArgumentError for all else."""
    number = real_array(value, argument)
    if number.shape != () or not 0.0 < number < math.inf:
        raise ArgumentError(argument, f'has to be a finite number above 0, not {safe_repr(value)}')
    return float(number)


def to_number(text: str) -> float:
    """Return the number that a text holds; NaN where it is none, such as 1_000 or ١."""
    try:  # float() alone would take these two
        return float(text) if text.isascii() and '_' not in text else math.nan
    except ValueError:
        return math.nan


def whole_number(value: object, argument: str, least: int = 1, most: int | None = None) -> int:
    """
    Return a whole number of Python, of NumPy or of whatever else is one.

    :param value: the number; truth values and floats are none.
    :param argument: its name in the error.
    :param least: it has to be at least this.
    :param most: and at most this, where there is such a bound.
    :raises ArgumentError: it is no whole number, or beyond the bounds.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)  # type: ignore[arg-type]
    except Exception:  # whatever an object raises that is asked for its number
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f'of at least {least}' if most is None else f'from {least} to {most}'
        raise ArgumentError(argument, f'has to be a whole number {bounds}, not {safe_repr(value)}')
    return number


def check_time(time: float, argument: str) -> None:
    """
    Refuse values that are no time: compared with NaN, nothing would ever be too old.

    :param time: the time [s].
    :param argument: its name in the error.
    :raises ArgumentError: it is no finite number.
    """
    try:
        finite = math.isfinite(time)
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise ArgumentError(argument, f'has to be a time in seconds, not {safe_repr(time)}')
