"""Judges of streams and of answers: what is wrong is found, or faults and fuzzers find nothing."""

from dataclasses import replace

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.msg import OrientationConstraint, PositionConstraint
from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
from shape_msgs.msg import SolidPrimitive
from support.chains import arm_path

from hardening.hostile import LEFT, RIGHT, SRDF
from hardening.reference import Reference
from hardening.stream import Bounds, check, Sample, Settings, unasked
from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.common.conversions import pose_from_matrix

PERIOD, SPEED, ACCELERATION = 0.01, 1.0, 5.0


def bounds():
    limits = Bounds(np.full(2, -3.0), np.full(2, 3.0), np.full(2, 2.0))
    limits.timeline.append((0.0, Settings(100.0, 0.5, 0.2)))
    return limits


def motion(speeds=None, start=10.0):
    """Commands that speed up, cruise, and slow down."""
    ramp = np.arange(1, 21) * ACCELERATION * PERIOD
    speeds = np.concatenate([ramp, np.full(60, SPEED), ramp[::-1], [0.0]]) if (
        speeds is None
    ) else np.array(speeds)  # fmt: skip
    q = np.cumsum(speeds) * PERIOD
    return [
        Sample(start + PERIOD * i, i + 1, np.array([q[i], 0.0]), np.array([speeds[i], 0.0]))
        for i in range(len(q))
    ]


def test_a_good_motion_passes():
    figures = check(motion(), bounds(), lambda time: np.zeros(2))
    assert figures.commands == 101
    assert 0.9 < figures.position_ratio <= 1.0 + 1e-9
    assert figures.speed_ratio < 0.7
    assert 0.9 < figures.sustained_acceleration <= 1.0
    assert figures.outside <= 0.0
    assert figures.holes == 0


def test_late_commands_pass_and_are_counted():
    late = motion()
    late[40:] = [replace(sample, time=sample.time + 0.03) for sample in late[40:]]
    figures = check(late, bounds())
    assert figures.position_ratio <= 1.0 + 1e-9
    assert figures.holes == 1


def one(samples, **values):
    """The samples, with one of them changed."""
    return [*samples[:50], replace(samples[50], **values), *samples[51:]]


def later(samples, seconds):
    return [replace(sample, time=sample.time + seconds) for sample in samples]


@pytest.mark.parametrize(
    ('damage', 'figure', 'least'),
    [
        (lambda s: one(s, q=s[50].q + 1.5), 'position_ratio', 99),
        (lambda s: one(s, q=np.full(2, np.nan)), 'outside', 9),
        (lambda s: one(s, v=np.zeros(2)), 'speed_ratio', 5),
        (lambda s: s[:50], 'speed_ratio', 5),  # ends at full speed
        (lambda s: later(s[40:], 2.0), 'speed_ratio', 5),  # begins so
        (lambda s: [*s[:50], *later(s[50:], -0.0098)], 'position_ratio', 1.05),  # made up for
        (lambda s: [replace(x, q=x.q + 2.9) for x in s], 'outside', 0.3),
        (lambda s: [replace(x, v=0.5 * x.v) for x in s], 'untrue_speed', 0.4),
    ],
)  # fmt: skip
def test_faulty_streams_are_found(damage, figure, least):
    assert getattr(check(damage(motion()), bounds()), figure) > least


def test_steady_excess_is_found_though_single_steps_may_be_late():
    fast = motion([*np.linspace(0.0, 2.0, 21)[1:], *np.full(40, 2.0)])
    figures = check(fast, bounds())
    assert figures.sustained_speed > 1.9
    assert figures.sustained_acceleration > 1.6


def test_a_stretch_has_to_begin_where_the_arm_is():
    figures = check(motion(), bounds(), lambda time: np.array([0.5, 0.0]))
    assert figures.position_step == pytest.approx(0.5, abs=1e-3)
    assert figures.position_ratio > 10


def test_after_a_stall_the_stream_may_go_on_as_it_was_or_from_the_arm_but_not_elsewhere():
    goes_on = [*motion()[:50], *later(motion()[50:], 0.2)]
    behind = np.array([0.3, 0.0])  # the arm had no time either
    figures = check(goes_on, bounds(), lambda time: behind if time > 10.1 else np.zeros(2))
    assert figures.holes == 1
    assert figures.position_ratio <= 1.0 + 1e-9
    assert figures.speed_ratio < 0.7
    elsewhere = [*goes_on[:50], *(replace(s, q=s.q + 0.5) for s in goes_on[50:])]
    assert check(elsewhere, bounds(), lambda time: np.zeros(2)).position_ratio > 10
    faster = [*goes_on[:50], *(replace(s, v=s.v + SPEED) for s in goes_on[50:])]
    assert check(faster, bounds(), lambda time: np.zeros(2)).speed_ratio > 5


