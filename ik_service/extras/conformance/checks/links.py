"""Checks of the links that a request may name."""

from __future__ import annotations

from moveit_msgs.msg import MoveItErrorCodes as Code
import numpy as np

from ik_service.extras.conformance.check import Check, NotSupportedError
from ik_service.extras.conformance.subject import Poses, Posture, Subject

_SECTION = 'links'


def _empty_name(subject: Subject) -> str:
    tip = subject.single_tip()
    request, poses, _ = subject.ordinary_request('empty name')
    request.ik_request.ik_link_name = ''
    answer = subject.ik(request, f'a pose of {tip}, with an empty ik_link_name')
    answer.supported('no default tip', (Code.INVALID_LINK_NAME,))
    found = subject.inside_limits(answer)
    at = subject.links_at(found)
    placed = [link for link, T in at.items() if subject.places(T, poses[tip])]
    if not placed:
        raise answer.fail('some link at the pose', 'SUCCESS with no link of the robot there')
    return f'places {tip if tip in placed else placed[0]}'


def _attached(subject: Subject) -> str:
    tip = subject.single_tip()
    others = subject.arm.attached_to(tip)
    if not others:
        raise NotSupportedError(f'no other link is rigidly attached to {tip}')
    for link in others[:3]:
        poses, seed = _near(subject, link)
        request = subject.request(poses, seed)
        answer = subject.ik(request, f'a pose of {link}, which is rigidly attached to {tip}')
        subject.reached(answer, poses)
    return ', '.join(others[:3])


def _other(subject: Subject) -> str:
    subject.single_tip()
    between = subject.arm.links_between()
    if not between:
        raise NotSupportedError('no other link is moved by the arm')
    link = between[len(between) // 2]
    poses, seed = _near(subject, link)
    answer = subject.ik(subject.request(poses, seed), f'a pose of {link}, in the middle')
    answer.supported(f'link {link}', (Code.INVALID_LINK_NAME, Code.NO_IK_SOLUTION))
    subject.reached(answer, poses)
    return link


def _near(subject: Subject, link: str) -> tuple[Poses, Posture]:
    """Return a pose of a link, and a seed near it."""
    rng = np.random.default_rng(5)
    seed = subject.arm.random_posture(rng, margin=0.15)
    return {link: subject.links_at(subject.arm.moved(seed, rng, 0.02))[link]}, seed


def _unknown(subject: Subject) -> str:
    subject.single_tip()
    request, _, _ = subject.ordinary_request('unknown link')
    request.ik_request.ik_link_name = 'there_is_no_such_link'
    subject.ik(request, 'the link there_is_no_such_link').refused(Code.INVALID_LINK_NAME)
    return 'INVALID_LINK_NAME'


CHECKS = (
    Check(
        'link-empty',
        _SECTION,
        'An empty ik_link_name means the tip of the group',
        _empty_name,
        "MoveIt's server: ik_link_name",
    ),
    Check(
        'link-attached',
        _SECTION,
        'A link that is rigidly attached to the tip is placed',
        _attached,
        "answer table: ik_link_name; MoveIt's server: ik_link_name",
    ),
    Check(
        'link-other',
        _SECTION,
        'Another link that the arm moves is placed, or refused',
        _other,
        'answer table: ik_link_name',
    ),
    Check(
        'link-unknown',
        _SECTION,
        'An unknown link is answered with INVALID_LINK_NAME',
        _unknown,
        'answer table: unknown ik_link_name',
        moveit='an unknown link is answered with NO_IK_SOLUTION, as any other failure',
    ),
)
