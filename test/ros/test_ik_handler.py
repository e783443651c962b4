"""What compute_ik answers, without a node: every row of its table."""

from __future__ import annotations

import math
import time

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from arm_helpers import (
    hopeless,
    ik_request,
    IN_PLANE,
    panda_arm,
    posture_of,
    Server,
    TIP,
    tree_arm,
    with_seed,
)
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import (
    AttachedCollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)

from ik_service.kinematics.pose import pose_error
from ik_service.ros.conversions import inverse, matrix_from_pose, pose_from_matrix
from ik_service.ros.errors import ErrorCode, RequestError
from ik_service.ros.seed import seed_posture


@pytest.fixture(scope='module')
def panda():
    return panda_arm()


@pytest.fixture
def server(panda):
    return Server(panda)


@pytest.fixture(scope='module')
def tree():
    return tree_arm()


@pytest.fixture
def plane_server(tree):
    return Server(tree, task_weights=IN_PLANE)


def reachable(arm, seed=0):
    """T_root_tip of a random posture; the Panda's root is its base."""
    return arm.link_poses(posture_of(arm, seed))[arm.chain.tip_link]


def solved(answer):
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    joints = answer.solution.joint_state
    return dict(zip(joints.name, joints.position, strict=True))


def refused(server, answer, code, *words):
    assert answer.error_code.val == code, answer.error_code
    assert not answer.solution.joint_state.name
    assert not server.errors
    for word in words:
        assert word in answer.error_code.message, answer.error_code.message


# Solved


@pytest.mark.parametrize('seed', range(10))
def test_solution_reaches_the_target(server, seed):
    target = reachable(server.arm, seed)
    answer = server.solve(ik_request(target))
    joints = solved(answer)
    assert tuple(joints) == server.arm.robot.movable_joint_names
    q = [joints[name] for name in server.arm.chain.joint_names]
    assert np.all(q >= server.arm.chain.lower)
    assert np.all(q <= server.arm.chain.upper)
    assert np.abs(pose_error(server.arm.chain.forward(q), target)).max() < 2e-5
    assert answer.error_code.source == 'ik_service'
    for word in ('mm', '°', 'iterations', 'searches', 'ms'):
        assert word in answer.error_code.message
    assert answer.solution.joint_state.header.frame_id == 'panda_link0'
    assert answer.solution.joint_state.header.stamp.sec == 7


def test_unsolved_joints_stay_as_in_the_seed_and_mimics_follow(server):
    request = with_seed(ik_request(reachable(server.arm)), ['panda_finger_joint1'], [0.03])
    joints = solved(server.solve(request))
    assert joints['panda_finger_joint1'] == 0.03
    assert joints['panda_finger_joint2'] == 0.03


def test_locked_joints_are_answered_where_they_are_locked():
    server = Server(panda_arm(locked={'panda_joint3': 0.4}))
    T = reachable(server.arm, 3)
    joints = solved(server.solve(with_seed(ik_request(T), ['panda_joint3'], [0.0])))
    assert joints['panda_joint3'] == 0.4
    np.testing.assert_allclose(server.arm.robot.chain('panda_link0', TIP).forward(
        [joints[f'panda_joint{i}'] for i in range(1, 8)]), T, atol=1e-4)  # fmt: skip


def test_same_request_gives_same_answer(server):
    request = ik_request(reachable(server.arm, 5))
    assert solved(server.solve(request)) == solved(server.solve(request))


# Unsolved


def test_out_of_reach_says_how_far_the_closest_pose_is(server):
    T = np.eye(4)
    T[0, 3] = 3.0
    answer = server.solve(ik_request(T))
    refused(server, answer, ErrorCode.NO_IK_SOLUTION, 'closest', 'mm', 'reach')


def test_time_out_with_the_same_detail(panda):
    server = Server(panda, max_searches=1_000_000)
    answer = server.solve(ik_request(hopeless(), timeout=Duration(nanosec=20_000_000)))
    refused(server, answer, ErrorCode.TIMED_OUT, 'closest', 'mm')


@pytest.mark.parametrize(
    ('timeout', 'expected'),
    [
        (Duration(sec=0, nanosec=0), 0.04),
        (Duration(sec=0, nanosec=120_000_000), 0.12),
        (Duration(sec=1, nanosec=0), 1.0),
        (Duration(sec=0, nanosec=1), 0.0),
    ],
)
def test_seconds_and_nanoseconds_are_both_honoured(panda, timeout, expected):
    server = Server(panda, max_searches=100_000_000, timeout=0.04)
    server.solve(ik_request(hopeless(), timeout=Duration(nanosec=1)))  # warm
    began = time.perf_counter()
    answer = server.solve(ik_request(hopeless(), timeout=timeout))
    took = time.perf_counter() - began
    assert answer.error_code.val == ErrorCode.TIMED_OUT
    assert expected <= took < expected + 0.3


