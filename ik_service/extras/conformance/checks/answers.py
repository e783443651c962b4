"""Checks of requests: names, frames, seeds, several poses; and of the content of a response."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
import math

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.common.transforms import inverse_transform, rigid_transform
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    HAS_MESSAGE,
    NotSupportedError,
    ServerAnswer,
)
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.checks.solutions import answered_poses
from ik_service.extras.conformance.subject import once, Poses, Posture, Subject
from ik_service.ros.common.conversions import pose_from_matrix

ANSWERS = Section('answers')
NUMBERS = Section('numbers that are none')
_KEPT = 1e-9  # by which a joint beside the arm may differ from the seed [rad] or [m]

LINKS = Section('links')

FRAMES = Section('frames')
_TRIES = 10  # poses of which one has to be solved

TIPS = Section('several poses')

SEEDS = Section('wrong seeds')


@ANSWERS.check("answer table: solved; MoveIt's server: solution")
def _full_state(subject: Subject) -> str:
    """A solution has every movable joint of the robot; those beside the arm as in the seed."""
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


@ANSWERS.check('answer table: unsolvable')
def _unreachable(subject: Subject) -> str:
    """A pose out of reach is answered with NO_IK_SOLUTION or TIMED_OUT, without positions."""
    return subject.ik(unreachable_request(subject), 'a pose ten lengths of the arm away').refused(
        Code.NO_IK_SOLUTION, Code.TIMED_OUT
    )


@ANSWERS.check('answer table: the messages', moveit='it never fills in message and source')
def _reasons(subject: Subject) -> str:
    """Errors come with a message, which names what is wrong."""
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
    with suppress(NotSupportedError):
        asked.append((unreachable_request(subject), 'a pose ten lengths of the arm away', ''))
    for request, text, named in asked:
        answer = subject.ik(request, text)
        answer.no_success('it cannot be solved')
        if not answer.message:
            raise answer.fail('a message with the reason')
        if named not in answer.message:
            raise answer.fail(f'a message that names {named}')
    return f'{len(asked)} of {len(asked)} errors come with their reason'


@ANSWERS.check('answer table: unknown group_name')
def _unknown_group(subject: Subject) -> str:
    """An unknown group is answered with INVALID_GROUP_NAME."""
    request, _, _ = subject.ordinary_request('group')
    request.ik_request.group_name = 'there_is_no_such_group'
    return subject.ik(request, 'the group there_is_no_such_group').refused(Code.INVALID_GROUP_NAME)


@ANSWERS.check('GetPositionIK: group_name')
def _known_groups(subject: Subject) -> str:
    """The planning groups of the robot's SRDF, or of its maker, are solved by their names."""
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


@NUMBERS.check(
    'answer table: NaN or infinity in the pose',
    moveit='NaN in an orientation passes all comparisons, and can come out as SUCCESS',
    rough=True,
)
def _not_a_number(subject: Subject) -> str:
    """NaN or infinity in the pose is never a SUCCESS."""
    for answer in _spoilt(subject):
        answer.no_success('no pose has such numbers')
    return 'refused'


@NUMBERS.check(
    'answer table: NaN or infinity in the pose',
    moveit='it does not look, so the search fails with NO_IK_SOLUTION at best',
    rough=True,
)
def _not_a_number_code(subject: Subject) -> str:
    """NaN or infinity in the pose is answered with INVALID_GOAL_CONSTRAINTS."""
    for answer in _spoilt(subject):
        answer.refused(Code.INVALID_GOAL_CONSTRAINTS)
    return 'INVALID_GOAL_CONSTRAINTS'


