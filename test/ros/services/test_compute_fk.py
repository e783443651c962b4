"""Responses of compute_fk, without a node."""

import math

from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from support.ros.servers import posture_of, Server, tree_arm

from ik_service.common.transforms import inverse_transform
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.requests.errors import ErrorCode


@pytest.fixture
def server():
    return Server(tree_arm())


def fk_request(links, frame='', names=(), positions=()):
    request = GetPositionFK.Request(fk_link_names=list(links))
    request.header.frame_id = frame
    request.robot_state.joint_state.name = list(names)
    request.robot_state.joint_state.position = [float(value) for value in positions]
    return request


@pytest.mark.parametrize('frame', ['', 'world', '/base', 'hand', 'neck'])
def test_poses_of_any_links_in_any_frame(server, frame):
    posture = posture_of(server.arm, 1)
    names = server.arm.postures.names
    poses = server.arm.link_poses(posture)
    links = ['tool', 'world', 'finger_2', 'neck']
    answer = server.place(fk_request(links, frame, names, posture))
    assert answer.error_code.val == ErrorCode.SUCCESS
    note = 'is where the seed puts it, because it is not measured'
    assert (note in answer.error_code.message) == (frame in ('/base', 'hand', 'neck'))
    assert answer.fk_link_names == links
    T_frame_root = inverse_transform(poses[frame.strip('/') or 'world'])
    for link, stamped in zip(links, answer.pose_stamped, strict=True):
        T = matrix_from_pose(stamped.pose)
        np.testing.assert_allclose(T, T_frame_root @ poses[link], atol=1e-12)
        assert stamped.header.frame_id == frame.strip('/') or 'world'
        assert stamped.header.stamp.sec == 7


def test_measured_state_is_used_and_overlaid(server):
    arm = server.arm
    measured = posture_of(arm, 2)
    server.measured.update(arm.postures.names, measured, 0.0)
    answer = server.place(fk_request(['tool'], '', ['shoulder'], [0.25]))
    measured[arm.postures.indices(['shoulder'])] = 0.25
    T = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(T, arm.link_poses(measured)['tool'], atol=1e-12)


def test_assumed_joints_are_named_if_they_matter(server):
    answer = server.place(fk_request(['finger_2'], names=['turntable', 'elbow'], positions=[0, 1]))
    assert answer.error_code.val == ErrorCode.SUCCESS
    assert answer.error_code.message.endswith('shoulder, wrist, grip')
    assert server.place(fk_request(['table'])).error_code.message == ''


def test_unknown_links_leave_the_known_ones_answered(server):
    answer = server.place(fk_request(['tool', 'tail', 'hand']))
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert 'tail' in answer.error_code.message
    assert answer.fk_link_names == ['tool', 'hand']
    assert len(answer.pose_stamped) == 2


def test_many_turns_keep_the_precision_of_the_pose(server):
    turns = 150_000  # 942,478 rad
    near = server.place(fk_request(['tool'], '', ['turntable'], [0.3]))
    far = server.place(fk_request(['tool'], '', ['turntable'], [0.3 + math.tau * turns]))
    T = [matrix_from_pose(answer.pose_stamped[0].pose) for answer in (near, far)]
    np.testing.assert_allclose(T[1], T[0], atol=1e-9)


def test_unknown_links_are_not_all_repeated(server):
    answer = server.place(fk_request([f'link_{number}' + 'x' * 1000 for number in range(1000)]))
    assert answer.error_code.message.endswith('and 990 more')
    assert len(answer.error_code.message) < 3000


@pytest.mark.parametrize(
    ('request_', 'code', 'word'),
    [
        (fk_request([]), ErrorCode.INVALID_LINK_NAME, 'fk_link_names'),
        (fk_request(['tool'] * 10_000), ErrorCode.INVALID_LINK_NAME, 'has 10000 links'),
        (fk_request(['tool'], 'moon'), ErrorCode.FRAME_TRANSFORM_FAILURE, "'moon'"),
        (fk_request(['tool'], '', ['tail'], [0.0]), ErrorCode.INVALID_ROBOT_STATE, 'tail'),
        (fk_request(['tool'], '', ['pan'], [1e15]), ErrorCode.INVALID_ROBOT_STATE, 'at 1e+15'),
    ],
    ids=['no links', 'too many links', 'frame', 'joint', 'position'],
)
def test_what_cannot_be_placed_is_refused_by_name(server, request_, code, word):
    answer = server.place(request_)
    assert answer.error_code.val == code
    assert word in answer.error_code.message
    assert not answer.pose_stamped