def test_negative_timeout(server):
    request = ik_request(reachable(server.arm), timeout=Duration(sec=-1))
    refused(server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'timeout')


# The pose


@pytest.mark.parametrize('field', ['position.x', 'orientation.w'])
@pytest.mark.parametrize('number', [math.nan, math.inf])
def test_numbers_that_are_none(server, field, number):
    request = ik_request(reachable(server.arm))
    part, _, name = field.partition('.')
    setattr(getattr(request.ik_request.pose_stamped.pose, part), name, number)
    refused(
        server,
        server.solve(request),
        ErrorCode.INVALID_GOAL_CONSTRAINTS,
        f'pose_stamped.pose.{field}',
        str(number),
    )


def test_zero_quaternion(server):
    request = ik_request(reachable(server.arm))
    request.ik_request.pose_stamped.pose.orientation.w = 0.0
    quaternion = request.ik_request.pose_stamped.pose.orientation
    quaternion.x = quaternion.y = quaternion.z = 0.0
    refused(
        server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'orientation', 'zero'
    )


def test_huge_position_is_only_out_of_reach(server):
    T = reachable(server.arm)
    T[:3, 3] = 1.5e308
    refused(server, server.solve(ik_request(T)), ErrorCode.NO_IK_SOLUTION)


def test_one_pose_in_the_vector_wins(server):
    T = reachable(server.arm, 2)
    request = ik_request(np.eye(4), ik_link_name='nowhere')
    request.ik_request.pose_stamped_vector = [PoseStamped(pose=pose_from_matrix(T))]
    request.ik_request.ik_link_names = [TIP]
    joints = solved(server.solve(request))
    q = [joints[name] for name in server.arm.chain.joint_names]
    np.testing.assert_allclose(server.arm.chain.forward(q), T, atol=1e-4)


def test_several_poses_are_refused(server):
    request = ik_request(pose_stamped_vector=[PoseStamped(), PoseStamped()])
    request.ik_request.ik_link_names = [TIP]
    refused(server, server.solve(request), ErrorCode.INVALID_LINK_NAME, '2 poses', '1 link')
    request.ik_request.ik_link_names = [TIP, 'panda_link8']
    refused(server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'one link')


# The seed


@pytest.mark.parametrize(
    ('names', 'positions', 'words'),
    [
        (['elbow'], [0.0], ["'elbow'", 'panda_joint1']),
        (['panda_joint1'], [], ['1 names', '0 positions']),
        ([], [0.0], ['0 names', '1 positions']),
        (['panda_joint1'], [math.nan], ['panda_joint1', 'nan']),
        (['panda_joint1'], [-math.inf], ['panda_joint1', 'inf']),
        (['panda_joint1', 'panda_joint1'], [0.0, 0.1], ['panda_joint1', 'twice']),
        (['panda_joint8'], [0.0], ["'panda_joint8'"]),  # fixed
    ],
)
def test_bad_seed(server, names, positions, words):
    request = with_seed(ik_request(reachable(server.arm)), names, positions)
    answer = server.solve(request)
    refused(server, answer, ErrorCode.INVALID_ROBOT_STATE, 'robot_state.joint_state', *words)


def test_velocity_and_effort_in_the_seed_are_not_used(server):
    request = with_seed(ik_request(reachable(server.arm)), ['panda_joint1'], [0.1])
    request.ik_request.robot_state.joint_state.velocity = [math.nan, 1.0, 2.0]
    request.ik_request.robot_state.joint_state.effort = [math.inf]
    solved(server.solve(request))


def test_seed_outside_the_limits_is_brought_inside(server):
    names = server.arm.chain.joint_names
    request = with_seed(ik_request(reachable(server.arm)), names, [100.0] * 7)
    joints = solved(server.solve(request))
    assert all(
        server.arm.robot.joints[name].limits.lower <= joints[name] for name in names
    )  # fmt: skip


def test_seed_leads_to_the_solution_beside_it(server):
    for number in range(5):
        posture = posture_of(server.arm, number)
        q = 0.98 * posture[server.arm.indices] + 0.02 * server.arm.chain.mid_range()
        target = server.arm.chain.forward(q)
        request = with_seed(ik_request(target), server.arm.chain.joint_names, q)
        joints = solved(server.solve(request))
        np.testing.assert_allclose([joints[n] for n in server.arm.chain.joint_names], q, atol=1e-4)


