"""Reasons why a parameter or its value is refused, and how to write a value correctly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import difflib
import re

from rclpy.parameter import Parameter

from ik_service.common.quoting import quote, truncate

_WANTED = {
    Parameter.Type.BOOL: 'true or false',
    Parameter.Type.INTEGER: 'a whole number',
    Parameter.Type.DOUBLE: 'a number with a decimal point',
    Parameter.Type.STRING: 'text',
    Parameter.Type.DOUBLE_ARRAY: 'a list of numbers with a decimal point',
    Parameter.Type.INTEGER_ARRAY: 'a list of whole numbers',
    Parameter.Type.STRING_ARRAY: 'a list of texts',
    Parameter.Type.BOOL_ARRAY: 'a list of true and false',
    Parameter.Type.BYTE_ARRAY: 'a list of bytes',
}
_EXPONENT = re.compile(r'([-+]?\d+)(\.\d*)?[eE]([-+]?)(\d+)')
_SHOWN = 6  # elements of a list


def no_such_parameter(name: str, names: Iterable[str]) -> str:
    """
    Return why a parameter that does not exist is refused, with the nearest name that exists.

    :param name: its name.
    :param names: the names that exist.
    """
    near = difflib.get_close_matches(truncate(name), names, 1, 0.5)
    return 'there is no such parameter' + (f'; is {near[0]} meant?' if near else '')


def wrong_type(wanted: Parameter.Type, value: object) -> str:
    """
    Return why a value of another type is refused, and how to write it where that is clear.

    :param wanted: the parameter's type.
    :param value: the value.
    """
    text = f'wrong type: has to be {_WANTED.get(wanted, wanted.name)}, not {_shown(value)}'
    written = _as_written(wanted, value)
    return f'{text}; write {written}' if written else text


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f'the text {quote(value)}'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f'the whole number {value}'
    if isinstance(value, float):
        return f'the number {value}'
    if value is None:
        return 'nothing'
    if not isinstance(value, Sequence):
        return quote(str(value))
    shown = ', '.join(quote(str(element)) for element in value[:_SHOWN])
    return f'the list [{shown}{", …" if len(value) > _SHOWN else ""}]'


def _as_written(wanted: Parameter.Type, value: object) -> str:
    """Return the value in the form that YAML, and so ROS, reads as the wanted type."""
    if wanted is Parameter.Type.DOUBLE:
        return _with_point(value)
    if wanted is Parameter.Type.STRING and isinstance(value, (bool, int, float)):
        return f'"\'{value}\'"'
    if (
        wanted is Parameter.Type.DOUBLE_ARRAY
        and isinstance(value, Sequence)
        and not isinstance(value, str)
    ):
        numbers = [_with_point(element) for element in value[: _SHOWN + 1]]
        if numbers and all(numbers) and len(numbers) <= _SHOWN:
            return f'[{", ".join(numbers)}]'
    return ''


def _with_point(value: object) -> str:
    if isinstance(value, float):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f'{value}.0'
    # YAML 1.1 takes 1e-4 and 1.0e4 for text: it wants a point, and a sign of the exponent.
    number = _EXPONENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if number is None:
        return ''
    point = number[2] if number[2] and number[2] != '.' else '.0'
    return f'{number[1]}{point}e{number[3] or "+"}{number[4]}'
