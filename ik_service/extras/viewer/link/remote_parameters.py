"""Parameters of another node, read and set through its services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent, ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

from ik_service.extras.viewer.panel.parameter_fields import Field, Kind, Value
from ik_service.ros.parameters.parameter_declaration import choices_of

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
    """
    Parameters of one node. All callbacks are called in the thread that spins.

    :param node: the own node.
    :param remote: full name of the other one.
    """

    def __init__(self, node: Node, remote: str) -> None:
        self.remote = remote
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
        """
        Request parameters with their descriptions.

        :param names: the names; the node need not have them.
        :param prefixes: prefixes of further parameters, with their dots.
        :param on_fields: called with the parameters that can be changed.
        :param on_values: called with all parameters that were read.
        """

        def on_list(future: Future) -> None:
            listed = _response(future)
            found = [
                name
                for name in (listed.result.names if listed else [])
                if name in names or name.startswith(prefixes)
            ]
            if found:
                self._describe(found, on_fields, on_values)

        self._client.list_parameters(callback=on_list)

    def set(self, values: Mapping[str, Value], on_result: OnResult) -> None:
        """
        Set parameters.

        :param values: the values by name.
        :param on_result: called with the values, and why the node refuses them; empty when it has
            taken them.
        """

        def on_set(future: Future) -> None:
            response = _response(future)
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
            described = _response(future)
            if described:
                self._client.get_parameters(names, lambda f: on_read(f, described.descriptors))

        def on_read(future: Future, descriptors: list[ParameterDescriptor]) -> None:
            response = _response(future)
            if response:
                values = [_plain(parameter_value_to_python(value)) for value in response.values]
                on_values(dict(zip(names, values, strict=True)))
                on_fields([*_fields(descriptors, values)])

        self._client.describe_parameters(names, on_described)


def changed_values(event: ParameterEvent) -> dict[str, Value]:
    """
    Return the parameters that an event reports as changed.

    :param event: an event of any node.
    """
    return {
        parameter.name: _plain(parameter_value_to_python(parameter.value))
        for parameter in event.changed_parameters
    }


def _response(future: Future) -> Any | None:  # noqa: ANN401 (a message of any service)
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
