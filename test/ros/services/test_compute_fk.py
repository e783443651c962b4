"""Responses of compute_fk, without a node."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from moveit_msgs.srv import GetPositionFK
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


def test_empty_list_of_links(server):
    answer = server.place(fk_request([]))
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert 'fk_link_names' in answer.error_code.message


def test_unknown_links_leave_the_known_ones_answered(server):
    answer = server.place(fk_request(['tool', 'tail', 'hand']))
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert 'tail' in answer.error_code.message
    assert answer.fk_link_names == ['tool', 'hand']
    assert len(answer.pose_stamped) == 2


@pytest.mark.parametrize(
    ('names', 'positions', 'word'),
    [(['tail'], [0.0], 'tail'), (['elbow'], [], '0 positions'), (['elbow'], [math.nan], 'nan')],
)
def test_bad_joint_state(server, names, positions, word):
    answer = server.place(fk_request(['tool'], '', names, positions))
    assert answer.error_code.val == ErrorCode.INVALID_ROBOT_STATE
    assert word in answer.error_code.message
    assert not answer.pose_stamped


def test_unknown_frame(server):
    answer = server.place(fk_request(['tool'], 'moon'))
    assert answer.error_code.val == ErrorCode.FRAME_TRANSFORM_FAILURE
    assert "'moon'" in answer.error_code.message


def test_an_error_in_the_server_becomes_a_failure_response(server):
    server.fk.measured = object()
    answer = server.place(fk_request(['tool']))
    assert answer.error_code.val == ErrorCode.FAILURE
    assert isinstance(server.errors[0], AttributeError)


def test_huge_joint_positions_are_refused_by_name(server):
    answer = server.place(fk_request(['tool'], '', ['turntable'], [1e15]))
    assert answer.error_code.val == ErrorCode.INVALID_ROBOT_STATE
    assert "'turntable' is at 1e+15, beyond ±1e+06" in answer.error_code.message


def test_many_turns_keep_the_precision_of_the_pose(server):
    turns = 150_000  # 942,478 rad
    near = server.place(fk_request(['tool'], '', ['turntable'], [0.3]))
    far = server.place(fk_request(['tool'], '', ['turntable'], [0.3 + math.tau * turns]))
    T = [matrix_from_pose(answer.pose_stamped[0].pose) for answer in (near, far)]
    np.testing.assert_allclose(T[1], T[0], atol=1e-9)


def test_ten_thousand_links_are_refused_at_once(server):
    begin = time.thread_time()
    answer = server.place(fk_request(['tool'] * 10_000))
    assert time.thread_time() - begin < 0.005
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert 'has 10000 links' in answer.error_code.message


def test_unknown_links_are_not_all_repeated(server):
    answer = server.place(fk_request([f'link_{number}' + 'x' * 1000 for number in range(1000)]))
    assert answer.error_code.message.endswith('and 990 more')
    assert len(answer.error_code.message) < 3000


@pytest.mark.filterwarnings('error')
def test_a_frame_name_of_ten_megabytes_is_cut(server):
    answer = server.place(fk_request(['tool'], 'x' * 10_000_000))
    assert answer.error_code.val == ErrorCode.FRAME_TRANSFORM_FAILURE
    assert '10000000 characters' in answer.error_code.message
    assert len(answer.error_code.message) < 400


def test_statistics_count_outcomes_and_hold_the_last_refusal(server):
    server.place(fk_request(['tool']))
    server.place(fk_request(['tail']))
    report = server.fk.statistics.report()
    assert (report['requests'], report['SUCCESS'], report['INVALID_LINK_NAME']) == ('2', '1', '1')
    assert report['last refusal'] == "INVALID_LINK_NAME: the robot has no link: 'tail'"
