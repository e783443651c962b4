"""Answers of compute_ik_batch, each of which is that of compute_ik, and of compute_ik_all."""

from functools import partial
import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetCartesianPath
import numpy as np
import pytest
from support.chains import arm_path
from support.harness import until
from support.ros.nodes import NODE
from support.ros.servers import (
    ik_request,
    IN_PLANE,
    mixed_poses,
    posture_of,
    reachable,
    Server,
    tree_arm,
    with_seed,
)
from support.ros.worlds import ball, LEFT, LEFT_SEED, put, RIGHT, T_TOOL

from ik_service import solve_ik_all
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.kinematics.pose_error import pose_error
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.services import compute_ik_all, compute_ik_batch

JOINTS = tuple(f'panda_joint{number}' for number in range(1, 8))


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """Calls that end when all poses are answered, however busy the machine is."""
    monkeypatch.setattr(compute_ik_batch, 'LONGEST_CALL', math.inf)


@pytest.fixture
def server(panda_model):
    """The handlers on our Panda, whose solves have all the time that they need."""
    return Server(panda_model, timeout=60.0)


def batch_of(poses, frame='', link='', **fields):
    request = GetCartesianPath.Request(waypoints=list(poses), link_name=link, **fields)
    request.header.frame_id = frame
    return request


def seeded(request, names, positions):
    joints = request.start_state.joint_state
    joints.name, joints.position = list(names), np.ravel(positions).tolist()
    return request


def answers(response):
    """Error code, message and joint positions of each pose, which have to go together."""
    outcomes = response.start_state.joint_state
    (point,) = response.solution.joint_trajectory.points
    names = response.solution.joint_trajectory.joint_names
    rows = np.reshape(point.positions, (len(outcomes.name), len(names))).tolist()
    found = []
    for code, why, row in zip(outcomes.effort, outcomes.name, rows, strict=True):
        solved = not np.isnan(row).any()
        assert (code == ErrorCode.SUCCESS) == solved == (not why)
        found.append((int(code), why, row if solved else []))
    return found


def same_as_alone(server, response, alone):
    """Check that each answer is that of compute_ik to the request for that pose alone."""
    assert response.error_code.val == ErrorCode.SUCCESS, response.error_code
    names = response.solution.joint_trajectory.joint_names
    for number, (code, _, positions) in enumerate(answers(response)):
        expected = server.solve(alone(number))
        assert code == expected.error_code.val, (number, expected.error_code)
        if code == ErrorCode.SUCCESS:
            assert positions == list(expected.solution.joint_state.position), number
            assert names == expected.solution.joint_state.name
        else:  # the closest posture is told by compute_ik alone
            assert positions == [], number
    assert not server.errors


def asked(poses, number, frame='', **fields):
    request = ik_request(frame=frame, **fields)
    request.ik_request.pose_stamped.pose = poses[number]
    return request


def test_each_pose_is_answered_as_by_compute_ik(server):
    poses = mixed_poses(server.arm)
    response = server.solve_many(batch_of(poses))
    same_as_alone(server, response, lambda number: asked(poses, number))
    codes = [code for code, _, _ in answers(response)]
    assert codes.count(ErrorCode.SUCCESS) == 34
    assert response.fraction == 34 / 40
    assert response.error_code.message.startswith('34 of 40 poses are solved')
    assert 'waypoints[3].orientation.x is nan' in answers(response)[3][1]
    assert 'zero quaternion' in answers(response)[7][1]


@pytest.mark.parametrize('frame', ['', 'panda_link3'])
@pytest.mark.parametrize('link', ['', 'panda_link5'])
def test_seeds_frames_and_links_are_those_of_compute_ik(server, frame, link):
    poses = mixed_poses(server.arm)
    rows = np.array([posture_of(server.arm, 100 + seed)[:7] for seed in range(40)])
    rows[5, 2], rows[6, 1] = math.nan, 1e7

    def alone(number):
        request = asked(poses, number, frame, ik_link_name=link)
        return with_seed(request, JOINTS, rows[number])

    response = server.solve_many(seeded(batch_of(poses, frame, link), JOINTS, rows))
    same_as_alone(server, response, alone)
    codes = [code for code, _, _ in answers(response)]
    assert codes[5] == codes[6] == ErrorCode.INVALID_ROBOT_STATE


def test_one_seed_is_for_all_poses(server):
    poses = mixed_poses(server.arm)
    seed = posture_of(server.arm, 5)[:7]
    response = server.solve_many(seeded(batch_of(poses), JOINTS, seed))
    same_as_alone(server, response, lambda k: with_seed(asked(poses, k), JOINTS, seed))


