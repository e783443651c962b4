"""Checks of the frames that a pose may be given in."""

from __future__ import annotations

from moveit_msgs.msg import MoveItErrorCodes as Code

from ik_service.common.transforms import inverse_transform
from ik_service.extras.conformance.check import Check, NotSupportedError
from ik_service.extras.conformance.checks.forward import answered_poses
from ik_service.extras.conformance.subject import Subject
from ik_service.ros.common.conversions import pose_from_matrix

_SECTION = 'frames'
_TRIES = 10


def _empty(subject: Subject) -> str:
    request, poses, _ = subject.ordinary_request('frames')
    for frame in ('', subject.arm.robot.root_link):
        subject.first_pose(request).header.frame_id = frame
        asked = f'a pose near its seed, in the frame {frame!r}'
        subject.reached(subject.ik(request, asked), poses)
    return f"'' and {subject.arm.robot.root_link}"


def _fixed(subject: Subject) -> str:
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


def _moving(subject: Subject) -> str:
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


def _unknown(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('unknown frame')
    subject.first_pose(request).header.frame_id = 'there_is_no_such_frame'
    answer = subject.ik(request, 'a pose in the frame there_is_no_such_frame')
    answer.refused(Code.FRAME_TRANSFORM_FAILURE)
    return 'FRAME_TRANSFORM_FAILURE'


CHECKS = (
    Check(
        'frame-empty',
        _SECTION,
        'An empty frame_id is the root link of the robot',
        _empty,
        "MoveIt's server: Frame",
    ),
    Check(
        'frame-fixed-link',
        _SECTION,
        'A link that is rigidly attached to the root can be the frame',
        _fixed,
        'answer table: frame',
    ),
    Check(
        'frame-moving-link',
        _SECTION,
        'A link that the arm moves can be the frame; it is where it is now',
        _moving,
        "answer table: frame; MoveIt's server: Frame",
    ),
    Check(
        'frame-unknown',
        _SECTION,
        'An unknown frame is answered with FRAME_TRANSFORM_FAILURE',
        _unknown,
        "answer table: frame; MoveIt's server: Frame",
    ),
)