def test_measured_state_is_the_seed_and_the_request_overlays_it(server):
    posture = posture_of(server.arm, 4)
    names = server.arm.postures.names
    server.measured.update(names, posture, 0.0)
    q = posture[server.arm.indices]
    target = server.arm.chain.forward(q)
    answer = server.solve(ik_request(target))
    joints = solved(answer)
    np.testing.assert_allclose([joints[n] for n in server.arm.chain.joint_names], q, atol=1e-9)
    assert 'measured' not in answer.error_code.message
    moved = solved(server.solve(with_seed(ik_request(target), ['panda_finger_joint1'], [0.01])))
    assert moved['panda_finger_joint1'] == 0.01
    assert moved['panda_joint1'] == pytest.approx(q[0])


def test_no_state_and_no_seed_starts_mid_range_and_says_so(server):
    answer = server.solve(ik_request(server.arm.chain.forward(server.arm.chain.mid_range())))
    joints = solved(answer)
    q = [joints[name] for name in server.arm.chain.joint_names]
    np.testing.assert_allclose(q, server.arm.chain.mid_range())
    assert 'middle of the range' in answer.error_code.message
    assert 'panda_joint4' in answer.error_code.message


def test_joints_with_several_degrees_of_freedom(server):
    request = ik_request(reachable(server.arm))
    request.ik_request.robot_state.multi_dof_joint_state.joint_names = ['virtual_joint']
    refused(server, server.solve(request), ErrorCode.INVALID_ROBOT_STATE, "'virtual_joint'")


# Names


@pytest.mark.parametrize('group', ['', 'manipulator', 'panda_arm'])
def test_groups(group):
    server = Server(panda_arm(group_names=('manipulator', '{robot}_arm')))
    solved(server.solve(ik_request(reachable(server.arm), group_name=group)))


def test_unknown_group(server):
    request = ik_request(reachable(server.arm), group_name='left_leg')
    answer = server.solve(request)
    refused(server, answer, ErrorCode.INVALID_GROUP_NAME, "'left_leg'", 'manipulator')


@pytest.mark.parametrize('link', ['panda_link8', 'panda_hand', 'panda_link7'])
def test_links_attached_to_the_tip(server, link):
    posture = posture_of(server.arm, 6)
    T = server.arm.link_poses(posture)[link]
    joints = solved(server.solve(ik_request(T, ik_link_name=link)))
    reached = server.arm.link_poses(np.array(list(joints.values())))[link]
    np.testing.assert_allclose(reached, T, atol=1e-4)


def test_another_link_below_the_base(plane_server):
    arm = plane_server.arm
    poses = arm.link_poses(posture_of(arm, 3))
    T = inverse(poses['base']) @ poses['fore']
    plane_server.settings = type(plane_server.settings)(
        options=type(plane_server.settings.options)(task_weights=(1, 1, 0, 0, 0, 0))
    )
    joints = solved(plane_server.solve(ik_request(T, 'base', ik_link_name='fore')))
    after = arm.link_poses(np.array(list(joints.values())))
    np.testing.assert_allclose(
        (inverse(after['base']) @ after['fore'])[:3, 3], T[:3, 3], atol=1e-4
    )


@pytest.mark.parametrize('link', ['no_such_link', 'neck', 'world', 'base'])
def test_other_links_are_refused(plane_server, link):
    answer = plane_server.solve(ik_request(np.eye(4), ik_link_name=link))
    refused(plane_server, answer, ErrorCode.INVALID_LINK_NAME, f'{link!r}')


# Frames


@pytest.mark.parametrize('frame', ['', 'world', '/world', 'table', 'base', 'hand', 'neck'])
def test_frames_of_the_robot_are_resolved_at_the_seed(plane_server, frame):
    arm = plane_server.arm
    start = posture_of(arm, 1)
    start[arm.postures.indices(['turntable', 'pan'])] = 0.7, 0.3
    goal = start.copy()
    goal[arm.indices] = posture_of(arm, 2)[arm.indices]
    before, after = arm.link_poses(start), arm.link_poses(goal)
    T_frame_tip = inverse(before[frame.strip('/') or 'world']) @ after['tool']
    request = with_seed(ik_request(T_frame_tip, frame), arm.postures.names, start)
    joints = solved(plane_server.solve(request))
    reached = arm.link_poses(np.array(list(joints.values())))['tool']
    np.testing.assert_allclose(reached[:3, 3], after['tool'][:3, 3], atol=1e-4)
    assert joints['turntable'] == 0.7


def test_unknown_frame_without_tf(server):
    answer = server.solve(ik_request(np.eye(4), 'camera'))
    refused(server, answer, ErrorCode.FRAME_TRANSFORM_FAILURE, "'camera'")