def test_lost_messages_are_told_from_large_steps():
    lossy = [sample for sample in motion() if sample.number not in (30, 31)]
    figures = check(lossy, bounds())
    assert figures.missed == 2
    assert figures.position_ratio <= 1.0 + 1e-9


def test_changed_settings_hold_in_either_form_for_a_while():
    limits = bounds()
    limits.change(10.5, velocity_scaling=0.0)
    assert check(motion(), limits).position_ratio <= 1.0 + 1e-9
    limits.timeline[1] = (9.0, limits.timeline[1][1])
    assert check(motion(), limits).position_ratio > 100


def test_motion_without_a_target_is_found():
    limits, first = bounds(), motion()
    later = [
        replace(sample, time=sample.time + 3.0, number=sample.number + 200) for sample in first
    ]
    moved = [replace(sample, q=sample.q + first[-1].q) for sample in later]
    assert unasked(first, 10.3, limits) == 0.0
    assert unasked(first + moved, 10.3, limits) == pytest.approx(first[-1].q[0])
    assert unasked(first[:50], 10.3, limits) is None


ROBOT = Robot.from_urdf(arm_path('upper_body'), srdf=SRDF)
MEASURED = dict.fromkeys(ROBOT.movable_joint_names, 0.1)
GOAL = {**MEASURED, 'left_elbow': 0.6, 'left_shoulder_roll': 0.3}
AT = link_poses(ROBOT, GOAL)


def answered(found):
    answer = GetPositionIK.Response()
    answer.error_code.val = Code.SUCCESS
    answer.solution.joint_state.name = list(found)
    answer.solution.joint_state.position = list(found.values())
    return answer


def request(*links, group='both'):
    made = GetPositionIK.Request()
    made.ik_request.group_name = group
    made.ik_request.ik_link_names = list(links)
    for link in links:
        made.ik_request.pose_stamped_vector.append(PoseStamped(pose=pose_from_matrix(AT[link])))
    return made


def ball(link, distance, radius):
    constraint = PositionConstraint(link_name=link)
    T = AT[link].copy()
    T[0, 3] += distance
    region = constraint.constraint_region
    region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])]
    region.primitive_poses = [pose_from_matrix(T)]
    return constraint


def turned(link, tolerance):
    orientation = pose_from_matrix(np.eye(4)).orientation
    made = OrientationConstraint(link_name=link, orientation=orientation, parameterization=1)
    made.absolute_x_axis_tolerance = made.absolute_y_axis_tolerance = tolerance
    made.absolute_z_axis_tolerance = tolerance
    return made


def judged(made, **changes):
    reference = Reference(MEASURED, robot=ROBOT, base='pelvis', tip=LEFT)
    return reference.wrong_ik(made, answered({**GOAL, **changes}))


def test_right_answers_are_accepted():
    assert judged(request(LEFT, RIGHT)) is None
    assert judged(request(LEFT)) is None
    made = request(LEFT)
    made.ik_request.constraints.position_constraints = [ball('left_forearm', 0.05, 0.1)]
    made.ik_request.constraints.orientation_constraints = [turned('chest', 2.0)]
    assert judged(made) is None


@pytest.mark.parametrize(
    ('links', 'changes', 'complaint'),
    [
        ((LEFT, RIGHT), {'left_elbow': 0.61}, 'left_grip is off'),
        ((LEFT, RIGHT), {'right_elbow': 0.11}, 'right_grip is off'),
        ((LEFT,), {'right_elbow': 0.2}, 'right_grip has moved'),
        ((LEFT,), {'left_elbow': 40.0}, 'limits'),
    ],
)
def test_poses_that_are_missed_are_found(links, changes, complaint):
    assert complaint in judged(request(*links), **changes)


def test_constraints_that_are_violated_are_found():
    made = request(LEFT)
    made.ik_request.constraints.position_constraints = [ball('left_forearm', 0.3, 0.1)]
    assert 'left_forearm is 0.2 outside its position' in judged(made)
    made = request(LEFT)
    made.ik_request.constraints.orientation_constraints = [turned('chest', 0.01)]
    assert 'outside its orientation' in judged(made)
    made = request(LEFT)
    made.ik_request.constraints.position_constraints = [ball(LEFT, 0.3, 0.1)]
    assert 'the pose of left_grip is 0.2 outside' in judged(made)