@NUMBERS.check(
    'answer table: zero quaternion', moveit='it takes the quaternion as it is', rough=True
)
def _zero_quaternion(subject: Subject) -> str:
    """The quaternion 0, 0, 0, 0 is answered with INVALID_GOAL_CONSTRAINTS."""
    request, _, _ = subject.ordinary_request('zero')
    quaternion = subject.first_pose(request).pose.orientation
    quaternion.x = quaternion.y = quaternion.z = quaternion.w = 0.0
    return subject.ik(request, 'a pose with the quaternion 0, 0, 0, 0').refused(
        Code.INVALID_GOAL_CONSTRAINTS
    )


def unreachable_request(subject: Subject) -> GetPositionIK.Request:
    """Return a request for a pose far beyond the reach of the arm."""
    [seed] = subject.postures(1, 'unreachable')
    far = rigid_transform(position=(subject.arm.out_of_reach(), 0.0, 0.0))
    return subject.request(dict.fromkeys(subject.arm.tips, far), seed)


@once
def _spoilt(subject: Subject) -> list[ServerAnswer]:
    """Return the answers to poses with a number that is none."""
    found = []
    for part, axes in (('position', 'xyz'), ('orientation', 'xyzw')):
        for axis, number in product(axes, (math.nan, math.inf)):
            request, _, _ = subject.ordinary_request('numbers')
            setattr(getattr(subject.first_pose(request).pose, part), axis, number)
            found.append(subject.ik(request, f'a pose with {part}.{axis} {number}'))
    return found


@LINKS.check("MoveIt's server: ik_link_name")
def _link_empty(subject: Subject) -> str:
    """An empty ik_link_name means the tip of the group."""
    tip = subject.single_tip()
    request, poses, _ = subject.ordinary_request('empty name')
    request.ik_request.ik_link_name = ''
    answer = subject.ik(request, f'a pose of {tip}, with an empty ik_link_name')
    answer.supported('no default tip', (Code.INVALID_LINK_NAME,))
    return _placed(subject, answer, poses[tip], 'some link at the pose')


@LINKS.check("answer table: ik_link_name; MoveIt's server: ik_link_name")
def _link_attached(subject: Subject) -> str:
    """A link that is rigidly attached to the tip is placed."""
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


@LINKS.check('answer table: ik_link_name')
def _link_other(subject: Subject) -> str:
    """Another link that the arm moves is placed, or refused."""
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


@LINKS.check(
    'answer table: unknown ik_link_name',
    moveit='an unknown link is answered with NO_IK_SOLUTION, as any other failure',
)
def _link_unknown(subject: Subject) -> str:
    """An unknown link is answered with INVALID_LINK_NAME."""
    subject.single_tip()
    request, _, _ = subject.ordinary_request('unknown link')
    request.ik_request.ik_link_name = 'there_is_no_such_link'
    return subject.ik(request, 'the link there_is_no_such_link').refused(Code.INVALID_LINK_NAME)


def _placed(subject: Subject, answer: ServerAnswer, T: np.ndarray, expected: str) -> str:
    """Make sure that some link is at a pose (4, 4), and name it, the tip if it is."""
    at = subject.links_at(subject.inside_limits(answer))
    placed = [link for link in (*subject.arm.tips, *at) if subject.places(at[link], T)]
    if not placed:
        raise answer.fail(expected, 'SUCCESS with no link of the robot there')
    return f'places {placed[0]}'


def _near(subject: Subject, link: str) -> tuple[Poses, Posture]:
    rng = np.random.default_rng(5)
    seed = subject.arm.random_posture(rng, margin=0.15)
    return {link: subject.links_at(subject.arm.moved(seed, rng, 0.02))[link]}, seed


@FRAMES.check("MoveIt's server: Frame")
def _frame_empty(subject: Subject) -> str:
    """An empty frame_id is the root link of the robot."""
    request, poses, _ = subject.ordinary_request('frames')
    for frame in ('', subject.arm.robot.root_link):
        subject.first_pose(request).header.frame_id = frame
        asked = f'a pose near its seed, in the frame {frame!r}'
        subject.reached(subject.ik(request, asked), poses)
    return f"'' and {subject.arm.robot.root_link}"


