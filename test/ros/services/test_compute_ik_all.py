"""All solutions of a pose as a service: which, in which order, and what is refused."""

import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import JointConstraint, OrientationConstraint, PositionConstraint
from moveit_msgs.srv import GetCartesianPath
import numpy as np
import pytest
from support.chains import arm_path
from support.harness import until
from support.ros.nodes import NODE
from support.ros.servers import Server
from support.ros.worlds import (
    ball,
    crane_server,
    LEFT,
    LEFT_SEED,
    put,
    RIGHT,
    T_TOOL,
)

from ik_service import solve_ik_all
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.kinematics.pose_error import pose_error
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.errors import ErrorCode

SERVICE = 'compute_ik_all'
BENT = np.array([0.3, -1.2, 1.6, -1.9, -1.57, 0.4])


@pytest.fixture(scope='module')
def server():
    return Server(build_arm(arm_path('ur5e'), ArmSettings(tip_link='tool0')))


@pytest.fixture
def crane():
    pytest.importorskip('coal', reason='needs the extra collision')
    return crane_server()


def asked(T, seed=None, names=(), **fields):
    request = GetCartesianPath.Request(waypoints=[pose_from_matrix(T)], **fields)
    if seed is not None:
        request.start_state.joint_state.name = list(names)
        request.start_state.joint_state.position = [float(q) for q in seed]
    return request


def listed(answer):
    """The solutions of an answer that must be a success, as rows of all movable joints."""
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    joints = answer.solution.joint_trajectory
    (point,) = joints.points
    rows = np.array(point.positions).reshape(-1, len(joints.joint_names))
    codes = np.array(answer.start_state.joint_state.effort)
    assert len(codes) == len(rows)
    assert (codes == ErrorCode.SUCCESS).all()
    return rows, list(joints.joint_names)


def test_all_solutions_of_a_six_joint_arm_nearest_to_the_seed_first(server):
    chain = server.arm.chain
    T = chain.forward(BENT)
    answer = server.solve_all(asked(T, BENT, chain.joint_names))
    rows, names = listed(answer)
    assert names == list(server.arm.postures.names)
    assert len(rows) == 8
    np.testing.assert_allclose(rows[0], BENT, atol=1e-6)
    distances = np.abs(rows - BENT).max(axis=1)
    assert (np.diff(distances) >= -1e-9).all()
    for row in rows:
        assert np.abs(pose_error(chain.forward(row), T)).max() < 2e-5
    expected = solve_ik_all(chain, T, BENT)
    np.testing.assert_allclose(rows, expected, atol=1e-9)
    assert answer.fraction == 1.0
    assert answer.error_code.message.startswith('8 solutions')


def test_the_frame_and_the_link_of_the_request_count(server):
    chain, arm = server.arm.chain, server.arm
    server.measured.update(chain.joint_names, np.zeros(6), now=0.0)
    places = arm.link_poses(np.zeros(6))
    T = np.linalg.inv(places['wrist_3_link']) @ arm.link_poses(BENT)['flange']
    request = asked(T, BENT, chain.joint_names, link_name='flange')
    request.header.frame_id = 'wrist_3_link'
    rows, _ = listed(server.solve_all(request))
    np.testing.assert_allclose(rows[0], BENT, atol=1e-6)


def test_joint_constraints_leave_solutions_out(server):
    chain = server.arm.chain
    request = asked(chain.forward(BENT), BENT, chain.joint_names)
    request.path_constraints.joint_constraints = [
        JointConstraint(
            joint_name='elbow_joint', position=1.0, tolerance_above=1.0, tolerance_below=1.0,
            weight=1.0,
        )
    ]  # fmt: skip
    rows, names = listed(server.solve_all(request))
    assert len(rows) == 4
    assert (rows[:, names.index('elbow_joint')] > 0.0).all()


def faulty(chain):
    T = chain.forward(BENT)
    far, nan, two = np.eye(4), asked(T), asked(T)
    far[0, 3] = 5.0
    nan.waypoints[0].position.x = math.nan
    two.waypoints = [Pose(), Pose()]
    constrained = asked(T)
    constrained.path_constraints.orientation_constraints = [OrientationConstraint()]
    placed = asked(T)
    placed.path_constraints.position_constraints = [PositionConstraint()]
    yield asked(far), ErrorCode.NO_IK_SOLUTION, 'no solution'
    yield nan, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'position.x'
    yield two, ErrorCode.INVALID_GOAL_CONSTRAINTS, '2 poses'
    yield GetCartesianPath.Request(), ErrorCode.INVALID_GOAL_CONSTRAINTS, '0 poses'
    yield constrained, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'joints'
    yield placed, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'joints'
    yield asked(T, group_name='leg'), ErrorCode.INVALID_GROUP_NAME, 'leg'
    yield asked(T, link_name='tail'), ErrorCode.INVALID_LINK_NAME, 'tail'
    yield asked(T, [0.0], ['nobody']), ErrorCode.INVALID_ROBOT_STATE, 'nobody'
    yield asked(T, max_step=-1.0), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'max_step'
    yield asked(T, max_step=math.nan), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'max_step'


def test_faulty_requests_are_refused_by_name(server):
    for request, code, word in faulty(server.arm.chain):
        answer = server.solve_all(request)
        assert answer.error_code.val == code, (word, answer.error_code)
        assert word in answer.error_code.message
        assert not answer.solution.joint_trajectory.points
    assert server.errors == []


def test_only_solutions_without_collisions_where_that_is_asked_for(crane):
    def solutions(avoid):
        request = asked(T_TOOL, LEFT_SEED.values(), LEFT_SEED, avoid_collisions=avoid)
        answer = crane.solve_all(request)
        return answer, answer.error_code.message

    crane.settings = crane.ik.settings
    rows, names = listed(solutions(False)[0])
    assert np.sign(rows[:, names.index('elbow')]).tolist() == [-1.0, 1.0]
    put(crane, ball('lamp', LEFT))
    answer, message = solutions(True)
    rows, names = listed(answer)
    assert np.sign(rows[:, names.index('elbow')]).tolist() == [1.0]
    assert 'without 1 that collide' in message
    put(crane, ball('post', RIGHT))
    answer, message = solutions(True)
    assert answer.error_code.val == ErrorCode.GOAL_IN_COLLISION
    assert 'all 2 solutions collide' in message
    assert 'lamp' in message  # in the nearest
    assert len(listed(solutions(False)[0])[0]) == 2


def test_the_node_offers_the_service_when_its_kernels_are_ready(bench):
    node = bench.start(NODE, urdf=str(arm_path('ur5e')), tip_link='tool0')
    client = bench.service_client(GetCartesianPath, SERVICE, timeout=300.0)
    assert client.service_is_ready()
    chain = build_arm(arm_path('ur5e'), ArmSettings(tip_link='tool0')).chain
    answer = bench.call(
        GetCartesianPath, SERVICE, asked(chain.forward(BENT), BENT, chain.joint_names), 60.0
    )
    assert len(listed(answer)[0]) == 8
    until(lambda: SERVICE in node.output, 10.0, 'the line of the log')
