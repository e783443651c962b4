"""Targets that compute_ik accepts and refuses: poses, groups, links and frames; no node."""

import math

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from support.ros.servers import (
    ik_request,
    IN_PLANE,
    posture_of,
    reachable,
    refused,
    Server,
    solved,
    TIP,
    tree_arm,
    with_seed,
)

from ik_service.common.transforms import inverse_transform
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.errors import ErrorCode


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


def test_zero_quaternion(server):
    request = ik_request(reachable(server.arm))
    request.ik_request.pose_stamped.pose.orientation.w = 0.0
    quaternion = request.ik_request.pose_stamped.pose.orientation
    quaternion.x = quaternion.y = quaternion.z = 0.0
    refused(
        server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'orientation', 'zero'
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
    joints = solved(server.solve(ik_request(T, ik_link_name=link)))
    reached = server.arm.link_poses(np.array(list(joints.values())))[link]
    np.testing.assert_allclose(reached, T, atol=1e-4)


def test_another_link_below_the_base(plane_server):
    arm = plane_server.arm
    poses = arm.link_poses(posture_of(arm, 3))
    T = inverse_transform(poses['base']) @ poses['fore']
    plane_server.settings = type(plane_server.settings)(
        options=type(plane_server.settings.options)(task_weights=(1, 1, 0, 0, 0, 0))
    )
    joints = solved(plane_server.solve(ik_request(T, 'base', ik_link_name='fore')))
    after = arm.link_poses(np.array(list(joints.values())))
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