@FRAMES.check('answer table: frame')
def _frame_fixed_link(subject: Subject) -> str:
    """A link that is rigidly attached to the root can be the frame."""
    robot = subject.arm.robot
    links = subject.arm.attached_to(robot.root_link)
    if not links:
        raise NotSupportedError(f'no link is rigidly attached to {robot.root_link}')
    request, poses, seed = subject.ordinary_request('fixed frame')
    T_root_link = subject.links_at(seed)[links[0]]
    pose = subject.first_pose(request)
    pose.header.frame_id = links[0]
    T = inverse_transform(T_root_link) @ poses[subject.arm.tips[0]]
    pose.pose = pose_from_matrix(T)
    subject.reached(subject.ik(request, f'a pose near its seed, in the frame {links[0]}'), poses)
    return links[0]


@FRAMES.check("answer table: frame; MoveIt's server: Frame")
def _frame_moving_link(subject: Subject) -> str:
    """A link that the arm moves can be the frame; it is where it is now."""
    tip, links = subject.arm.tips[0], subject.arm.links_between()
    if not links:
        raise NotSupportedError('no link but the tip is moved by the arm')
    frame = links[0]
    asked = f'a pose in the frame {frame}, which is where compute_fk says that it is now'
    for goal in subject.postures(_TRIES, 'moving frame'):
        # Without a seed: both services then start from the present state.
        before = answered_poses(subject.fk([frame], None, asked), [frame], asked)[frame]
        poses = subject.tips_at(goal)
        request = subject.request(poses)
        pose = subject.first_pose(request)
        pose.header.frame_id = frame
        pose.pose = pose_from_matrix(inverse_transform(before) @ poses[tip])
        answer = subject.ik(request, asked)
        after = answered_poses(subject.fk([frame], None, asked), [frame], asked)[frame]
        if not subject.places(after, before):
            raise NotSupportedError('the arm moves')
        if answer.solved:
            subject.reached(answer, poses)
            return frame
    raise answer.fail(f'SUCCESS for one of {_TRIES} poses')


@FRAMES.check("answer table: frame; MoveIt's server: Frame")
def _frame_unknown(subject: Subject) -> str:
    """An unknown frame is answered with FRAME_TRANSFORM_FAILURE."""
    request, _, _ = subject.ordinary_request('unknown frame')
    subject.first_pose(request).header.frame_id = 'there_is_no_such_frame'
    return subject.ik(request, 'a pose in the frame there_is_no_such_frame').refused(
        Code.FRAME_TRANSFORM_FAILURE
    )


@TIPS.check("MoveIt's server: pose_stamped_vector")
def _one_pose(subject: Subject) -> str:
    """One pose in pose_stamped_vector wins over pose_stamped."""
    tip = subject.single_tip()
    request, poses = _in_the_vector(subject)
    request.ik_request.ik_link_names = [tip]
    answer = subject.ik(request, 'one pose in pose_stamped_vector, another in pose_stamped')
    subject.reached(answer, poses)
    return 'pose_stamped_vector wins'


@TIPS.check("MoveIt's server: compute_ik, beyond")
def _one_pose_no_link(subject: Subject) -> str:
    """One pose in pose_stamped_vector without ik_link_names is for the tip of the group."""
    tip = subject.single_tip()
    request, poses = _in_the_vector(subject)
    answer = subject.ik(request, 'one pose in pose_stamped_vector, and no ik_link_names')
    return _placed(subject, answer, poses[tip], 'the tip at the pose')


@TIPS.check('answer table: several poses')
def _sizes_differ(subject: Subject) -> str:
    """Two poses for none, one or three links are answered with INVALID_LINK_NAME."""
    request, _, _ = subject.ordinary_request('sizes')
    wanted, pose = request.ik_request, subject.first_pose(request)
    wanted.pose_stamped_vector = [pose, pose]
    for names in ([], [subject.arm.tips[0]], [subject.arm.tips[0]] * 3):
        wanted.ik_link_names = names
        answer = subject.ik(request, f'2 poses for {len(names)} links')
        answer.refused(Code.INVALID_LINK_NAME)
    return 'INVALID_LINK_NAME'


