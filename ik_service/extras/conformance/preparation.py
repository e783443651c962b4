"""Preparation of a run: the server's robot, and a planning group that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from moveit_msgs import srv
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import String

from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.answers import COMPUTE_IK, SUCCESS
from ik_service.extras.conformance.arm import TestedArm
from ik_service.extras.conformance.check import NoAnswerError
from ik_service.extras.conformance.connection import Connection
from ik_service.extras.conformance.subject import Settings, Subject
from ik_service.robot import Robot
from ik_service.ros.common.qos import DESCRIPTION_QOS

_DISCOVERY = 2.0  # time in which a publisher is found, if there is one [s]
URDF, SRDF = 'robot_description', 'robot_description_semantic'


class NoDescriptionError(IkServiceError):
    """No description of the server's robot on the ROS graph."""


@dataclass(frozen=True)
class Descriptions:
    """
    Description of the server's robot.

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


class GroupNeededError(IkServiceError):
    """Server that takes no empty group name, and none of the names that are known."""


@dataclass(frozen=True)
class Choice:
    """
    Choice of the robot and its arm; empty where the graph or the robot says it.

    :ivar urdf: URDF or xacro file.
    :ivar srdf: SRDF or xacro file.
    """

    urdf: Path | None = None
    srdf: Path | None = None
    group: str = ''
    base_link: str = ''
    tip_link: str = ''


def prepare(
    connection: Connection, choice: Choice, settings: Settings, first_patience: float
) -> tuple[Subject, str]:
    """
    Return the server with its robot and arm, and where the description comes from.

    :param first_patience: how long to wait for the first answer [s], as a server may still load
        or compile a solver.
    :raises NoServerError: there is no such service.
    :raises IkServiceError: there is no description, or none that gives an arm.
    """
    connection.wait_for(GetPositionIK, COMPUTE_IK)
    robot, source, partial = _robot(connection, choice)
    arm = TestedArm.of(robot, choice.group, choice.base_link, choice.tip_link)
    subject = Subject(arm, connection, settings, choice.group, partial)
    if not _refuses_group(subject, first_patience) or choice.group:
        return subject, source
    for name in robot.group_names:
        if robot.groups[name].fault:
            continue
        arm = TestedArm.of(robot, name, choice.base_link, choice.tip_link)
        subject = Subject(arm, connection, settings, name, partial)
        if not _refuses_group(subject, first_patience):
            return subject, source
    raise GroupNeededError(
        'the server takes no empty group name; name one of its groups by --group'
        + f', and its SRDF by --srdf (refused: {", ".join(robot.group_names)})'
    )


def _robot(connection: Connection, choice: Choice) -> tuple[Robot, str, bool]:
    """Return the robot, where it comes from, and whether other parts of it may be missing."""
    if choice.urdf is not None:
        return Robot.from_urdf(choice.urdf, srdf=choice.srdf), str(choice.urdf), False
    found = find_descriptions(connection, choice.group)
    robot = Robot.from_urdf_text(found.urdf)
    if choice.srdf is not None:
        robot = robot.with_srdf(choice.srdf)
    elif found.srdf:
        robot = robot.with_srdf_text(found.srdf)
    return robot, found.source, found.partial


def _refuses_group(subject: Subject, patience: float) -> bool:
    """Return whether the server knows no such group; no answer is left to the checks."""
    request, _, _ = subject.ordinary_request('group')
    try:
        answer = subject.ik(request, f'group {subject.group_name!r}', patience)
    except NoAnswerError:
        return False
    return answer.code == Code.INVALID_GROUP_NAME
