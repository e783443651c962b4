"""The parameters of another node, read and set through its services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent, ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

from ik_service.viewer.panel.parameter_fields import choices_of, Field, Kind, Value

_KINDS = {
    ParameterType.PARAMETER_BOOL: Kind.SWITCH,
    ParameterType.PARAMETER_INTEGER: Kind.WHOLE,
    ParameterType.PARAMETER_DOUBLE: Kind.NUMBER,
    ParameterType.PARAMETER_STRING: Kind.TEXT,
    ParameterType.PARAMETER_DOUBLE_ARRAY: Kind.NUMBERS,
}

OnFields = Callable[[list[Field]], object]
OnValues = Callable[[Mapping[str, Value]], object]
OnResult = Callable[[Mapping[str, Value], str], object]


class RemoteParameters:
    """
    The parameters of one node. All callbacks are called in the thread that spins.

    :param node: the own node.
    :param remote: full name of the other one.
    """

    def __init__(self, node: Node, remote: str) -> None:
        self.remote = remote
        self._client = AsyncParameterClient(node, remote)

    def is_ready(self) -> bool:
        """Whether the other node can be asked."""
        return self._client.services_are_ready()

    def read(
        self, names: Sequence[str], prefix: str, on_fields: OnFields, on_values: OnValues
    ) -> None:
        """
        Ask for parameters.

        :param names: those that are wanted; the node need not have them.
        :param prefix: all parameters below it are wanted as well.
        :param on_fields: called with those that people may change.
        :param on_values: called with all that were read.
        """

        def on_list(future: Future) -> None:
            listed = _answer(future)
            there = listed.result.names if listed else []
            found = [n for n in there if n in names or n.startswith(f'{prefix}.')]
            if found:
                self._describe(found, on_fields, on_values)

        self._client.list_parameters(callback=on_list)

    def set(self, values: Mapping[str, Value], on_result: OnResult) -> None:
        """
        Set parameters.

        :param on_result: called with the parameters, and why the node refuses them; that is empty
            when it has taken them.
        """

        def on_set(future: Future) -> None:
            answer = _answer(future)
            results = answer.results if answer else []
            refusals = [result.reason for result in results if not result.successful]
            if not answer:
                refusals = ['the node did not answer']
            on_result(values, '; '.join(refusals))

        parameters = [
            Parameter(name, value=list(value) if isinstance(value, tuple) else value)
            for name, value in values.items()
        ]
        self._client.set_parameters(parameters, callback=on_set)

    def _describe(self, names: list[str], on_fields: OnFields, on_values: OnValues) -> None:
        def on_described(future: Future) -> None:
            described = _answer(future)
            if described:
                self._client.get_parameters(names, lambda f: on_read(f, described.descriptors))

        def on_read(future: Future, descriptors: list[ParameterDescriptor]) -> None:
            answer = _answer(future)
            if answer:
                values = [_plain(parameter_value_to_python(value)) for value in answer.values]
                on_values(dict(zip(names, values, strict=True)))
                on_fields([*_fields(descriptors, values)])

        self._client.describe_parameters(names, on_described)


def changed_values(event: ParameterEvent) -> dict[str, Value]:
    """Return the parameters that an event says have changed."""
    return {
        parameter.name: _plain(parameter_value_to_python(parameter.value))
        for parameter in event.changed_parameters
    }


def _answer(future: Future) -> object | None:
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
            choices_of(descriptor.additional_constraints),
        )
        for descriptor, value in zip(descriptors, values, strict=True)
        if descriptor.type in _KINDS and not descriptor.read_only
    ]


def _bounds(descriptor: ParameterDescriptor) -> tuple[float, float] | None:
    for bounds in (*descriptor.floating_point_range, *descriptor.integer_range):
        return bounds.from_value, bounds.to_value
    return None


def _plain(value: object) -> Value:
    return tuple(value) if isinstance(value, (list, tuple)) or hasattr(value, 'tolist') else value