def test_joints_beside_the_chain_and_mimic_joints():
    server = Server(tree_arm(), task_weights=IN_PLANE, timeout=60.0)
    names = ('shoulder', 'elbow', 'wrist', 'grip', 'pan')
    poses = [pose_from_matrix(server.arm.pose_of('tool', 'base', posture_of(server.arm, k)))
             for k in range(6)]  # fmt: skip
    rows = np.tile([0.1, 0.5, 0.2, 0.01, 0.0], (6, 1))
    rows[:, 0] = np.linspace(-1.0, 1.0, 6)

    def alone(number):
        return with_seed(asked(poses, number, 'base'), names, rows[number])

    same_as_alone(server, server.solve_many(seeded(batch_of(poses, 'base'), names, rows)), alone)
    rows[2, 3] = 0.02  # differs beside the chain
    same_as_alone(server, server.solve_many(seeded(batch_of(poses, 'base'), names, rows)), alone)


HELD = JointConstraint(
    joint_name='panda_joint1', position=0.3, weight=1.0, tolerance_above=0.4, tolerance_below=0.4
)
LEVEL = OrientationConstraint(
    link_name='panda_link5',
    weight=1.0,
    **{f'absolute_{axis}_axis_tolerance': 3.0 for axis in 'xyz'},
)


@pytest.mark.parametrize(('kind', 'constraint'), [('joint', HELD), ('orientation', LEVEL)])
def test_constraints_and_collisions(server, kind, constraint):
    server.check_collisions()
    poses = mixed_poses(server.arm)[: 20 if kind == 'joint' else 5]
    request = batch_of(poses, avoid_collisions=True)
    setattr(request.path_constraints, f'{kind}_constraints', [constraint])

    def alone(number):
        question = asked(poses, number, avoid_collisions=True)
        setattr(question.ik_request.constraints, f'{kind}_constraints', [constraint])
        return question

    same_as_alone(server, server.solve_many(request), alone)


@pytest.mark.parametrize(
    ('fields', 'code'),
    [
        ({'group_name': 'legs'}, ErrorCode.INVALID_GROUP_NAME),
        ({'link': 'toe'}, ErrorCode.INVALID_LINK_NAME),
        ({'frame': 'nowhere'}, ErrorCode.FRAME_TRANSFORM_FAILURE),
    ],
)
def test_what_no_pose_can_be_answered_for_refuses_the_call(server, fields, code):
    response = server.solve_many(batch_of(mixed_poses(server.arm), **fields))
    assert response.error_code.val == code
    assert not response.solution.joint_trajectory.points
    assert not response.start_state.joint_state.name


def test_seeds_of_a_wrong_length_refuse_the_call(server):
    request = seeded(batch_of(mixed_poses(server.arm)), JOINTS, np.zeros(7 * 39))
    response = server.solve_many(request)
    assert response.error_code.val == ErrorCode.INVALID_ROBOT_STATE
    assert '273 positions' in response.error_code.message


def test_no_poses_and_too_many(server, monkeypatch):
    response = server.solve_many(batch_of([]))
    assert response.error_code.val == ErrorCode.SUCCESS
    assert answers(response) == []
    monkeypatch.setattr(compute_ik_batch, 'MOST_POSES', 3)
    response = server.solve_many(batch_of([Pose()] * 4))
    assert response.error_code.val == ErrorCode.FAILURE
    assert 'at most 3' in response.error_code.message


@pytest.mark.parametrize('poses', [1, 200])
def test_a_call_whose_time_is_up_leaves_poses_and_says_so(server, monkeypatch, poses):
    monkeypatch.setattr(compute_ik_batch, 'LONGEST_CALL', -1.0)
    good = [pose_from_matrix(reachable(server.arm, seed)) for seed in range(poses)]
    found = answers(server.solve_many(batch_of(good)))
    solved = [code for code, _, _ in found if code == ErrorCode.SUCCESS]
    assert solved  # so that whoever asks again comes to an end
    left = [why for code, why, _ in found if code == ErrorCode.PREEMPTED]
    assert len(solved) + len(left) == poses
    assert all('not solved' in why for why in left)


SERVICE = 'compute_ik_all'
BENT = np.array([0.3, -1.2, 1.6, -1.9, -1.57, 0.4])


@pytest.fixture(scope='module')
def ur5e_server():
    return Server(build_arm(arm_path('ur5e'), ArmSettings(tip_link='tool0')))


def listing(T, seed=None, names=(), **fields):
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


