"""Declaring a parameter with its meaning and its range, and an error that says what is right."""

from __future__ import annotations

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.exceptions import OptionError
from ik_service.ros.common.parameter_names import given
from ik_service.ros.common.parameter_values import wrong_type

Value = bool | str | float | int
Bounds = tuple[float, float] | tuple[int, int]

_KINDS = {
    bool: 'true or false',
    str: 'text',
    float: 'a number with a decimal point',
    int: 'a whole number',
}


def declare(
    node: Node,
    name: str,
    default: Value,
    meaning: str,
    bounds: Bounds | None = None,
    choices: tuple[str, ...] = (),
    read_only: bool = True,
) -> Value:
    """
    Declare a parameter, and return its value.

    :param node: the node that gets it.
    :param name: its name.
    :param default: its default; the type is that of the parameter.
    :param meaning: what it means, with the unit in brackets.
    :param bounds: its lowest and highest value.
    :param choices: its valid values, to be told; they are not enforced here.
    :param read_only: whether it is fixed when the node starts.
    :raises OptionError: it was given a value of another type, or out of range.
    """
    kind = _KINDS[type(default)]
    descriptor = ParameterDescriptor(description=meaning, read_only=read_only)
    descriptor.additional_constraints = f'one of {", ".join(choices)}' if choices else kind
    if bounds is not None:
        low, high = bounds
        if isinstance(default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        else:
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
    try:
        return node.declare_parameter(name, default, descriptor).value
    except InvalidParameterTypeException as error:
        wanted = Parameter.Type.from_parameter_value(default)
        raise OptionError(name, wrong_type(wanted, given(node)[name].value)) from error
    except InvalidParameterValueException as error:
        raise OptionError(name, str(error)) from error
