"""Responses of compute_ik without a node: results, targets, time, requests of known clients."""

import math

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from moveit_msgs.msg import JointConstraint
import numpy as np
import pytest
from support.chains import pose_difference
from support.ros.cells import READY
from support.ros.servers import (
    hopeless,
    ik_request,
    IN_PLANE,
    panda_arm,
    posture_of,
    reachable,
    reached,
    refused,
    Server,
    solved,
    TIP,
    together,
    tree_arm,
    with_seed,
)

from ik_service import solve_ik
from ik_service.common.transforms import inverse_transform
from ik_service.kinematics.pose_error import pose_error
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.node.parameter_table import GROUP_NAMES
from ik_service.ros.requests.service_handler import start_posture


@pytest.mark.parametrize('seed', range(4))
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
    for word in ('mm', '°', 'iteration', 'search', 'ms'):
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


def closest(server, answer, T):
    """How far the posture of an answer leaves the tip from a target [m]."""
    joints = answer.solution.joint_state
    found = dict(zip(joints.name, joints.position, strict=True))
    assert tuple(found) == server.arm.robot.movable_joint_names
    chain = server.arm.chain
    q = np.array([found[name] for name in chain.joint_names])
    assert np.all((q >= chain.lower) & (q <= chain.upper))
    return float(np.linalg.norm(chain.forward(q)[:3, 3] - T[:3, 3]))


def test_out_of_reach_carries_the_closest_posture(server):
    T = np.eye(4)
    T[0, 3] = 3.0
    request = with_seed(ik_request(T), ['panda_finger_joint1'], [0.03])
    answer = server.solve(request)
    refused(server, answer, ErrorCode.NO_IK_SOLUTION, 'closest', 'mm', 'reach')
    expected = server.settings.options
    result = solve_ik(server.arm.chain, T, seed=server.arm.chain.middle, options=expected)
    assert closest(server, answer, T) == pytest.approx(result.position_error, rel=1e-3)
    assert answer.solution.joint_state.position[-1] == 0.03  # beside the arm, as in the seed


def test_time_out_reports_the_distance_of_the_closest_pose(panda_model):
    server = Server(panda_model, max_searches=1_000_000)
    answer = server.solve(ik_request(hopeless(), timeout=Duration(nanosec=20_000_000)))
    refused(server, answer, ErrorCode.TIMED_OUT, 'closest', 'mm')


@pytest.mark.parametrize(
    ('timeout', 'seconds'),
    [
        (Duration(), 0.04),  # that of the parameter
        (Duration(nanosec=1), 1e-9),
        (Duration(nanosec=120_000_000), 0.12),
        (Duration(sec=1, nanosec=500_000_000), 1.5),
        (Duration(sec=60), 60.0),
        (Duration(sec=61), 60.0),
        (Duration(sec=2**31 - 1), 60.0),
    ],
)
def test_seconds_and_nanoseconds_of_a_timeout_count_up_to_a_minute(panda_model, timeout, seconds):
    server, asked = Server(panda_model, timeout=0.04), []
    solver = panda_model.group.chain_solvers['', server.settings].solver
    solve = solver.solve
    solver.solve = lambda T, seed, timeout, **more: (
        asked.append(timeout or solver.options.timeout) or solve(T, seed, 1.0, **more)
    )
    try:
        answer = server.solve(ik_request(reachable(panda_model), timeout=timeout))
    finally:
        del solver.solve
    solved(answer)
    assert asked == [pytest.approx(seconds)]
    assert ('is cut to 60 s' in answer.error_code.message) == (timeout.sec > 60)


def test_negative_timeout(server):
    request = ik_request(reachable(server.arm), timeout=Duration(sec=-1))
    refused(server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'timeout')


NUMBERS = st.one_of(st.floats(-1.0, 1.0), st.floats())
NAMES = st.sampled_from(['panda_joint1', 'panda_joint7', 'panda_finger_joint2', 'tail', '', 'é'])
LINKS = st.sampled_from(['', TIP, 'panda_link0', 'panda_link4', 'panda_leftfinger', 'tail', '/'])


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_random_requests_get_correct_answers(panda_model, data):
    server = Server(panda_model, timeout=0.005)
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
        poses = panda_model.link_poses(np.array(answer.solution.joint_state.position))
        start, given = start_posture(server.measured, request.ik_request.robot_state)
        solved_for = panda_model.group.chain_solvers[link, server.settings].indices
        panda_model.postures.bring_inside(start, solved_for, given)
        start = panda_model.link_poses(start)
        target = start[frame.strip('/') or 'panda_link0'] @ matrix_from_pose(pose)
        assert np.abs(pose_error(poses[link.strip('/') or TIP], target)).max() < 2e-5
        for name, position in solved(answer).items():
            limits = panda_model.robot.joints[name].limits
            assert limits.lower <= position <= limits.upper


