"""Checks of what an answer holds: the full state, the right code, and a reason."""

from __future__ import annotations

import math

from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.common.transforms import rigid_transform
from ik_service.extras.conformance.answers import IkAnswer
from ik_service.extras.conformance.check import Check, CheckFailedError, NotSupportedError
from ik_service.extras.conformance.names import HAS_MESSAGE
from ik_service.extras.conformance.subject import Subject

_SECTION = 'answers'
_FAR = 10.0  # an unreachable target, in lengths of the arm
_KEPT = 1e-9  # by which a joint beside the arm may differ from the seed [rad] or [m]


def unreachable_request(subject: Subject) -> GetPositionIK.Request:
    """
    Return a request for a pose far beyond the reach of the arm.

    :param subject: the server.
    """
    [seed] = subject.postures(1, 'unreachable')
    far = rigid_transform(position=(_FAR * subject.arm.reach() + 1.0, 0.0, 0.0))
    return subject.request(dict.fromkeys(subject.arm.tips, far), seed)


def _full_state(subject: Subject) -> str:
    arm, rng = subject.arm, np.random.default_rng(3)
    seed = dict(arm.random_posture(rng, margin=0.15))
    beside = arm.joints_beside()
    for name in beside:
        seed[name] = arm.random_position(name, rng)
    seed = arm.completed(seed)
    poses = subject.tips_at(arm.moved(seed, rng, 0.02))
    answer = subject.ik(subject.request(poses, seed), 'a pose near its seed')
    found, _, _ = subject.reached(answer, poses)
    movable = arm.described(arm.robot.movable_joint_names)
    missing = [name for name in movable if name not in found]
    if missing:
        raise answer.fail('every movable joint of the robot', f'SUCCESS without {missing[0]}')
    for name in beside:
        if abs(found[name] - seed[name]) > _KEPT:
            came = f'SUCCESS with {name} at {found[name]:.6g}'
            raise answer.fail(f'{name} at {seed[name]:.6g}, as in the seed', came)
    for name in arm.robot.movable_joint_names:
        source, multiplier, offset = arm.robot.resolve_mimic(name)
        if name in found and abs(found[name] - multiplier * found[source] - offset) > 1e-6:
            came = f'SUCCESS with {name} at {found[name]:.6g}'
            raise answer.fail(f'{name} where it has to follow {source}', came)
    return f'{len(found)} joints, {len(beside)} of them beside the arm'


def _unreachable(subject: Subject) -> str:
    answer = subject.ik(unreachable_request(subject), 'a pose ten lengths of the arm away')
    answer.refused(Code.NO_IK_SOLUTION, Code.TIMED_OUT)
    return answer.text.partition(':')[0]


def _reasons(subject: Subject) -> str:
    if not HAS_MESSAGE:
        raise NotSupportedError('MoveItErrorCodes has no message on this distribution')
    unknown = 'there_is_no_such_name'
    asked = []
    for field in ('group_name', 'ik_link_name', 'frame_id'):
        request, _, _ = subject.ordinary_request('reasons')
        if field == 'frame_id':
            subject.first_pose(request).header.frame_id = unknown
        elif field == 'ik_link_name' and len(subject.arm.tips) > 1:
            request.ik_request.ik_link_names[0] = unknown
        else:
            setattr(request.ik_request, field, unknown)
        asked.append((request, f'{field} {unknown}', unknown))
    asked.append((unreachable_request(subject), 'a pose ten lengths of the arm away', ''))
    for request, text, named in asked:
        answer = subject.ik(request, text)
        answer.no_success('it cannot be solved')
        if not answer.message:
            raise answer.fail('a message with the reason')
        if named not in answer.message:
            raise answer.fail(f'a message that names {named}')
    return f'{len(asked)} of {len(asked)} errors come with their reason'


def _not_a_number(subject: Subject) -> str:
    for answer in _spoilt(subject):
        answer.no_success('no pose has such numbers')
    return 'refused'


def _not_a_number_code(subject: Subject) -> str:
    for answer in _spoilt(subject):
        answer.refused(Code.INVALID_GOAL_CONSTRAINTS)
    return 'INVALID_GOAL_CONSTRAINTS'


