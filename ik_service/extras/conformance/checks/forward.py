"""Checks of ``compute_fk``."""

from __future__ import annotations

from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionFK
import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    offset,
    require_error,
    require_success,
)
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.subject import Subject
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import RequestError

FORWARD = Section('forward kinematics')
_POSTURES, _MOST_LINKS = 10, 200  # that are compared
_DISTANCE, _ANGLE = 1e-5, 1e-5  # by which poses may differ [m], [rad]
_MISSING = 'there_is_no_such_link'


@FORWARD.check('GetPositionFK')
def _fk_links(subject: Subject) -> str:
    """The poses of all links at random postures are those of the URDF."""
    links = subject.arm.described(subject.arm.robot.links)[:_MOST_LINKS]
    worst = (0.0, 0.0)
    for posture in subject.postures(_POSTURES, 'fk'):
        asked = f'the poses of all {len(links)} links at a random posture'
        found = answered_poses(subject.fk(links, posture, asked), links, asked)
        expected = subject.links_at(posture)
        for link in links:
            distance, angle = offset(found[link], expected[link])
            if distance > _DISTANCE or angle > _ANGLE:
                raise CheckFailedError(
                    asked,
                    f'{link} {distance * 1e3:.4g} mm and {angle:.4g} rad away',
                    f'{link} where the URDF puts it, within {_DISTANCE * 1e3:g} mm, '
                    f'{_ANGLE:g} rad',
                )
            worst = max(worst[0], distance), max(worst[1], angle)
    return f'{len(links)} links, {_POSTURES} postures, worst {worst[0] * 1e3:.1g} mm'


@FORWARD.check("MoveIt's server: header.frame_id")
def _fk_frame(subject: Subject) -> str:
    """The pose of the tip in the frame of a link that moves is relative to that link."""
    between = subject.arm.links_between()
    frame = between[0] if between else subject.arm.base_link
    link = subject.arm.tips[0]
    asked = f'the present poses of {link} and {frame}, then that of {link} in the frame {frame}'
    at = answered_poses(subject.fk([link, frame], None, asked), [link, frame], asked)
    answer = subject.fk([link], None, asked, frame)
    found = answered_poses(answer, [link], asked)[link]
    distance, angle = offset(found, inverse_transform(at[frame]) @ at[link])
    if not subject.close(distance, angle):
        came = f'{link} {distance * 1e3:.4g} mm and {angle:.4g} rad away'
        raise CheckFailedError(asked, came, 'the same pose, in the other frame')
    if answer.pose_stamped[0].header.frame_id.lstrip('/') != frame:
        came = f'frame_id {answer.pose_stamped[0].header.frame_id!r}'
        raise CheckFailedError(asked, came, f'frame_id {frame!r}')
    return f'{link} in {frame}'


@FORWARD.check("MoveIt's server: FK")
def _fk_no_links(subject: Subject) -> str:
    """An empty list of links is answered with INVALID_LINK_NAME."""
    asked = 'the poses of no links at all'
    return require_error(subject.fk([], None, asked).error_code.val, asked, Code.INVALID_LINK_NAME)


@FORWARD.check("MoveIt's server: FK")
def _fk_unknown_link(subject: Subject) -> str:
    """With an unknown link among others, the poses of the others and INVALID_LINK_NAME come."""
    [posture] = subject.postures(1, 'unknown link')
    tip = subject.arm.tips[0]
    asked = f'the poses of {tip} and of {_MISSING}'
    answer = subject.fk([tip, _MISSING], posture, asked)
    note = require_error(answer.error_code.val, asked, Code.INVALID_LINK_NAME)
    if list(answer.fk_link_names) != [tip] or len(answer.pose_stamped) != 1:
        came = f'INVALID_LINK_NAME with {len(answer.pose_stamped)} poses'
        raise CheckFailedError(asked, came, f'INVALID_LINK_NAME with the pose of {tip}')
    return note


@FORWARD.check("MoveIt's server: a failed transform")
def _fk_unknown_frame(subject: Subject) -> str:
    """An unknown frame is answered with FRAME_TRANSFORM_FAILURE."""
    asked = f'the pose of {subject.arm.tips[0]} in the frame there_is_no_such_frame'
    answer = subject.fk([subject.arm.tips[0]], None, asked, 'there_is_no_such_frame')
    return require_error(answer.error_code.val, asked, Code.FRAME_TRANSFORM_FAILURE)


def answered_poses(
    answer: GetPositionFK.Response, links: list[str], asked: str
) -> dict[str, np.ndarray]:
    """Return the poses (4, 4) by link of an answer of ``compute_fk``; it has to be a success."""
    require_success(answer.error_code.val, asked)
    names, count = list(answer.fk_link_names), len(answer.pose_stamped)
    if names != links or count != len(links):
        came = f'{count} poses for {len(names)} links'
        raise CheckFailedError(asked, came, f'a pose for each of the {len(links)} links, in order')
    try:
        return {
            link: matrix_from_pose(stamped.pose)
            for link, stamped in zip(names, answer.pose_stamped, strict=True)
        }
    except RequestError as error:
        raise CheckFailedError(asked, str(error), 'poses') from error