def test_an_error_in_the_server_becomes_a_failure_response(server):
    server.ik.settings = None
    answer = server.solve(ik_request(np.eye(4)))
    assert answer.error_code.val == ErrorCode.FAILURE
    assert 'AttributeError' in answer.error_code.message
    assert isinstance(server.errors[0], AttributeError)


def test_a_request_before_there_is_an_arm_is_answered(server):
    server.ik.measured = None
    answer = server.solve(ik_request(np.eye(4)))
    refused(server, answer, ErrorCode.FAILURE, 'no robot description')


def test_requests_are_counted_and_a_refusal_is_logged_and_kept(server):
    told, statistics = server.refusals, server.ik.statistics
    assert statistics.report()['last refusal'] == 'none'
    answer = server.solve(ik_request(np.eye(4), 'nowhere'))
    server.solve(ik_request(reachable(server.arm)))
    server.solve(ik_request(hopeless()))  # in order, only without a solution
    assert told == [answer.error_code.message]
    report = statistics.report()
    assert report['last refusal'] == f'FRAME_TRANSFORM_FAILURE: {answer.error_code.message}'
    assert report['requests'] == '3'
    assert report['SUCCESS'] == report['FRAME_TRANSFORM_FAILURE'] == '1'
    assert float(report['longest solve time [ms]']) > 0.0


@pytest.fixture(scope='module')
def tree():
    return tree_arm()


@pytest.fixture
def plane_server(tree):
    return Server(tree, task_weights=IN_PLANE)


@pytest.mark.parametrize('field', ['position.x', 'orientation.w'])
@pytest.mark.parametrize('number', [math.nan, math.inf])
def test_nan_and_infinity_in_the_pose(server, field, number):
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


def test_a_quaternion_far_from_unit_length_is_named(server):
    request = ik_request(reachable(server.arm))
    turn = request.ik_request.pose_stamped.pose.orientation
    turn.x, turn.y, turn.z, turn.w = 0.7, 0.7, 0.0, 0.0
    assert 'normalised' not in server.solve(request).error_code.message
    turn.w = 1.0  # as where a client leaves it out
    message = server.solve(request).error_code.message
    assert 'pose_stamped.pose.orientation, of length 1.41, was normalised' in message


def test_huge_position_is_out_of_reach(server):
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


@pytest.mark.parametrize('link', ['panda_link8', 'panda_hand', 'panda_link7'])
def test_links_attached_to_the_tip(server, link):
    posture = posture_of(server.arm, 6)
    T = server.arm.link_poses(posture)[link]
    found = reached(server, server.solve(ik_request(T, ik_link_name=link)))
    np.testing.assert_allclose(found[link], T, atol=1e-4)


def test_another_link_below_the_base(plane_server):
    arm = plane_server.arm
    poses = arm.link_poses(posture_of(arm, 3))
    T = inverse_transform(poses['base']) @ poses['fore']
    plane_server.settings = type(plane_server.settings)(
        options=type(plane_server.settings.options)(task_weights=(1, 1, 0, 0, 0, 0))
    )
    after = reached(plane_server, plane_server.solve(ik_request(T, 'base', ik_link_name='fore')))
    np.testing.assert_allclose(
        (inverse_transform(after['base']) @ after['fore'])[:3, 3], T[:3, 3], atol=1e-4
    )


@pytest.mark.parametrize('link', ['no_such_link', 'neck', 'world', 'base'])
def test_other_links_are_refused(plane_server, link):
    answer = plane_server.solve(ik_request(np.eye(4), ik_link_name=link))
    refused(plane_server, answer, ErrorCode.INVALID_LINK_NAME, f'{link!r}')


HUGE = 'x' * 10_000_000


