"""Messages from YAML and back, as ros2cli takes and shows them."""

from __future__ import annotations

import array
from collections.abc import Mapping, Sequence
import importlib
import re
from typing import Any

import numpy as np
import yaml

from ik_service.common.quoting import quote
from ik_service.exceptions import IkServiceError

_ELEMENT = re.compile(r'(?:sequence<)?([\w/]+)(?:, \d+>|>|\[\d+\])')


class ValueTextError(IkServiceError):
    """Text that stands for no value of a type."""


def find_type(name: str, folder: str) -> Any:  # noqa: ANN401 (a generated class)
    """
    Return the type that a name stands for.

    :param name: such as ``moveit_msgs/srv/GetPositionIK``, also without the folder.
    :param folder: ``msg``, ``srv`` or ``action``.
    :raises ValueTextError: there is no such type here.
    """
    try:
        package, *folders, kind = name.split('/')
        return getattr(importlib.import_module('.'.join([package, *(folders or [folder])])), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueTextError(f'there is no type {quote(name)} on this machine') from error


def parsed(text: str) -> Mapping[str, object]:
    """
    Return the values of a message from YAML.

    :param text: a mapping of fields; an empty text for none.
    :raises ValueTextError: it is none.
    """
    try:
        values = yaml.safe_load(text) if text.strip() else {}
    except yaml.YAMLError as error:
        raise ValueTextError(f'the values are no YAML: {" ".join(str(error).split())}') from error
    if not isinstance(values, Mapping):
        raise ValueTextError(f'the values have to be fields in braces, not {quote(text)}')
    return values


def filled(message: Any, values: Mapping[str, object], where: str = '') -> Any:  # noqa: ANN401
    """
    Set fields of a message.

    :param values: by name of the field; nested ones are mappings.
    :raises ValueTextError: there is no such field, or a value is of another type.
    """
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        label = f'{where}{name}'
        if name not in types:
            raise ValueTextError(f'there is no field {label}; valid: {", ".join(types)}')
        try:
            setattr(message, name, _converted(getattr(message, name), value, types[name], label))
        except (AssertionError, TypeError, ValueError, OverflowError) as error:
            raise ValueTextError(f'{label} has to be {types[name]}, not {value!r}') from error
    return message


def _converted(field: Any, value: Any, kind: str, label: str) -> Any:  # noqa: ANN401
    """Return a value as a field takes it, given the field's current value."""
    if hasattr(field, 'get_fields_and_field_types'):
        if not isinstance(value, Mapping):
            raise TypeError
        return filled(field, value, f'{label}.')
    if isinstance(field, (str, bytes, bool)):
        # A text that is no text would be accepted as its own name: 1.0 as '1.0'.
        if not isinstance(value, type(field)):
            raise TypeError
        return value
    if isinstance(field, array.array):
        return array.array(field.typecode, value)
    if isinstance(field, np.ndarray):
        return np.array(value, field.dtype)
    if isinstance(field, Sequence):
        element = _ELEMENT.fullmatch(kind)
        if element is not None and '/' in element[1]:
            made = find_type(element[1], 'msg')
            rows = enumerate(value)
            return [filled(made(), entry, f'{label}[{number}].') for number, entry in rows]
        return list(value)
    if isinstance(value, bool) or not isinstance(value, (int, type(field))):
        raise TypeError  # a number would be cut, or a text be read as one
    return type(field)(value)


def values_of(message: Any) -> object:  # noqa: ANN401 (a message of any type)
    """Return the content of a message in types that YAML can show."""
    if hasattr(message, 'get_fields_and_field_types'):
        names = message.get_fields_and_field_types()
        return {name: values_of(getattr(message, name)) for name in names}
    if isinstance(message, (array.array, np.ndarray)):
        return [values_of(value) for value in message.tolist()]
    if isinstance(message, (list, tuple)):
        return [values_of(value) for value in message]
    return message


def yaml_text(message: Any) -> str:  # noqa: ANN401 (a message of any type)
    """Return a message as YAML."""
    return yaml.dump(values_of(message), sort_keys=False, allow_unicode=True, width=10**6)