def test_all_solutions_of_a_six_joint_arm_nearest_to_the_seed_first(ur5e_server):
    chain = ur5e_server.arm.chain
    T = chain.forward(BENT)
    answer = ur5e_server.solve_all(listing(T, BENT, chain.joint_names))
    rows, names = listed(answer)
    assert names == list(ur5e_server.arm.postures.names)
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


def test_the_frame_and_the_link_of_the_request_count(ur5e_server):
    chain, arm = ur5e_server.arm.chain, ur5e_server.arm
    ur5e_server.measured.update(chain.joint_names, np.zeros(6), now=0.0)
    places = arm.link_poses(np.zeros(6))
    T = np.linalg.inv(places['wrist_3_link']) @ arm.link_poses(BENT)['flange']
    request = listing(T, BENT, chain.joint_names, link_name='flange')
    request.header.frame_id = 'wrist_3_link'
    rows, _ = listed(ur5e_server.solve_all(request))
    np.testing.assert_allclose(rows[0], BENT, atol=1e-6)


def test_joint_constraints_leave_solutions_out(ur5e_server):
    chain = ur5e_server.arm.chain
    request = listing(chain.forward(BENT), BENT, chain.joint_names)
    request.path_constraints.joint_constraints = [
        JointConstraint(
            joint_name='elbow_joint', position=1.0, tolerance_above=1.0, tolerance_below=1.0,
            weight=1.0,
        )
    ]  # fmt: skip
    rows, names = listed(ur5e_server.solve_all(request))
    assert len(rows) == 4
    assert (rows[:, names.index('elbow_joint')] > 0.0).all()


def test_a_list_that_is_not_complete_says_so_in_terms_of_the_request(ur5e_server, monkeypatch):
    three = partial(compute_ik_all.list_solutions, max_solutions=3)
    monkeypatch.setattr(compute_ik_all, 'list_solutions', three)
    chain = ur5e_server.arm.chain
    answer = ur5e_server.solve_all(listing(chain.forward(BENT), BENT, chain.joint_names))
    assert len(listed(answer)[0]) == 3
    assert answer.fraction == 0.0
    assert 'not all: there are more than 3;' in answer.error_code.message
    assert 'max_step' in answer.error_code.message
    assert 'max_solutions' not in answer.error_code.message


def faulty(chain):
    T = chain.forward(BENT)
    far, nan, two = np.eye(4), listing(T), listing(T)
    far[0, 3] = 5.0
    nan.waypoints[0].position.x = math.nan
    two.waypoints = [Pose(), Pose()]
    constrained = listing(T)
    constrained.path_constraints.orientation_constraints = [OrientationConstraint()]
    placed = listing(T)
    placed.path_constraints.position_constraints = [PositionConstraint()]
    seen = listing(T)
    seen.path_constraints.visibility_constraints = [VisibilityConstraint()]
    yield seen, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'joints'
    yield listing(far), ErrorCode.NO_IK_SOLUTION, 'no solution'
    yield nan, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'position.x'
    yield two, ErrorCode.INVALID_GOAL_CONSTRAINTS, '2 poses'
    yield GetCartesianPath.Request(), ErrorCode.INVALID_GOAL_CONSTRAINTS, '0 poses'
    yield constrained, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'joints'
    yield placed, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'joints'
    yield listing(T, group_name='leg'), ErrorCode.INVALID_GROUP_NAME, 'leg'
    yield listing(T, link_name='tail'), ErrorCode.INVALID_LINK_NAME, 'tail'
    yield listing(T, [0.0], ['nobody']), ErrorCode.INVALID_ROBOT_STATE, 'nobody'
    yield listing(T, max_step=-1.0), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'max_step'
    yield listing(T, max_step=math.nan), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'max_step'


def test_faulty_requests_are_refused_by_name(ur5e_server):
    for request, code, word in faulty(ur5e_server.arm.chain):
        answer = ur5e_server.solve_all(request)
        assert answer.error_code.val == code, (word, answer.error_code)
        assert word in answer.error_code.message
        assert not answer.solution.joint_trajectory.points
    assert ur5e_server.errors == []


def test_only_solutions_without_collisions_where_that_is_asked_for(crane):
    def solutions(avoid):
        request = listing(T_TOOL, LEFT_SEED.values(), LEFT_SEED, avoid_collisions=avoid)
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
        GetCartesianPath, SERVICE, listing(chain.forward(BENT), BENT, chain.joint_names), 60.0
    )
    assert len(listed(answer)[0]) == 8
    until(lambda: SERVICE in node.output, what='the line of the log')
