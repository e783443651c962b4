"""Parameters of the viewer."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.server.access_policy import host_name
from ik_service.ros.parameters.parameter_declaration import declare_parameters, ParameterSpec


@dataclass(frozen=True)
class Settings:
    """
    Settings of the viewer.

    :ivar port_search: whether the next free port is taken when this one is in use.
    :ivar rate: update rate of the page [Hz].
    :ivar reach: path of a map of the reach; empty for none.
    :ivar make_reach: whether a map of the reach is made at the first look.
    :ivar robot: the parameters ``urdf``, ``robot_description``, ``xacro_args``,
        ``package_dirs``, ``srdf``, ``robot_description_semantic``, ``base_link`` and
        ``tip_link``.
    """

    host: str
    allowed_hosts: tuple[str, ...]
    port: int
    port_search: bool
    rate: float
    reach: str
    make_reach: bool
    robot: dict[str, str]


HOST = ParameterSpec(
    'host', '127.0.0.1', 'Address of this machine to serve the page at', read_only=True
)
ALLOWED_HOSTS = ParameterSpec(
    'allowed_hosts',
    '',
    'Further names and addresses of this machine that browsers may ask for the page '
    "by, such as 'arm.local, 192.168.1.5'; the page then asks for a token",
    read_only=True,
)
PORT = ParameterSpec('port', 8080, 'TCP port; 0 for any free one', (0, 65535), read_only=True)
PORT_SEARCH = ParameterSpec(
    'port_search',
    True,
    'Whether the next free port is taken when port is in use',
    read_only=True,
)
RATE = ParameterSpec('rate', 30.0, 'Update rate of the page [Hz]', (1.0, 60.0), read_only=True)
REACH = ParameterSpec(
    'reach',
    '',
    'Path of the reach.zarr or reach.npz of ik_study reach, to show; empty: none',
    read_only=True,
)
MAKE_REACH = ParameterSpec(
    'make_reach',
    False,
    'Whether a coarse map of the reach is made, in the background, when a page is first opened',
    read_only=True,
)
ROBOT = (
    ParameterSpec(
        'urdf', '', 'Path of a URDF or xacro file; empty: robot_description', read_only=True
    ),
    ParameterSpec(
        'xacro_args',
        '',
        "Arguments of urdf where it is a xacro file, such as 'ur_type:=ur5e name:=ur'",
        read_only=True,
    ),
    ParameterSpec(
        'package_dirs',
        '',
        "Folders in which more packages lie, for meshes and xacro files, with ':' between them; "
        'empty: those of the IK node',
        read_only=True,
    ),
    ParameterSpec(
        'robot_description',
        '',
        'URDF text; empty: the description that the IK node uses, or else that of the topic',
        read_only=True,
    ),
    ParameterSpec(
        'srdf',
        '',
        'Path of an SRDF or xacro file, whose group states the page offers; empty: '
        'robot_description_semantic',
        read_only=True,
    ),
    ParameterSpec(
        'robot_description_semantic',
        '',
        'SRDF text, or the path of a file; empty: that of the IK node, or else of the topic',
        read_only=True,
    ),
    ParameterSpec(
        'base_link',
        '',
        'Link that targets are relative to; empty: that of the IK node',
        read_only=True,
    ),
    ParameterSpec(
        'tip_link',
        '',
        'Link that follows the target; empty: that of the IK node',
        read_only=True,
    ),
)


def declare_settings(node: Node) -> Settings:
    """
    Declare the parameters of a viewer, and return their values.

    :raises OptionError: a value is invalid.
    """
    values = declare_parameters(
        node, (HOST, ALLOWED_HOSTS, PORT, PORT_SEARCH, RATE, REACH, MAKE_REACH, *ROBOT)
    )
    return Settings(
        host=values[HOST],
        allowed_hosts=parse_hosts(values[ALLOWED_HOSTS]),
        port=values[PORT],
        port_search=values[PORT_SEARCH],
        rate=values[RATE],
        reach=values[REACH],
        make_reach=values[MAKE_REACH],
        robot={spec.name: values[spec] for spec in ROBOT},
    )


def parse_hosts(text: str) -> tuple[str, ...]:
    """
    Parse a list of host names.

    :returns: the names as :func:`~ik_service.extras.viewer.server.access_policy.host_name` does.
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
