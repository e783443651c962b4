"""
Defects of a compute_ik server, and the checks that have to find them.

A defect takes what answers rightly, and a request, and returns the answer.
"""

from __future__ import annotations

import copy
import itertools
import math
import time

from moveit_msgs.msg import Constraints
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.ros.requests.errors import ErrorCode
from support.arm_helpers import TIP

FAR = {'panda_joint2': -1.2, 'panda_joint4': -0.4, 'panda_joint5': 2.0}  # another elbow


def solved_by(request, positions=None):
    """A SUCCESS with the seed of a request, or with other positions."""
    response = GetPositionIK.Response()
    response.error_code.val = ErrorCode.SUCCESS
    joints = response.solution.joint_state
    joints.name = list(request.ik_request.robot_state.joint_state.name)
    joints.position = positions or list(request.ik_request.robot_state.joint_state.position)
    return response


def changed(change):
    """A defect that changes right answers that are a SUCCESS."""

    def defect(ik, request):
        response = ik(request)
        if response.error_code.val == ErrorCode.SUCCESS:
            change(response)
        return response

    return defect


def asked_otherwise(change):
    """A defect that understands something else than what is asked."""

    def defect(ik, request):
        request = copy.deepcopy(request)
        change(request.ik_request)
        return ik(request)

    return defect


def searching(whole_seconds):
    """A defect: what cannot be solved is searched for until the time is over."""

    def defect(ik, request):
        response = ik(request)
        if response.error_code.val in (ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT):
            timeout = request.ik_request.timeout
            fraction = 0.0 if whole_seconds else 1e-9 * timeout.nanosec
            time.sleep(timeout.sec + fraction or 0.05)
            response.error_code.val = (
                ErrorCode.NO_IK_SOLUTION if whole_seconds else ErrorCode.TIMED_OUT
            )
        return response

    return defect


def late(ik, request):
    """A defect: a search in vain goes on for 5 s."""
    response = ik(request)
    if response.error_code.val == ErrorCode.NO_IK_SOLUTION and request.ik_request.timeout.sec == 2:
        time.sleep(5.0)
    return response


class Confused:
    """A defect: each answer is the one to the request before."""

    def __init__(self):
        self._last = None

    def __call__(self, ik, request):
        answer, self._last = self._last, ik(request)
        return answer or self._last


class Restless:
    """A defect: no answer is quite like the one before."""

    def __init__(self):
        self._count = itertools.count()

    def __call__(self, ik, request):
        response = ik(request)
        joints = response.solution.joint_state
        joints.position = [value + 1e-9 * next(self._count) for value in joints.position]
        return response


def without_last(response):
    response.solution.joint_state.position = list(response.solution.joint_state.position)[:-1]


def arm_only(response):
    joints = response.solution.joint_state
    kept = [(n, v) for n, v in zip(joints.name, joints.position, strict=True) if 'finger' not in n]
    joints.name, joints.position = map(list, zip(*kept, strict=True))


def beyond_a_limit(response):
    joints = response.solution.joint_state
    joints.position[joints.name.index('panda_joint1')] += math.tau


def from_elsewhere(wanted):
    joints = wanted.robot_state.joint_state
    joints.position = [
        FAR.get(name, value) for name, value in zip(joints.name, joints.position, strict=True)
    ]


def without_frames(wanted):
    for stamped in (wanted.pose_stamped, *wanted.pose_stamped_vector):
        stamped.header.frame_id = ''


def without_rotation_off_unit(wanted):
    q = wanted.pose_stamped.pose.orientation
    if abs(math.hypot(q.x, q.y, q.z, q.w) - 1.0) > 1e-3:
        q.x = q.y = q.z = 0.0
        q.w = 1.0


def without_constraints(wanted):
    wanted.constraints = Constraints()


def of_the_tip(wanted):
    wanted.ik_link_name, wanted.ik_link_names = TIP, [TIP] * len(wanted.ik_link_names)


def of_pose_stamped(wanted):
    wanted.pose_stamped_vector = []


def always_solved(ik, request):
    return solved_by(request)


def never_solved(ik, request):
    response = solved_by(request, [0.0])
    response.error_code.val = ErrorCode.NO_IK_SOLUTION
    return response


