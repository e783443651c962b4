"""Parameters of the viewer."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from ik_service.exceptions import OptionError
from ik_service.ros.common.declare import declare
from ik_service.ros.common.parameter_names import refuse_unknown
from ik_service.viewer.server.access_policy import host_name


@dataclass(frozen=True)
class Settings:
    """
    Settings of the viewer.

    :ivar host: address to serve the page at.
    :ivar allowed_hosts: further host names that it is served under.
    :ivar port: TCP port.
    :ivar port_search: whether the next free port is taken when this one is in use.
    :ivar rate: update rate of the page [Hz].
    :ivar reach: path of a file of ``ik_study reach``; empty for none.
    :ivar robot: the parameters ``urdf``, ``robot_description``, ``base_link`` and ``tip_link``.
    """

    host: str
    allowed_hosts: tuple[str, ...]
    port: int
    port_search: bool
    rate: float
    reach: str
    robot: dict[str, str]


def declare_settings(node: Node) -> Settings:
    """
    Declare the parameters of a viewer, and return their values.

    :param node: the node.
    :raises OptionError: a value is invalid.
    """
    robot = {
        'urdf': 'Path of the URDF file; empty: robot_description',
        'robot_description': 'The URDF as text; empty: what the IK node has, or else the topic',
        'base_link': 'Link that targets are relative to; empty: that of the IK node',
        'tip_link': 'Link that follows the target; empty: that of the IK node',
    }
    settings = Settings(
        host=declare(node, 'host', '127.0.0.1', 'Address of this machine to serve the page at'),
        allowed_hosts=parse_hosts(
            declare(
                node,
                'allowed_hosts',
                '',
                'Further names and addresses of this machine that browsers may ask for the page '
                "by, such as 'arm.local, 192.168.1.5'; the page then asks for a token",
            )
        ),
        port=declare(node, 'port', 8080, 'TCP port; 0 for any free one', (0, 65535)),
        port_search=declare(
            node, 'port_search', True, 'Whether the next free port is taken when port is in use'
        ),
        rate=declare(node, 'rate', 30.0, 'Pictures a second [Hz]', (1.0, 60.0)),
        reach=declare(
            node, 'reach', '', 'Path of the reach.npz of ik_study reach, to show; empty: none'
        ),
        robot={name: declare(node, name, '', text) for name, text in robot.items()},
    )
    refuse_unknown(node)
    return settings


def parse_hosts(text: str) -> tuple[str, ...]:
    """
    Parse a list of host names.

    :param text: the names, separated by commas.
    :returns: the names in the form of :func:`~ik_service.viewer.server.access_policy.host_name`.
    :raises OptionError: one is no host name.
    """
    names = [name.strip() for name in text.split(',') if name.strip()]
    for name in names:
        if not host_name(name):
            raise OptionError(
                'allowed_hosts',
                f'{name[:80]!r} is no host: names and addresses without scheme and port are '
                "needed, separated by commas, such as 'arm.local, 192.168.1.5'",
            )
    return tuple(host_name(name) for name in names)