def test_frames_of_tf(panda):
    T_root_camera = np.eye(4)
    T_root_camera[:3, 3] = 0.1, 0.2, 0.3

    def tf(target, source):
        if source != 'camera':
            raise RequestError(ErrorCode.FRAME_TRANSFORM_FAILURE, f'no {source!r}')
        assert target == 'panda_link0'
        return T_root_camera

    server = Server(panda, tf=tf)
    T = reachable(panda, 8)
    joints = solved(server.solve(ik_request(inverse(T_root_camera) @ T, 'camera')))
    q = [joints[name] for name in panda.chain.joint_names]
    np.testing.assert_allclose(panda.chain.forward(q), T, atol=1e-4)
    answer = server.solve(ik_request(np.eye(4), 'nowhere'))
    refused(server, answer, ErrorCode.FRAME_TRANSFORM_FAILURE, "'nowhere'")


# Constraints and what else a request may hold


def test_joint_constraints_are_kept(server):
    T = reachable(server.arm, 1)
    free = solved(server.solve(ik_request(T)))
    other = free['panda_joint3'] + 0.3
    constraint = JointConstraint(
        joint_name='panda_joint3', position=other, tolerance_above=0.05, tolerance_below=0.1
    )
    request = ik_request(T, timeout=Duration(sec=1))
    request.ik_request.constraints.joint_constraints = [constraint]
    joints = solved(server.solve(request))
    assert other - 0.1 <= joints['panda_joint3'] <= other + 0.05


@pytest.mark.parametrize(
    ('kind', 'constraint'),
    [
        ('position_constraints', PositionConstraint()),
        ('orientation_constraints', OrientationConstraint()),
        ('visibility_constraints', VisibilityConstraint()),
    ],
)
def test_other_constraints_are_refused_by_name(server, kind, constraint):
    request = ik_request(reachable(server.arm))
    setattr(request.ik_request.constraints, kind, [constraint])
    refused(server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, kind)


def test_collisions_are_said_to_be_unchecked(server):
    request = ik_request(reachable(server.arm), avoid_collisions=True)
    request.ik_request.robot_state.attached_collision_objects = [AttachedCollisionObject()]
    answer = server.solve(request)
    solved(answer)
    assert 'collisions are not checked' in answer.error_code.message
    assert 'attached objects' in answer.error_code.message


NUMBERS = st.one_of(st.floats(-1.0, 1.0), st.floats())
NAMES = st.sampled_from(['panda_joint1', 'panda_joint7', 'panda_finger_joint2', 'tail', '', 'é'])
LINKS = st.sampled_from(['', TIP, 'panda_link0', 'panda_link4', 'panda_leftfinger', 'tail', '/'])


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_is_asked_the_answer_is_honest(panda, data):
    server = Server(panda, timeout=0.005)
    pose = PoseStamped().pose
    for field in ('x', 'y', 'z'):
        setattr(pose.position, field, data.draw(NUMBERS))
    pose.orientation.x, pose.orientation.w = data.draw(
        st.sampled_from([(0.0, 1.0), (0.6, 0.8), (1.0, 0.0)]) | st.tuples(NUMBERS, NUMBERS)
    )
    link, frame = data.draw(LINKS), data.draw(LINKS)
    request = ik_request(None, frame, ik_link_name=link)
    request.ik_request.pose_stamped.pose = pose
    seeded = data.draw(st.lists(st.tuples(NAMES, NUMBERS), max_size=3))
    with_seed(request, [name for name, _ in seeded], [value for _, value in seeded])
    constraint = JointConstraint(joint_name=data.draw(NAMES), position=data.draw(NUMBERS))
    constraint.tolerance_above = data.draw(NUMBERS)
    request.ik_request.constraints.joint_constraints = data.draw(
        st.sampled_from([[], [constraint]])
    )
    answer = server.solve(request)
    assert not server.errors
    assert answer.error_code.message
    assert answer.error_code.val in set(ErrorCode) - {ErrorCode.FAILURE}
    if answer.error_code.val == ErrorCode.SUCCESS:
        poses = panda.link_poses(np.array(answer.solution.joint_state.position))
        start = panda.link_poses(seed_posture(server.measured, request.ik_request.robot_state)[0])
        target = start[frame.strip('/') or 'panda_link0'] @ matrix_from_pose(pose)
        assert np.abs(pose_error(poses[link.strip('/') or TIP], target)).max() < 2e-5


def test_an_error_in_the_server_is_an_answer(server):
    server.ik._settings = lambda: 1 / 0
    answer = server.solve(ik_request(np.eye(4)))
    assert answer.error_code.val == ErrorCode.FAILURE
    assert 'ZeroDivisionError' in answer.error_code.message
    assert isinstance(server.errors[0], ZeroDivisionError)


def test_outcomes_are_counted(server):
    server.solve(ik_request(reachable(server.arm)))
    server.solve(ik_request(np.eye(4), 'nowhere'))
    report = server.ik.statistics.report()
    assert report['requests'] == '2'
    assert report['SUCCESS'] == report['FRAME_TRANSFORM_FAILURE'] == '1'
    assert float(report['longest solve time [ms]']) > 0.0
