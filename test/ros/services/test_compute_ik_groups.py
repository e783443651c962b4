"""Planning groups in requests to compute_ik."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped
import numpy as np
from support.arm_helpers import (
    ik_request,
    PANDA,
    panda_arm,
    posture_of,
    reachable,
    refused,
    Server,
    solved,
    TIP,
)

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.group import GroupSettings
from ik_service.exceptions import ChainError
from ik_service.robot import Robot
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.errors import ErrorCode

SRDF = """
<robot name="panda">
  <group name="arm"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
  <group name="fingers"><joint name="panda_finger_joint1"/></group>
  <group name="upper"><chain base_link="panda_link2" tip_link="panda_link7"/></group>
  <group_state name="ready" group="arm"><joint name="panda_joint4" value="-1.5"/></group_state>
</robot>
"""


def links_reached(server, answer):
    positions = np.array(list(solved(answer).values()))
    return server.arm.link_poses(positions)


@pytest.mark.parametrize('group', ['', 'manipulator', 'my_arm'])
def test_names_of_the_default_group_mean_the_tip(group):
    server = Server(panda_arm(group_names=('manipulator', 'my_arm', '{robot}_arm')))
    T = reachable(server.arm)
    reached = links_reached(server, server.solve(ik_request(T, group_name=group)))
    np.testing.assert_allclose(reached[TIP], T, atol=1e-4)


@pytest.mark.parametrize('group', ['panda_arm', 'panda_arm_hand'])
def test_known_names_mean_the_tip_of_the_arms_own_configuration(group):
    server = Server(panda_arm(group_names=('manipulator', '{robot}_arm')))
    T = server.arm.link_poses(posture_of(server.arm, 1))['panda_link8']
    reached = links_reached(server, server.solve(ik_request(T, group_name=group)))
    np.testing.assert_allclose(reached['panda_link8'], T, atol=1e-4)


def test_a_name_that_the_user_gives_wins_over_a_known_one():
    server = Server(panda_arm(group_names=('panda_arm',)))
    T = reachable(server.arm)
    reached = links_reached(server, server.solve(ik_request(T, group_name='panda_arm')))
    np.testing.assert_allclose(reached[TIP], T, atol=1e-4)


def test_a_pose_in_the_vector_without_a_link_means_the_tip_of_the_group(server):
    T = reachable(server.arm)
    request = ik_request(ik_link_name='panda_link3')
    request.ik_request.pose_stamped_vector = [PoseStamped(pose=pose_from_matrix(T))]
    reached = links_reached(server, server.solve(request))
    np.testing.assert_allclose(reached[TIP], T, atol=1e-4)


def test_unknown_groups_are_refused_with_the_parameter_that_adds_one(server):
    answer = server.solve(ik_request(reachable(server.arm), group_name='left_leg'))
    code = ErrorCode.INVALID_GROUP_NAME
    refused(server, answer, code, "'left_leg'", 'manipulator', 'panda_arm', 'groups.NAME.tip')


def srdf_arm(**settings):
    return Arm(Robot.from_urdf(PANDA, srdf=SRDF), ArmSettings(**settings))


def test_the_first_group_of_an_srdf_is_the_default():
    arm = srdf_arm()
    assert arm.chain.tip_link == 'panda_link8'
    assert arm.group.name == 'arm'
    assert arm.group_names[0] == 'arm'
    assert set(arm.group_names) == {'arm', 'fingers', 'upper', 'manipulator'}
    assert arm.states(arm.group)['ready'] == {'panda_joint4': -1.5}


def test_a_tip_that_is_given_wins_over_the_first_group():
    arm = srdf_arm(tip_link=TIP)
    assert arm.chain.tip_link == TIP
    assert arm.groups['arm'].chain.tip_link == 'panda_link8'
    assert arm.groups['manipulator'] is arm.group


def test_only_the_joints_of_the_group_move():
    server = Server(srdf_arm())
    arm = server.arm
    posture = posture_of(arm, 3)
    server.measured.update(arm.postures.names, posture, now=0.0)
    goal = posture.copy()
    joints = arm.postures.indices(['panda_joint3', 'panda_joint5'])
    goal[joints] += 0.2, -0.3
    T = arm.link_poses(goal)['panda_link7']
    answer = server.solve(ik_request(T, 'panda_link0', group_name='upper'))
    moved = np.array(list(solved(answer).values())) != posture
    names = {name for name, yes in zip(arm.postures.names, moved, strict=True) if yes}
    assert names <= {f'panda_joint{i}' for i in range(3, 8)}
    reached = links_reached(server, answer)['panda_link7']
    np.testing.assert_allclose(reached, T, atol=1e-4)


def test_groups_without_inverse_kinematics_say_why():
    server = Server(panda_arm())
    answer = server.solve(ik_request(np.eye(4), group_name='hand'))
    refused(server, answer, ErrorCode.INVALID_GROUP_NAME, "'hand'", 'chain')


def test_groups_of_the_users_own():
    groups = {'wrist': GroupSettings('panda_link4', 'panda_link7', 'bfgs', 0.25)}
    server = Server(panda_arm(groups=groups))
    prepared = server.arm.groups['wrist'].solver(server.settings)
    assert (prepared.solver.name, prepared.solver.options.timeout) == ('bfgs', 0.25)
    assert prepared.chain.joint_names == tuple(f'panda_joint{i}' for i in (5, 6, 7))
    assert server.arm.group.solver(server.settings).solver.name == 'levenberg_marquardt'


def test_settings_of_a_group_that_there_is_not_are_refused():
    with pytest.raises(ChainError, match=r"groups.leg names no tip_link.*'leg'.*panda_arm"):
        panda_arm(groups={'leg': GroupSettings(solver='bfgs')})
