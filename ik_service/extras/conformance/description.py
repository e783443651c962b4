"""Description of the server's robot, from the ROS graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from moveit_msgs import srv
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import String

from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.check import NoAnswerError
from ik_service.extras.conformance.connection import Connection
from ik_service.extras.conformance.names import COMPUTE_IK, SUCCESS
from ik_service.ros.common.qos import DESCRIPTION_QOS

_DISCOVERY = 2.0  # time in which a publisher is found, if there is one [s]
URDF, SRDF = 'robot_description', 'robot_description_semantic'


class NoDescriptionError(IkServiceError):
    """No description of the server's robot on the ROS graph."""


@dataclass(frozen=True)
class Descriptions:
    """
    Description of the server's robot.

    :ivar urdf: URDF text.
    :ivar srdf: SRDF text; empty where there is none.
    :ivar source: where the URDF comes from, in words.
    :ivar partial: whether the URDF may be of one planning group only.
    """

    urdf: str
    srdf: str
    source: str
    partial: bool = False


def find_descriptions(connection: Connection, group: str) -> Descriptions:
    """
    Return the description of the server's robot.

    Its parameters are asked first, as MoveIt's ``move_group`` has both, then ``get_urdf``, then
    the topic, which several robots may share; ``get_urdf`` of a group, which is all that MoveIt's
    knows, is the last.

    :param connection: connection to the server.
    :param group: planning group, which MoveIt's ``get_urdf`` needs.
    :raises NoDescriptionError: there is none.
    """
    servers = connection.servers_of(COMPUTE_IK)
    sources = {
        f'parameter {URDF} of the server': lambda: _from_parameters(connection, servers, URDF),
        'service get_urdf': lambda: _from_service(connection, ''),
        f'topic {URDF}': lambda: _from_topic(connection, URDF, connection.patience),
        f'service get_urdf, group {group}': lambda: _from_service(connection, group),
    }
    for source, find in sources.items():
        urdf = find()
        if urdf:
            srdf = _from_parameters(connection, servers, SRDF) or _from_topic(
                connection, SRDF, _DISCOVERY
            )
            return Descriptions(urdf, srdf, source, partial='group' in source)
    raise NoDescriptionError(
        f'neither parameter nor topic {URDF} nor get_urdf describes the robot of the server; '
        'name its file by --urdf'
    )


def _from_parameters(connection: Connection, servers: Sequence[str], name: str) -> str:
    """Return the XML text that a parameter of the servers holds; empty where none does."""
    for server in servers:
        service = f'{server}/get_parameters'
        request = GetParameters.Request(names=[name])
        if not connection.waited_for(partial(connection.offers, GetParameters, service)):
            continue
        try:
            answer, _ = connection.ask(GetParameters, service, request, f'parameter {name}')
        except NoAnswerError:
            continue
        values = [parameter_value_to_python(value) for value in answer.values]
        for value in values:
            if isinstance(value, str) and '<' in value:
                return value
    return ''


def _from_service(connection: Connection, group: str) -> str:
    kind = getattr(srv, 'GetGroupUrdf', None)  # other builds of moveit_msgs may lack it
    if kind is None or not connection.offers(kind, 'get_urdf'):
        return ''
    try:
        answer, _ = connection.ask(kind, 'get_urdf', kind.Request(group_name=group), 'the URDF')
    except NoAnswerError:
        return ''
    return str(answer.urdf_string) if answer.error_code.val == SUCCESS else ''


def _from_topic(connection: Connection, topic: str, patience: float) -> str:
    """Return the last text of a latched topic; empty where nobody publishes one in time."""
    texts: list[str] = []
    node = connection.node

    def take(message: String) -> None:
        texts.append(message.data)

    subscription = node.create_subscription(String, topic, take, DESCRIPTION_QOS)
    try:
        found = connection.waited_for(lambda: bool(texts), patience)
        if not found and subscription.get_publisher_count():
            connection.waited_for(lambda: bool(texts))
    finally:
        node.destroy_subscription(subscription)
    return texts[-1] if texts else ''