@TIPS.check('answer table: several poses')
def _several_tips(subject: Subject) -> str:
    """Poses of all tips of a group are met together."""
    tips = _several(subject)
    for number in range(10):
        request, poses, _ = subject.ordinary_request(f'together {number}')
        answer = subject.ik(request, f'poses of {" and ".join(tips)}, near their seed')
        subject.reached(answer, poses)
    return ', '.join(tips)


@TIPS.check('answer table: several poses')
def _several_tips_apart(subject: Subject) -> str:
    """When one of several poses cannot be met, there is no SUCCESS."""
    tips = _several(subject)
    request, _, _ = subject.ordinary_request('apart')
    request.ik_request.pose_stamped_vector[1].pose.position.x += subject.arm.out_of_reach()
    return subject.ik(request, f'poses of {tips[0]} and {tips[1]} that are too far apart').refused(
        Code.NO_IK_SOLUTION, Code.TIMED_OUT
    )


def _in_the_vector(subject: Subject) -> tuple[GetPositionIK.Request, Poses]:
    """Return a request whose pose is in pose_stamped_vector, and another one in pose_stamped."""
    request, poses, _ = subject.ordinary_request('vector')
    wanted = request.ik_request
    wanted.pose_stamped_vector = [wanted.pose_stamped]
    wanted.pose_stamped, wanted.ik_link_name = PoseStamped(), ''
    wanted.pose_stamped.pose.position.x = 1e3
    return request, poses


def _several(subject: Subject) -> tuple[str, ...]:
    if len(subject.arm.tips) < 2:
        raise NotSupportedError('the group places one link; --group names one with several')
    return subject.arm.tips


@SEEDS.check(
    'answer table: wrong lengths', moveit='it logs an error, and solves from the present state'
)
def _seed_lengths(subject: Subject) -> str:
    """A seed with more names than positions is answered with INVALID_ROBOT_STATE."""
    request, _, _ = subject.ordinary_request('lengths')
    joints = request.ik_request.robot_state.joint_state
    joints.position = list(joints.position)[:-1]
    names, positions = len(joints.name), len(joints.position)
    return subject.ik(request, f'a seed with {names} names and {positions} positions').refused(
        Code.INVALID_ROBOT_STATE
    )


@SEEDS.check(
    'answer table: NaN in the seed', moveit='it does not look at the numbers of a seed', rough=True
)
def _seed_not_a_number(subject: Subject) -> str:
    """NaN or infinity in the seed is answered with INVALID_ROBOT_STATE."""
    name = subject.arm.joint_names[0]
    for number in (math.nan, math.inf):
        request, _, _ = subject.ordinary_request('nan')
        joints = request.ik_request.robot_state.joint_state
        joints.position[joints.name.index(name)] = number
        answer = subject.ik(request, f'a seed with {name} at {number}')
        answer.refused(Code.INVALID_ROBOT_STATE)
    return 'INVALID_ROBOT_STATE'


@SEEDS.check(
    'answer table: unknown joint',
    moveit='it throws an exception, which may end the process',
    rough=True,
)
def _seed_unknown_joint(subject: Subject) -> str:
    """An unknown joint in the seed is answered with INVALID_ROBOT_STATE."""
    request, _, _ = subject.ordinary_request('unknown joint')
    joints = request.ik_request.robot_state.joint_state
    joints.name = [*joints.name, 'there_is_no_such_joint']
    joints.position = [*joints.position, 0.1]
    return subject.ik(request, 'a seed with the joint there_is_no_such_joint').refused(
        Code.INVALID_ROBOT_STATE
    )
