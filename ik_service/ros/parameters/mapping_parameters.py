"""
Parameters that hold a mapping of names to fields, such as ``tool_frames``.

The same mapping can be given in two forms, which add up. Nested in a parameter file it is many
parameters, whose names ROS joins by dots::

    tool_frames:
      tcp: {link: panda_link8, xyz: [0.0, 0.0, 0.1]}      # tool_frames.tcp.link, …

Those exist from the start of the node on. As one text parameter, which holds the mapping in YAML,
it can be set as a whole at any time; a name that both give is that of the text, and setting a
field of it changes the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import json
import math
from typing import Literal

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter
import yaml

from ik_service.common.files import file_fault
from ik_service.common.quoting import meant, quote, safe_repr, truncate
from ik_service.exceptions import OptionError
from ik_service.ros.parameters.parameter_services import wrong_type

LONGEST_TEXT = 200_000  # characters of the text of a mapping, at most

_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_DEEPEST = 3  # collections in each other: names, fields, list of numbers

FieldValue = str | float | tuple[float, ...]
Entries = dict[str, dict[str, FieldValue]]
"""Values of the fields that were given, by field, by name."""

_WANTED = {
    'text': Parameter.Type.STRING,
    'number': Parameter.Type.DOUBLE,
    'numbers': Parameter.Type.DOUBLE_ARRAY,
}


@dataclass(frozen=True)
class MappingField:
    """
    Field of the entries of a mapping.

    :ivar kind: its type; a whole number is a number too.
    :ivar description: its meaning, with the unit in brackets.
    :ivar required: whether an entry without it is refused.
    """

    name: str
    kind: Literal['text', 'number', 'numbers']
    description: str = ''
    required: bool = False


@dataclass(frozen=True)
class MappingSpec:
    """Specification of a parameter with a mapping; its name prefixes the nested ones."""

    name: str
    fields: tuple[MappingField, ...]

    def field_of(self, parameter: str) -> MappingField:
        """Return the field that a nested parameter gives; raises OptionError for none."""
        entry, _, name = parameter.removeprefix(f'{self.name}.').rpartition('.')
        if not entry:
            example = f'{self.name}.{name or "name"}.{self.fields[0].name}'
            raise OptionError(truncate(parameter), f'names no field, as {truncate(example)} does')
        return self._field(name, truncate(parameter))

    def holds(self, parameter: str) -> bool:
        """Return whether a parameter is one of the nested ones."""
        return parameter.startswith(f'{self.name}.')

    def read(self, values: Mapping[str, object]) -> Entries:
        """
        Return the mapping that parameters hold.

        :param values: values of parameters by name: the text, the nested ones, and others.
        :raises OptionError: a name or a value cannot be used, or a required field is missing.
        """
        entries: Entries = {}
        for parameter, value in values.items():
            if self.holds(parameter) and value is not None:  # None: it was deleted
                field = self.field_of(parameter)
                entry = parameter.removeprefix(f'{self.name}.').rpartition('.')[0]
                entries.setdefault(entry, {})[field.name] = _value(field, value, parameter)
        entries |= self._of_text(str(values.get(self.name) or ''))
        for entry, fields in entries.items():
            lacking = [f.name for f in self.fields if f.required and f.name not in fields]
            if lacking:
                raise OptionError(self.name, f'{quote(entry)} has no {lacking[0]}')
        return entries

    def changed_text(self, text: str, parameter: str, value: object) -> str | None:
        """
        Return the text of the mapping with one field changed; None where it has no such entry.

        :param parameter: name of the field as a nested parameter.
        :raises OptionError: there is no such field, or the value is of another type.
        """
        entry = parameter.removeprefix(f'{self.name}.').rpartition('.')[0]
        if not self.holds(parameter) or entry not in (entries := self._of_text(text)):
            return None
        field = self.field_of(parameter)
        entries[entry][field.name] = _value(field, value, parameter)
        return json.dumps(entries)

    def _of_text(self, text: str) -> Entries:
        entries: Entries = {}
        for entry, given in _pairs(_loaded(text, self.name), self.name):
            where = f'{self.name}.{truncate(entry)}'
            fields = entries[entry] = {}
            for name, value in _pairs(given, where):
                fields[name] = _value(self._field(name, where), value, f'{where}.{name}')
        return entries

    def _field(self, name: str, where: str) -> MappingField:
        names = [field.name for field in self.fields]
        if name not in names:
            known = f'{", ".join(names)}{meant(name, names)}'
            raise OptionError(where, f'there is no field {quote(name)} among {known}')
        return self.fields[names.index(name)]


def declare_nested(
    node: Node, given: Mapping[str, Parameter], spec: MappingSpec
) -> dict[str, object]:
    """
    Declare the nested parameters of a mapping that the command line and parameter files give.

    :returns: their values by name.
    :raises OptionError: there is no such field.
    """
    values = {}
    for name in filter(spec.holds, given):
        field = spec.field_of(name)
        # Whole numbers are taken for numbers, so ROS must not hold on to the first type.
        descriptor = ParameterDescriptor(
            name=name, description=field.description, dynamic_typing=True
        )
        values[name] = node.declare_parameter(name, descriptor=descriptor).value
        if values[name] is None:  # as ROS reads []
            raise OptionError(truncate(name), wrong_type(_WANTED[field.kind], None))
    return values


def _loaded(text: str, where: str) -> object:
    """Return the content of a YAML text; it may be hostile: aliases make a short text huge."""
    if len(text) > LONGEST_TEXT:
        raise OptionError(where, f'has {len(text)} characters; at most {LONGEST_TEXT} are taken')
    if not text.strip():
        return {}
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.AliasEvent):
                raise OptionError(where, 'must not have aliases, such as *name')
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise OptionError(where, 'has collections in each other beyond the fields')
        _refuse_doubles(yaml.compose(text, Loader=_LOADER), where)
        return yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(where, f'{quote(text)} is {file_fault(error)}') from error


def _refuse_doubles(node: yaml.Node | None, where: str) -> None:
    if not isinstance(node, yaml.MappingNode):
        return
    names = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value in names:
            raise OptionError(where, f'has {quote(key.value)} twice')
        names.add(key.value if isinstance(key, yaml.ScalarNode) else None)
        _refuse_doubles(value, where)


def _pairs(value: object, where: str) -> Iterator[tuple[str, object]]:
    if not isinstance(value, Mapping):
        raise OptionError(where, f'has to be a mapping such as {{a: …}}, not {safe_repr(value)}')
    for name, inner in value.items():
        if not isinstance(name, str) or not name:
            raise OptionError(where, f'{safe_repr(name)} is no name; put it in quotation marks')
        yield name, inner


def _value(field: MappingField, value: object, where: str) -> FieldValue:
    if field.kind == 'text':
        if isinstance(value, str):
            return value
    elif field.kind == 'number':
        number = _number(value)
        if number is not None:
            return number
    elif isinstance(value, (list, tuple, array)):
        numbers = [_number(element) for element in value]
        good = [number for number in numbers if number is not None]
        if len(good) == len(numbers):
            return tuple(good)
    raise OptionError(truncate(where), wrong_type(_WANTED[field.kind], value))


def _number(value: object) -> float | None:
    """Return a finite number; YAML takes 1e-4 for text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
