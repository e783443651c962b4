"""Answers of compute_ik_batch, without a node: each pose's is that of compute_ik."""

import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import JointConstraint, OrientationConstraint
from moveit_msgs.srv import GetCartesianPath
import numpy as np
import pytest
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

from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.errors import ErrorCode
from ik_service.ros.services import compute_ik_batch

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


def test_constraints_and_collisions(server):
    server.check_collisions()
    poses = mixed_poses(server.arm)[:20]
    held = JointConstraint(joint_name='panda_joint1', position=0.3, weight=1.0)
    held.tolerance_above = held.tolerance_below = 0.4
    request = batch_of(poses, avoid_collisions=True)
    request.path_constraints.joint_constraints = [held]

    def alone(number):
        question = asked(poses, number, avoid_collisions=True)
        question.ik_request.constraints.joint_constraints = [held]
        return question

    same_as_alone(server, server.solve_many(request), alone)


def test_constraints_on_links(server):
    poses = mixed_poses(server.arm)[:5]
    level = OrientationConstraint(link_name='panda_link5', weight=1.0)
    level.header.frame_id, level.orientation.w = 'panda_link0', 1.0
    level.absolute_x_axis_tolerance = level.absolute_y_axis_tolerance = 3.0
    level.absolute_z_axis_tolerance = 3.0
    request = batch_of(poses)
    request.path_constraints.orientation_constraints = [level]

    def alone(number):
        question = asked(poses, number)
        question.ik_request.constraints.orientation_constraints = [level]
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
