"""Preparation of a run: the server's robot, and a planning group that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK

from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.arm import TestedArm
from ik_service.extras.conformance.check import NoAnswerError
from ik_service.extras.conformance.connection import Connection
from ik_service.extras.conformance.description import find_descriptions
from ik_service.extras.conformance.names import COMPUTE_IK
from ik_service.extras.conformance.subject import Settings, Subject
from ik_service.robot import Robot


class GroupNeededError(IkServiceError):
    """Server that takes no empty group name, and none of the names that are known."""


@dataclass(frozen=True)
class Choice:
    """
    Choice of the robot and its arm; empty where the graph or the robot says it.

    :ivar urdf: URDF or xacro file.
    :ivar srdf: SRDF or xacro file.
    :ivar group: planning group.
    :ivar base_link: base of the arm.
    :ivar tip_link: its tip.
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

    :param connection: connection to the server.
    :param choice: the robot and its arm.
    :param settings: settings of the run.
    :param first_patience: how long to wait for the first answer [s], as a server may still load
        or compile a solver.
    :raises NoServerError: there is no such service.
    :raises IkServiceError: there is no description, or none that leads to an arm.
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
