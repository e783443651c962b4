"""Responses of compute_ik, without a node: solved, unsolved, out of time, invalid."""

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from moveit_msgs.msg import JointConstraint
import numpy as np
import pytest
from support.ros.servers import (
    hopeless,
    ik_request,
    panda_arm,
    reachable,
    refused,
    Server,
    solved,
    TIP,
    with_seed,
)

from ik_service import solve_ik
from ik_service.kinematics.pose_error import pose_error
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.requests.errors import ErrorCode
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


@settings(max_examples=300, deadline=None)
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
