"""Checks of requests with several poses."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK

from ik_service.extras.conformance.check import Check, NotSupportedError
from ik_service.extras.conformance.subject import Poses, Subject

_SECTION = 'several poses'


def _one_pose(subject: Subject) -> str:
    tip = subject.single_tip()
    request, poses = _in_the_vector(subject)
    request.ik_request.ik_link_names = [tip]
    answer = subject.ik(request, 'one pose in pose_stamped_vector, another in pose_stamped')
    subject.reached(answer, poses)
    return 'pose_stamped_vector wins'


def _one_pose_of_the_tip(subject: Subject) -> str:
    tip = subject.single_tip()
    request, poses = _in_the_vector(subject)
    named = subject.ik(request, 'one pose in pose_stamped_vector, and no ik_link_names')
    at = subject.links_at(subject.inside_limits(named))
    placed = [link for link, T in at.items() if subject.places(T, poses[tip])]
    if not placed:
        raise named.fail('the tip at the pose', 'SUCCESS with no link of the robot there')
    return f'places {tip if tip in placed else placed[0]}'


def _in_the_vector(subject: Subject) -> tuple[GetPositionIK.Request, Poses]:
    """Return a request whose pose is in pose_stamped_vector, and another one in pose_stamped."""
    request, poses, _ = subject.ordinary_request('vector')
    wanted = request.ik_request
    wanted.pose_stamped_vector = [wanted.pose_stamped]
    wanted.pose_stamped, wanted.ik_link_name = PoseStamped(), ''
    wanted.pose_stamped.pose.position.x = 1e3
    return request, poses


def _sizes(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('sizes')
    wanted, pose = request.ik_request, subject.first_pose(request)
    wanted.pose_stamped_vector = [pose, pose]
    for names in ([], [subject.arm.tips[0]], [subject.arm.tips[0]] * 3):
        wanted.ik_link_names = names
        answer = subject.ik(request, f'2 poses for {len(names)} links')
        answer.refused(Code.INVALID_LINK_NAME)
    return 'INVALID_LINK_NAME'


def _together(subject: Subject) -> str:
    tips = _several(subject)
    for number in range(10):
        request, poses, _ = subject.ordinary_request(f'together {number}')
        answer = subject.ik(request, f'poses of {" and ".join(tips)}, near their seed')
        subject.reached(answer, poses)
    return ', '.join(tips)


def _apart(subject: Subject) -> str:
    tips = _several(subject)
    request, _, _ = subject.ordinary_request('apart')
    request.ik_request.pose_stamped_vector[1].pose.position.x += 10.0 * subject.arm.reach() + 1.0
    answer = subject.ik(request, f'poses of {tips[0]} and {tips[1]} that are too far apart')
    answer.refused(Code.NO_IK_SOLUTION, Code.TIMED_OUT)
    return answer.text.partition(':')[0]


def _several(subject: Subject) -> tuple[str, ...]:
    if len(subject.arm.tips) < 2:
        raise NotSupportedError('the group places one link; --group names one with several')
    return subject.arm.tips


CHECKS = (
    Check(
        'one-pose',
        _SECTION,
        'One pose in pose_stamped_vector wins over pose_stamped',
        _one_pose,
        "MoveIt's server: pose_stamped_vector",
    ),
    Check(
        'one-pose-no-link',
        _SECTION,
        'One pose in pose_stamped_vector without ik_link_names is for the tip of the group',
        _one_pose_of_the_tip,
        "MoveIt's server: compute_ik, beyond",
    ),
    Check(
        'sizes-differ',
        _SECTION,
        'Two poses for none, one or three links are answered with INVALID_LINK_NAME',
        _sizes,
        'answer table: several poses',
    ),
    Check(
        'several-tips',
        _SECTION,
        'Poses of all tips of a group are met together',
        _together,
        'answer table: several poses',
    ),
    Check(
        'several-tips-apart',
        _SECTION,
        'When one of several poses cannot be met, there is no SUCCESS',
        _apart,
        'answer table: several poses',
    ),
)