@pytest.mark.parametrize(
    ('fields', 'joints', 'code'),
    [
        ({'group_name': HUGE}, [], ErrorCode.INVALID_GROUP_NAME),
        ({'ik_link_name': HUGE}, [], ErrorCode.INVALID_LINK_NAME),
        ({'frame': HUGE}, [], ErrorCode.FRAME_TRANSFORM_FAILURE),
        ({}, [HUGE], ErrorCode.INVALID_ROBOT_STATE),
    ],
    ids=['group', 'link', 'frame', 'joint'],
)
def test_huge_names_are_cut_and_not_looked_up(panda_model, fields, joints, code):
    server = Server(panda_model, tf=lambda links, source: pytest.fail('asked'))
    request = ik_request(reachable(panda_model), **fields)
    answer = server.solve(with_seed(request, joints, [0.0] * len(joints)))
    refused(server, answer, code, "'xxx", '10000000 characters')
    assert len(answer.error_code.message) < 1000


BASE, TWO_SECONDS = 'panda_link0', Duration(sec=2)


@pytest.fixture
def ready():
    """Handlers of our Panda, which is measured in READY and knows the groups of the node."""
    server = Server(panda_arm(group_names=tuple(GROUP_NAMES.default)))
    measured = dict.fromkeys(server.arm.robot.movable_joint_names, 0.0)
    measured |= dict(zip(server.arm.chain.joint_names, READY, strict=True))
    server.measured.update([*measured], [*measured.values()], now=0.0)
    return server


@pytest.fixture
def goal(ready):
    """Poses of all links in another posture."""
    posture = ready.measured.posture()
    posture[ready.arm.indices] = 0.4, -0.3, 0.2, -1.9, 0.1, 1.8, 0.3
    return ready.arm.link_poses(posture)


def places(server, request, link, T):
    """Check that a request is solved, and where a link has to be."""
    found = reached(server, server.solve(request))[link]
    assert max(pose_difference(found, T)) <= 2e-5, link


def test_requests_of_pymoveit2_moveits_plugin_and_compas_fab(ready, goal):
    hand, flange, arm = goal['panda_hand_tcp'], goal['panda_link8'], ready.arm

    # pymoveit2
    request = ik_request(hand, BASE, avoid_collisions=True, group_name='arm')
    request.ik_request.ik_link_name = 'panda_hand_tcp'
    request.ik_request.pose_stamped.header.stamp.sec = 7
    places(ready, request, 'panda_hand_tcp', hand)

    # srv_kinematics_plugin: the full state as the seed, the tip of the group, no timeout
    request = ik_request(flange, BASE, group_name='panda_arm', avoid_collisions=True)
    request.ik_request.ik_link_name = 'panda_link8'
    state = with_seed(request, arm.postures.names, ready.measured.posture()).ik_request.robot_state
    state.joint_state.header.frame_id = state.multi_dof_joint_state.header.frame_id = BASE
    places(ready, request, 'panda_link8', flange)

    # One pose in the vector
    request = together({'panda_link8': flange}, group_name='panda_arm', timeout=TWO_SECONDS)
    places(ready, request, 'panda_link8', flange)
    request.ik_request.ik_link_names = []  # then the group's tip, and not ik_link_name
    request.ik_request.ik_link_name = 'panda_link3'
    places(ready, request, 'panda_link8', flange)

    # COMPAS FAB
    request = ik_request(flange, BASE, group_name='panda_arm', timeout=TWO_SECONDS)
    request.ik_request.robot_state.is_diff = True
    request.ik_request.avoid_collisions = True
    with_seed(request, arm.chain.joint_names, READY)
    places(ready, request, 'panda_link8', flange)


def test_a_pose_with_neither_frame_nor_exact_norm_and_one_in_the_frame_of_a_link(ready, goal):
    """As with ros2 service call; the frame is where the link is measured, wherever the seed is."""
    hand, arm = goal['panda_hand_tcp'], ready.arm
    request = ik_request(hand, group_name='manipulator', timeout=TWO_SECONDS)
    request.ik_request.robot_state.is_diff = True
    orientation = request.ik_request.pose_stamped.pose.orientation
    for axis in 'xyzw':
        setattr(orientation, axis, round(0.99 * getattr(orientation, axis), 12))
    places(ready, request, 'panda_hand_tcp', hand)
    answer = ready.solve(ik_request(hand, 'world'))
    refused(ready, answer, ErrorCode.FRAME_TRANSFORM_FAILURE, "'world'")

    request = ik_request(np.eye(4), 'panda_link8', group_name='panda_arm')
    with_seed(request, arm.chain.joint_names, [0.1, 0.2, 0.3, -1.0, 0.5, 1.0, 0.0])
    flange = ready.arm.link_poses(ready.measured.posture())['panda_link8']
    places(ready, request, 'panda_link8', flange)
