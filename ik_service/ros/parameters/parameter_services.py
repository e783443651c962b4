"""
Parameter services of a node, instead of rclpy's.

Every request is answered, whatever it holds: rclpy raises out of the callback for a value of a
type that does not exist, and the client waits for ever. Parameters can be read while a change
waits, if the callback groups are different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
import re

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.callback_groups import CallbackGroup
from rclpy.exceptions import ParameterNotDeclaredException, ParameterUninitializedException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_parameters

from ik_service.common.quoting import meant, quote, truncate
from ik_service.exceptions import OptionError

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
    """Return why a parameter that does not exist is refused, with the nearest name that exists."""
    return f'there is no such parameter{meant(name, names)}'


def wrong_type(wanted: Parameter.Type, value: object) -> str:
    """Return why a value of another type is refused, and how to write it where that is clear."""
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
        return 'nothing or an empty list'
    if not isinstance(value, Sequence):
        return quote(str(value))
    shown = ', '.join(quote(str(element)) for element in value[:_SHOWN])
    return f'the list [{shown}{", …" if len(value) > _SHOWN else ""}]'


def _as_written(wanted: Parameter.Type, value: object) -> str:
    """Return the value in the form that YAML, and so ROS, reads as the wanted type."""
    if wanted is Parameter.Type.DOUBLE:
        return _with_point(value)
    if wanted is Parameter.Type.STRING and isinstance(value, bool):  # y, yes, on or true
        return 'it in quotation marks, such as "\'y\'"'
    if wanted is Parameter.Type.STRING and isinstance(value, (int, float)):
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


MOST = 1000  # parameters that one request may name; more are refused at once

Replace = Callable[[Sequence[Parameter]], Sequence[Parameter]]


class ParameterServices:
    """
    The six parameter services of a node.

    :param node: the node, made with ``start_parameter_services=False``.
    :param reading: callback group of the services that read; by default the node's.
    :param writing: callback group of the services that set; by default the node's.
    :param replace: called with the parameters of each change; returns those to set instead, or
        raises an :class:`~ik_service.exceptions.OptionError`, which refuses the change.
    """

    def __init__(
        self,
        node: Node,
        reading: CallbackGroup | None = None,
        writing: CallbackGroup | None = None,
        replace: Replace = lambda parameters: parameters,
    ) -> None:
        self._node, self._replace = node, replace
        services = (
            (DescribeParameters, 'describe_parameters', self._describe, reading),
            (GetParameters, 'get_parameters', self._get, reading),
            (GetParameterTypes, 'get_parameter_types', self._get_types, reading),
            (ListParameters, 'list_parameters', self._list, reading),
            (SetParameters, 'set_parameters', self._set, writing),
            (SetParametersAtomically, 'set_parameters_atomically', self._set_together, writing),
        )
        for kind, name, callback, group in services:
            node.create_service(
                kind,
                f'{node.get_name()}/{name}',
                callback,
                qos_profile=qos_profile_parameters,
                callback_group=group,
            )

    # As in rclpy, the answer is empty when one of the names is not declared.

    def _describe(
        self, request: DescribeParameters.Request, response: DescribeParameters.Response
    ) -> DescribeParameters.Response:
        if self._known(request.names):
            response.descriptors = self._node.describe_parameters(request.names)
        return response

    def _get(
        self, request: GetParameters.Request, response: GetParameters.Response
    ) -> GetParameters.Response:
        if self._known(request.names):
            with suppress(ParameterUninitializedException):
                parameters = self._node.get_parameters(request.names)
                response.values = [parameter.get_parameter_value() for parameter in parameters]
        return response

    def _get_types(
        self, request: GetParameterTypes.Request, response: GetParameterTypes.Response
    ) -> GetParameterTypes.Response:
        if self._known(request.names):
            types = self._node.get_parameter_types(request.names)
            response.types = [getattr(kind, 'value', kind) for kind in types]
        return response

    def _list(
        self, request: ListParameters.Request, response: ListParameters.Response
    ) -> ListParameters.Response:
        if len(request.prefixes) <= MOST:
            with suppress(TypeError, ValueError):  # a depth that is none
                response.result = self._node.list_parameters(request.prefixes, request.depth)
        return response

    def _set(
        self, request: SetParameters.Request, response: SetParameters.Response
    ) -> SetParameters.Response:
        messages = request.parameters
        if len(messages) > MOST:
            response.results = [_too_many(messages)] * len(messages)
        else:
            response.results = [self._put([message]) for message in messages]
        return response

    def _set_together(
        self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        messages = request.parameters
        response.result = _too_many(messages) if len(messages) > MOST else self._put(messages)
        return response

    def _known(self, names: Sequence[str]) -> bool:
        return len(names) <= MOST and all(self._node.has_parameter(name) for name in names)

    def _put(self, messages: Sequence[ParameterMessage]) -> SetParametersResult:
        """Set parameters, all or none; whatever is wrong with them, there is a result."""
        try:
            parameters = self._replace([_parameter(message) for message in messages])
            for parameter in parameters:
                self._check(parameter)
            result = self._node.set_parameters_atomically([*parameters])
        except OptionError as error:
            return _refused(str(error))
        except ParameterNotDeclaredException as error:  # undeclared in the meantime
            return _refused(truncate(str(error)))
        except Exception as error:
            return _refused(f'error in the node: {type(error).__name__}: {truncate(str(error))}')
        return result

    def _check(self, parameter: Parameter) -> None:
        """Refuse, by an OptionError, a parameter that is unknown or of another type."""
        name = parameter.name
        if not self._node.has_parameter(name):
            names = self._node.list_parameters([], 0).names
            raise OptionError(truncate(name) or "''", no_such_parameter(name, names))
        descriptor = self._node.describe_parameter(name)
        wanted = Parameter.Type(descriptor.type)
        if not (descriptor.read_only or descriptor.dynamic_typing or parameter.type_ is wanted):
            raise OptionError(name, wrong_type(wanted, parameter.value))


def _parameter(message: ParameterMessage) -> Parameter:
    try:
        return Parameter.from_parameter_msg(message)
    except (TypeError, ValueError) as error:
        reason = f'type {message.value.type} is none that a parameter can have'
        raise OptionError(truncate(message.name) or "''", reason) from error


def _too_many(messages: Sequence[ParameterMessage]) -> SetParametersResult:
    return _refused(f'{len(messages)} parameters in one request; at most {MOST} are taken')


def _refused(reason: str) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=reason)
