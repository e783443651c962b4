"""Solver options as text: ``OPTION=VALUE``, parsed by the type of the option."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
import inspect
from pathlib import Path
import re
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, Union

from ik_service.exceptions import IkServiceError, OptionError, UnknownOptionError
from ik_service.solvers.options import IkOptions

OPTION_NAMES = tuple(field.name for field in fields(IkOptions))
_FIELD = re.compile(r'^:param (\w+): (.*?)(?=^:|\Z)', re.MULTILINE | re.DOTALL)
_TRUTH = {'true': True, 'yes': True, '1': True, 'false': False, 'no': False, '0': False}


class UsageError(IkServiceError):
    """Invalid command line."""


def read_settings(words: Sequence[str]) -> dict[str, Any]:
    """
    Read options such as ``timeout=0.1``.

    :returns: the values by option, of the type that the option has.
    :raises UsageError: a word is no option with a value, or an option stands twice.
    :raises UnknownOptionError: there is no such option; lists those there are.
    :raises OptionError: a value is not of the option's type.
    """
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition('=')
        if name not in OPTION_NAMES and equals:
            raise UnknownOptionError(name, OPTION_NAMES)
        if not equals:
            raise UsageError(f'--set takes OPTION=VALUE, such as timeout=0.1, not {word!r}')
        if name in values:
            raise UsageError(f'--set names {name} twice')
        values[name] = _value(name, text.strip())
    return values


def option_texts() -> dict[str, str]:
    """Return the meaning and default of each option by its name, in the order of ``IkOptions``."""
    meanings = {
        name: ' '.join(text.replace('``', '').split()).rstrip('.')
        for name, text in _FIELD.findall(inspect.getdoc(IkOptions) or '')
    }
    return {
        field.name: f'{meanings.get(field.name, "")} (default: {default_text(field.default)})'
        for field in fields(IkOptions)
    }


def default_text(value: object) -> str:
    """Return a value as ``--set`` takes it."""
    if value is None:
        return "the method's own"
    if isinstance(value, tuple):
        return ','.join(f'{number:g}' for number in value)
    return str(value).lower() if isinstance(value, bool) else f'{value}'


def _value(name: str, text: str) -> object:
    """Read a value by the first of the option's types that takes it."""
    kinds = _kinds(get_type_hints(IkOptions)[name])
    if NoneType in kinds and text.lower() in ('none', 'default'):
        return None
    readers = [reader for kind, reader in _READERS.items() if kind in kinds] or [(str, 'text')]
    for read, _ in readers:
        try:
            return read(text)
        except ValueError:
            continue
    wanted = ' or '.join(description for _, description in readers)
    raise OptionError(name, f'has to be {wanted}, not {text!r}')


def _kinds(hint: object) -> set[object]:
    """Return the plain types that a type hint allows."""
    if get_origin(hint) in (Union, UnionType):
        return set().union(*map(_kinds, get_args(hint)))
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and issubclass(kind, Sequence) and kind is not str:
        return {tuple}
    return {kind}


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise ValueError(text)
    return _TRUTH[text.lower()]


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(word) for word in text.replace(',', ' ').split())


_READERS: dict[object, tuple[Callable[[str], object], str]] = {
    bool: (_truth, 'true or false'),
    int: (int, 'a whole number'),
    float: (float, 'a number'),
    tuple: (_numbers, 'numbers with commas between them'),
    Path: (Path, 'a path'),
    str: (str, 'text'),
}
