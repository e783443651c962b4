"""The parameters of the viewer."""

from __future__ import annotations

from dataclasses import dataclass

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from ik_service.exceptions import OptionError

_KINDS = {bool: 'true or false', int: 'a whole number', str: 'text'}


@dataclass(frozen=True)
class Settings:
    """
    What a viewer is told at its start.

    :ivar host: address to serve the page at.
    :ivar port: TCP port.
    :ivar port_search: whether the next free port will do.
    :ivar rate: how often the picture changes [Hz].
    :ivar reach: path of a file of ``ik_study reach``; empty for none.
    :ivar robot: the parameters ``urdf``, ``robot_description``, ``base_link`` and ``tip_link``.
    """

    host: str
    port: int
    port_search: bool
    rate: float
    reach: str
    robot: dict[str, str]


def declare_settings(node: Node) -> Settings:
    """
    Declare the parameters of a viewer, and return their values.

    :raises OptionError: one has a value that it cannot have.
    """
    robot = {
        'urdf': 'Path of the URDF file; empty: robot_description',
        'robot_description': 'The URDF as text; empty: what the IK node has, or else the topic',
        'base_link': 'Link that targets are relative to; empty: that of the IK node',
        'tip_link': 'Link that follows the target; empty: that of the IK node',
    }
    return Settings(
        host=_declare(node, 'host', '127.0.0.1', 'Address of this machine to serve the page at'),
        port=_declare(node, 'port', 8080, 'TCP port; 0 for any free one', (0, 65535)),
        port_search=_declare(
            node, 'port_search', True, 'Whether the next free port is taken when port is in use'
        ),
        rate=_declare(node, 'rate', 30.0, 'Pictures a second [Hz]', (1.0, 60.0)),
        reach=_declare(
            node, 'reach', '', 'Path of the reach.npz of ik_study reach, to show; empty: none'
        ),
        robot={name: _declare(node, name, '', text) for name, text in robot.items()},
    )


def _declare(
    node: Node,
    name: str,
    default: object,
    description: str,
    bounds: tuple[float, float] | None = None,
) -> object:
    descriptor = ParameterDescriptor(description=description, read_only=True)
    if isinstance(default, float) and bounds:
        low, high = bounds
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    elif bounds:
        low, high = bounds
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
    try:
        return node.declare_parameter(name, default, descriptor).value
    except InvalidParameterTypeException as error:
        wanted = _KINDS.get(type(default), 'a number with a decimal point')
        raise OptionError(name, f'has to be {wanted}; {error}') from error
    except InvalidParameterValueException as error:
        raise OptionError(name, str(error)) from error