def _spoilt(subject: Subject) -> list[IkAnswer]:
    """Return the answers to poses with a number that is none."""

    def ask() -> list[IkAnswer]:
        found = []
        for part, axes in (('position', 'xyz'), ('orientation', 'xyzw')):
            for axis in axes:
                for number in (math.nan, math.inf):
                    request, _, _ = subject.ordinary_request('numbers')
                    setattr(getattr(subject.first_pose(request).pose, part), axis, number)
                    text = f'a pose with {part}.{axis} {number}'
                    found.append(subject.ik(request, text))
        return found

    return subject.once('not a number', ask)


def _zero_quaternion(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('zero')
    quaternion = subject.first_pose(request).pose.orientation
    quaternion.x = quaternion.y = quaternion.z = quaternion.w = 0.0
    answer = subject.ik(request, 'a pose with the quaternion 0, 0, 0, 0')
    answer.refused(Code.INVALID_GOAL_CONSTRAINTS)
    return 'INVALID_GOAL_CONSTRAINTS'


def _unknown_group(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('group')
    request.ik_request.group_name = 'there_is_no_such_group'
    subject.ik(request, 'the group there_is_no_such_group').refused(Code.INVALID_GROUP_NAME)
    return 'INVALID_GROUP_NAME'


def _known_groups(subject: Subject) -> str:
    names = [name for name, group in subject.arm.robot.groups.items() if not group.fault]
    refused = []
    for name in names:
        arm = subject.arm.of(subject.arm.robot, name, '', '')
        other = Subject(arm, subject.connection, subject.settings, name)
        request, poses, _ = other.ordinary_request('groups')
        answer = other.ik(request, f'a pose near its seed, of group {name}')
        if answer.code == Code.INVALID_GROUP_NAME:
            refused.append(name)
            continue
        try:
            other.reached(answer, poses)
        except CheckFailedError:
            if answer.solved:
                raise
            refused.append(name)
    known = [name for name in names if name not in refused]
    if not known:
        raise NotSupportedError('no group of an SRDF is known here, or none of them to the server')
    return f'{", ".join(known)}' + (f'; not: {", ".join(refused)}' if refused else '')


CHECKS = (
    Check(
        'full-state',
        _SECTION,
        'A solution has every movable joint of the robot; those beside the arm as in the seed',
        _full_state,
        "answer table: solved; MoveIt's server: solution",
    ),
    Check(
        'unreachable',
        _SECTION,
        'A pose out of reach is answered with NO_IK_SOLUTION or TIMED_OUT, without positions',
        _unreachable,
        'answer table: unsolvable',
    ),
    Check(
        'reasons',
        _SECTION,
        'Errors come with a message, which names what is wrong',
        _reasons,
        'answer table: the messages',
        moveit='it never fills in message and source',
    ),
    Check(
        'unknown-group',
        _SECTION,
        'An unknown group is answered with INVALID_GROUP_NAME',
        _unknown_group,
        'answer table: unknown group_name',
    ),
    Check(
        'known-groups',
        _SECTION,
        "The planning groups of the robot's SRDF, or of its maker, are solved by their names",
        _known_groups,
        'GetPositionIK: group_name',
    ),
)

NUMBERS = (
    Check(
        'not-a-number',
        'numbers that are none',
        'NaN or infinity in the pose is never a SUCCESS',
        _not_a_number,
        'answer table: NaN or infinity in the pose',
        moveit='NaN in an orientation passes all comparisons, and can come out as SUCCESS',
        rough=True,
    ),
    Check(
        'not-a-number-code',
        'numbers that are none',
        'NaN or infinity in the pose is answered with INVALID_GOAL_CONSTRAINTS',
        _not_a_number_code,
        'answer table: NaN or infinity in the pose',
        moveit='it does not look, so the search fails with NO_IK_SOLUTION at best',
        rough=True,
    ),
    Check(
        'zero-quaternion',
        'numbers that are none',
        'The quaternion 0, 0, 0, 0 is answered with INVALID_GOAL_CONSTRAINTS',
        _zero_quaternion,
        'answer table: zero quaternion',
        moveit='it takes the quaternion as it is',
        rough=True,
    ),
)
"""Checks with numbers that are none; the last but those of load, for weak servers."""
