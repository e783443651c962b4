"""Declaration of a node's parameters from a table of specifications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, Generic, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.common.quoting import listed, quote, truncate
from ik_service.common.shared_parameters import files_for_others, given_to_all_nodes
from ik_service.exceptions import OptionError
from ik_service.ros.parameters.mapping_parameters import declare_nested, MappingSpec
from ik_service.ros.parameters.parameter_services import no_such_parameter, wrong_type

Value = bool | int | float | str | list[float] | list[str]
T = TypeVar('T', bound=Value)

_OF_ROS = tuple(f'qos_overrides./{topic}' for topic in ('clock', 'parameter_events', 'tf'))
"""Prefixes of parameters that code of ROS in the node may declare later."""

_KINDS = {
    bool: 'true or false',
    int: 'a whole number',
    float: 'a number with a decimal point (ROS takes 1.0, not 1)',
    str: 'text',
    list: 'a list',
}

# ROS has no field for choices: they lead the additional constraints, up to a semicolon.
_CHOICES = 'one of '


@dataclass(frozen=True)
class ParameterSpec(Generic[T]):
    """
    Specification of a parameter.

    :ivar default: its default; the type is that of the parameter.
    :ivar description: its meaning, with the unit in brackets.
    :ivar bounds: its lowest and highest value.
    :ivar choices: its valid values, for text.
    :ivar read_only: whether it is fixed when the node starts.
    :ivar field: the field of the settings that it stands for.
    :ivar none: the value that stands for None in that field, "the method's own default".
    :ivar numbers: whether its text is a list of numbers, such as ``'0.1, -2'``.
    """

    name: str
    default: T
    description: str
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False
    field: str = ''
    none: object = None
    numbers: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Return the description that ROS shows and enforces."""
        descriptor = ParameterDescriptor(
            name=self.name, description=self.description, read_only=self.read_only
        )
        named = ', '.join(filter(None, self.choices))
        constraints = [f'{_CHOICES}{named}'] if self.choices else [_KINDS[type(self.default)]]
        if self.none is not None:
            constraints.append(f"{self.none!r} for the method's own default")
        descriptor.additional_constraints = '; '.join(constraints)
        if self.bounds and isinstance(self.default, float):
            low, high = self.bounds
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        elif self.bounds:
            low, high = self.bounds
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
        return descriptor

    def check(self, value: object) -> None:
        """Check a value against the choices; ROS enforces types and the ranges of numbers."""
        if self.choices and value not in self.choices:
            choices = ', '.join(choice or "''" for choice in self.choices)
            raise OptionError(self.name, f'has to be one of {choices}, not {quote(str(value))}')


class ParameterValues:
    """Values of parameters, looked up by their specification."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def __getitem__(self, spec: ParameterSpec[T]) -> T:
        return cast(T, self._values[spec.name])  # ROS enforces the type of the default

    @property
    def by_name(self) -> Mapping[str, object]:
        """The values by name, those of nested parameters among them."""
        return self._values

    def replaced(self, changed: Mapping[str, object]) -> ParameterValues:
        """Return the values with some of them changed."""
        return ParameterValues({**self._values, **changed})


def of_field(
    description: str,
    bounds: tuple[float, float] | None = None,
    name: str = '',
    default: Any = None,  # noqa: ANN401 - of any type
    **rest: Any,  # noqa: ANN401
) -> ParameterSpec[Any]:
    """Return the specification for a field of settings, whose name and default it has as well."""
    return ParameterSpec(name, default, description, bounds, **rest)


def after_fields(
    settings: type, specs: Mapping[str, ParameterSpec], prefix: str = ''
) -> tuple[ParameterSpec, ...]:
    """Return specifications, each with name and default of its field unless it has its own."""
    return tuple(
        replace(
            spec,
            name=spec.name or f'{prefix}{field}',
            default=_default(getattr(settings, field), spec),
            field=field,
        )
        for field, spec in specs.items()
    )


def _default(value: object, spec: ParameterSpec) -> object:
    """Return the default of a parameter whose field has a value by default."""
    if spec.default is not None:
        return spec.default
    return spec.none if value is None else [*value] if isinstance(value, tuple) else value


def choices_of(descriptor: ParameterDescriptor) -> tuple[str, ...]:
    """Return the choices of a parameter, but an empty one, from the text of its descriptor."""
    constraints = descriptor.additional_constraints
    if not constraints.startswith(_CHOICES):
        return ()
    listed = constraints.removeprefix(_CHOICES).partition(';')[0]
    return tuple(choice.strip() for choice in listed.split(','))


def declare_parameters(
    node: Node, specs: Iterable[ParameterSpec], mappings: Iterable[MappingSpec] = ()
) -> ParameterValues:
    """
    Declare all parameters of a node.

    :param specs: the specifications of all that it has, the texts of mappings among them.
    :returns: the values: defaults, or from the command line and parameter files.
    :raises OptionError: a parameter is given a value that it cannot have, or one is given that
        the node does not have; the message names the nearest that there is. One that is given
        to all nodes is only logged: it may be of another.
    """
    values = {spec.name: _declare(node, spec) for spec in specs}
    for mapping in mappings:
        values |= declare_nested(node, _given(node), mapping)
    _refuse_unknown(node)
    return ParameterValues(values)


def warn_of_files_for_others(node: Node) -> None:
    """Log which parameter files on the command line have nothing for a node."""
    name = node.get_fully_qualified_name()
    for file, others in files_for_others(name):
        node.get_logger().warning(
            f'the parameter file {file} has no parameters for {name}, only for {", ".join(others)}'
        )


def _declare(node: Node, spec: ParameterSpec) -> object:
    wanted = Parameter.Type.from_parameter_value(spec.default)
    given = _given(node)
    unset = spec.name in given and given[spec.name].value is None  # as ROS reads []
    if unset and not isinstance(spec.default, list):
        raise OptionError(spec.name, wrong_type(wanted, None))
    try:
        descriptor = spec.descriptor()
        value = node.declare_parameter(spec.name, spec.default, descriptor, unset).value
        spec.check(value)
        return value
    except InvalidParameterTypeException as error:
        raise OptionError(spec.name, wrong_type(wanted, given[spec.name].value)) from error
    except InvalidParameterValueException as error:  # out of the range
        if spec.bounds is None:
            raise
        (low, high), value = spec.bounds, given[spec.name].value
        reason = f'has to be from {low:.9g} to {high:.9g}, not {value:.9g}'
        raise OptionError(spec.name, reason) from error


def _refuse_unknown(node: Node) -> None:
    declared = node.list_parameters([], 0).names
    unknown = [n for n in _given(node) if n not in declared and not n.startswith(_OF_ROS)]
    shared = given_to_all_nodes() if unknown else ()
    refused = sorted(name for name in unknown if name not in shared)
    if refused:
        others = f'; nor are there {listed(refused[1:])}' if refused[1:] else ''
        reason = no_such_parameter(refused[0], declared)
        raise OptionError(truncate(refused[0]), f'{reason}{others}')
    for name in unknown:
        node.get_logger().warning(
            f'{truncate(name)}, which is given to all nodes, is ignored: '
            f'{no_such_parameter(name, declared)}'
        )


def _given(node: Node) -> dict[str, Parameter]:
    # rclpy offers no public access to them.
    return getattr(node, '_parameter_overrides', {})