def nan_solved(ik, request):
    p, q = (
        request.ik_request.pose_stamped.pose.position,
        request.ik_request.pose_stamped.pose.orientation,
    )
    numbers = (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
    return ik(request) if np.isfinite(numbers).all() else solved_by(request)


def like_moveit(ik, request):
    """As MoveIt's published source answers, as far as that is known."""
    response = searching(whole_seconds=True)(ik, request)
    kept = (ErrorCode.SUCCESS, ErrorCode.INVALID_GROUP_NAME, ErrorCode.FRAME_TRANSFORM_FAILURE)
    several = len(request.ik_request.pose_stamped_vector) > 1
    if response.error_code.val not in kept and not several:
        response.error_code.val = ErrorCode.NO_IK_SOLUTION
    response.error_code.message = response.error_code.source = ''
    return response


def wordy(ik, request):
    response = ik(request)
    response.error_code.message *= 10_000
    return response


DEFECTS = {
    'SUCCESS with the seed, whatever is asked': (always_solved, """
        round-trip random-walk unreachable reasons unknown-group known-groups link-empty
        link-unknown link-other link-attached frame-unknown one-pose one-pose-no-link sizes-differ
        joint-constraint-binds joint-constraint-unknown orientation-constraint-binds
        position-constraint-binds not-a-number not-a-number-code zero-quaternion seed-lengths
        seed-not-a-number seed-unknown-joint many-joints long-names clients-4
        """, 'seed-is-solution repeatable'),
    'errors that hold a solution': (never_solved, """
        round-trip solve-rate seed-is-solution no-seed full-state unreachable not-a-number
        time-default quaternion-scale seed-outside frame-empty joint-constraint
        orientation-constraint position-constraint orientation-constraint-scale alive clients-1
        clients-16 frame-moving-link
        """, 'repeatable'),
    'positions that are fewer than names': (
        changed(without_last), 'round-trip seed-is-solution random-walk full-state alive',
        'unreachable frame-unknown solve-rate'),
    'only the joints of the arm': (changed(arm_only), 'full-state', 'round-trip random-walk'),
    'solutions beyond the limits': (
        changed(beyond_a_limit), 'round-trip seed-is-solution alive seed-outside', 'unreachable'),
    'solutions that jump': (
        asked_otherwise(from_elsewhere), 'seed-is-solution random-walk',
        'round-trip unreachable quaternion-scale'),
    'the answer to the request before': (
        Confused(), 'round-trip random-walk clients-4 clients-16 quaternion-scale', 'fk-links'),
    'never the same answer twice': (Restless(), 'repeatable', 'round-trip seed-is-solution'),
    'NaN is solved': (nan_solved, 'not-a-number not-a-number-code', 'zero-quaternion round-trip'),
    'frames are ignored': (
        asked_otherwise(without_frames), 'frame-unknown frame-moving-link long-names',
        'frame-empty round-trip'),
    'a quaternion off unit norm is no rotation': (
        asked_otherwise(without_rotation_off_unit), 'quaternion-scale', 'round-trip'),
    'constraints are ignored': (
        asked_otherwise(without_constraints), """joint-constraint-binds joint-constraint-unknown
        orientation-constraint-binds position-constraint-binds""",
        'joint-constraint orientation-constraint position-constraint round-trip'),
    'links are ignored': (
        asked_otherwise(of_the_tip), 'link-unknown link-attached link-other',
        'link-empty one-pose sizes-differ'),
    'pose_stamped always wins': (
        asked_otherwise(of_pose_stamped), 'one-pose one-pose-no-link sizes-differ', 'round-trip'),
    'a message that repeats itself': (wordy, 'long-names many-joints', 'reasons unknown-group'),
    'nanoseconds are dropped': (
        searching(whole_seconds=True), 'time-part-of-a-second time-code',
        'time-seconds time-default'),
    'time-outs are kept': (
        searching(whole_seconds=False), '', 'time-seconds time-part-of-a-second time-code'),
    'time-outs are exceeded': (late, 'time-seconds', 'time-default'),
    "MoveIt's codes": (like_moveit, """
        reasons link-unknown joint-constraint-unknown time-part-of-a-second time-code
        not-a-number-code zero-quaternion seed-lengths seed-not-a-number seed-unknown-joint
        many-joints
        """, """
        round-trip solve-rate seed-is-solution random-walk quaternion-scale seed-outside no-seed
        full-state unreachable unknown-group known-groups link-empty link-attached frame-empty
        frame-moving-link frame-unknown one-pose one-pose-no-link sizes-differ
        joint-constraint joint-constraint-binds orientation-constraint
        orientation-constraint-binds position-constraint position-constraint-binds time-default
        time-seconds not-a-number long-names alive
        """),
}  # fmt: skip
"""By what is wrong: the defect, the checks that have to fail, and some that have to pass."""
