"""Parameters of another node: as fields of a form, read and set through its services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
import math
import re
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent, ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

from ik_service.common.quoting import quote
from ik_service.exceptions import OptionError
from ik_service.ros.parameters.parameter_declaration import choices_of

Value = bool | int | float | str | tuple[float, ...]


class Kind(Enum):
    """Type of a field's value."""

    BOOL = 'true or false'
    INTEGER = 'a whole number of 64 bits'
    NUMBER = 'a number'
    TEXT = 'text'
    NUMBERS = 'numbers, separated by commas'


_UNITS = {
    'position_tolerance': 'm',
    'orientation_tolerance': 'rad',
    'timeout': 's',
    'max_joint_motion': 'rad or m',
    'perturbation': 'rad or m',
    'element_displacements': 'm and rad',
    'characteristic_length': 'm',
    'preferred_posture': 'rad or m',
}
"""Units of the solver's options; the others have none."""


@dataclass(frozen=True)
class Field:
    """Parameter as a field, with bounds of a number and valid texts, empty for any."""

    name: str
    kind: Kind
    value: Value
    description: str = ''
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name without the prefix, with spaces, and its unit where it has one."""
        name = self.name.rpartition('.')[2]
        unit = _UNITS.get(name, '')
        return name.replace('_', ' ') + (f' [{unit}]' if unit else '')

    @property
    def text(self) -> str:
        """Value as text."""
        if isinstance(self.value, tuple):
            return ', '.join(f'{number:g}' for number in self.value)
        return f'{self.value:g}' if isinstance(self.value, float) else str(self.value)

    def parse(self, text: str) -> Value:
        """Value that a typed text stands for; OptionError if none. The node checks its bounds."""
        try:
            if self.kind is Kind.INTEGER:
                return int(np.int64(int(text)))
            if self.kind is Kind.NUMBER:
                return _finite(text)
            if self.kind is Kind.NUMBERS:
                words = re.split(r'[,\s]+', text.strip('[]() '))
                return tuple(_finite(word) for word in words if word)
        except (ValueError, OverflowError) as error:
            reason = f'has to be {self.kind.value}, not {quote(text)}'
            raise OptionError(self.name, reason) from error
        return text.strip()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_KINDS = {
    ParameterType.PARAMETER_BOOL: Kind.BOOL,
    ParameterType.PARAMETER_INTEGER: Kind.INTEGER,
    ParameterType.PARAMETER_DOUBLE: Kind.NUMBER,
    ParameterType.PARAMETER_STRING: Kind.TEXT,
    ParameterType.PARAMETER_DOUBLE_ARRAY: Kind.NUMBERS,
}

OnFields = Callable[[list[Field]], object]
OnValues = Callable[[Mapping[str, Value]], object]
OnResult = Callable[[Mapping[str, Value], str], object]


class RemoteParameters:
    """Parameters of one node. All callbacks are called in the thread that spins."""

    def __init__(self, node: Node, remote: str) -> None:
        self._client = AsyncParameterClient(node, remote)

    def is_ready(self) -> bool:
        """Whether the parameter services of the other node are on the graph."""
        return self._client.services_are_ready()

    def read(
        self,
        names: Sequence[str],
        prefixes: tuple[str, ...],
        on_fields: OnFields,
        on_values: OnValues,
    ) -> None:
        """Request parameters with their descriptions."""

        def on_list(future: Future) -> None:
            listed = response_of(future)
            found = [
                name
                for name in (listed.result.names if listed else [])
                if name in names or name.startswith(prefixes)
            ]
            if found:
                self._describe(found, on_fields, on_values)

        self._client.list_parameters(callback=on_list)

    def set(self, values: Mapping[str, Value], on_result: OnResult) -> None:
        """Set parameters; ``on_result`` takes them and the node's refusal, empty for none."""

        def on_set(future: Future) -> None:
            response = response_of(future)
            if response is None:
                on_result(values, 'the node did not answer')
                return
            refusals = [result.reason for result in response.results if not result.successful]
            on_result(values, '; '.join(refusals))

        parameters = [
            Parameter(name, value=list(value) if isinstance(value, tuple) else value)
            for name, value in values.items()
        ]
        self._client.set_parameters(parameters, callback=on_set)

    def _describe(self, names: list[str], on_fields: OnFields, on_values: OnValues) -> None:
        def on_described(future: Future) -> None:
            described = response_of(future)
            if described:
                self._client.get_parameters(names, lambda f: on_read(f, described.descriptors))

        def on_read(future: Future, descriptors: list[ParameterDescriptor]) -> None:
            response = response_of(future)
            if response and len(names) == len(response.values) == len(descriptors):
                values = [_plain(parameter_value_to_python(value)) for value in response.values]
                on_values(dict(zip(names, values, strict=True)))
                on_fields([*_fields(descriptors, values)])

        self._client.describe_parameters(names, on_described)


def changed_values(event: ParameterEvent) -> dict[str, Value]:
    """Return the parameters that an event reports as changed."""
    return {
        parameter.name: _plain(parameter_value_to_python(parameter.value))
        for parameter in event.changed_parameters
    }


def response_of(future: Future) -> Any | None:  # noqa: ANN401 (a message of any service or action)
    """Return the response of a call; None when it failed."""
    return None if future.cancelled() or future.exception() else future.result()


def _fields(descriptors: list[ParameterDescriptor], values: list[Value]) -> list[Field]:
    return [
        Field(
            descriptor.name,
            _KINDS[descriptor.type],
            value,
            descriptor.description,
            _bounds(descriptor),
            choices_of(descriptor),
        )
        for descriptor, value in zip(descriptors, values, strict=True)
        if descriptor.type in _KINDS and not descriptor.read_only
    ]


def _bounds(descriptor: ParameterDescriptor) -> tuple[float, float] | None:
    for bounds in (*descriptor.floating_point_range, *descriptor.integer_range):
        return bounds.from_value, bounds.to_value
    return None


def _plain(value: Any) -> Value:  # noqa: ANN401 (a list or an array for arrays)
    return tuple(value) if isinstance(value, (list, tuple)) or hasattr(value, 'tolist') else value
