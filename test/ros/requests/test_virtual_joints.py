"""States of virtual, planar and floating joints."""

import math

from geometry_msgs.msg import Quaternion, Transform, Vector3
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from sensor_msgs.msg import MultiDOFJointState
from support.ros.servers import Server, tree_arm

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.transforms import rigid_transform, rotation_about_axis, rotation_from_rpy
from ik_service.exceptions import ArgumentError
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.requests import virtual_joints
from ik_service.ros.requests.errors import ErrorCode
from ik_service.ros.requests.virtual_joints import read_multi_dof

NORMAL = np.array([0.6, 0.0, 0.8])
BOTH = """
<robot name="both">
  <link name="floor"/><link name="cart"/><link name="drone"/><link name="arm"/>
  <joint name="drive" type="planar">
    <parent link="floor"/><child link="cart"/><axis xyz="0.6 0 0.8"/><origin xyz="0 0 0.1"/>
  </joint>
  <joint name="fly" type="floating">
    <parent link="floor"/><child link="drone"/><origin rpy="0.1 0 0"/>
  </joint>
  <joint name="turn" type="continuous"><parent link="cart"/><child link="arm"/></joint>
</robot>
"""


@pytest.fixture
def server():
    server = Server(build_arm(BOTH, ArmSettings(tip_link='arm')))
    return server


def transform(T):
    x, y, z, w = quaternion_xyzw_from_rotation(T[:3, :3])
    px, py, pz = T[:3, 3].tolist()
    return Transform(
        translation=Vector3(x=px, y=py, z=pz), rotation=Quaternion(x=x, y=y, z=z, w=w)
    )


def in_plane(x, y, angle):
    """A pose in the plane of the planar joint, whose first direction is given by x."""
    R = rotation_about_axis(NORMAL, angle)
    return rigid_transform(R, x * np.array([0.8, 0.0, -0.6]) + y * np.array([0.0, 1.0, 0.0]))


def fk(server, link, **joints):
    request = GetPositionFK.Request(fk_link_names=[link])
    state = request.robot_state.multi_dof_joint_state
    state.joint_names = list(joints)
    state.transforms = [transform(T) for T in joints.values()]
    return server.place(request)


@pytest.mark.parametrize('angle', [0.0, 1.0, -3.0])
def test_planar_joint(server, angle):
    T = in_plane(0.3, -0.4, angle)
    answer = fk(server, 'cart', drive=T)
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    assert answer.error_code.message == ''
    reached = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(reached, rigid_transform(None, (0, 0, 0.1)) @ T, atol=1e-12)


def test_floating_joint(server):
    T = rigid_transform(rotation_from_rpy(2.0, -0.4, 3.0), (0.1, 0.2, -0.3))
    reached = matrix_from_pose(fk(server, 'drone', fly=T).pose_stamped[0].pose)
    T_parent = rigid_transform(rotation_from_rpy(0.1, 0, 0))
    np.testing.assert_allclose(reached, T_parent @ T, atol=1e-12)


@pytest.mark.parametrize(
    'T', [rigid_transform(None, 0.1 * NORMAL), rigid_transform(rotation_from_rpy(0.1, 0, 0))]
)
def test_a_pose_beside_the_plane_is_refused(server, T):
    answer = fk(server, 'cart', drive=T)
    assert answer.error_code.val == ErrorCode.INVALID_ROBOT_STATE
    assert "'drive' is planar" in answer.error_code.message


@pytest.mark.parametrize(
    ('names', 'transforms', 'frame', 'words'),
    [
        (['nowhere'], [Transform()], '', "'nowhere': the robot has no such joint"),
        (['turn'], [Transform()], '', "'turn': the robot has no such joint"),
        (['fly', 'fly'], [Transform()] * 2, '', "'fly' is named twice"),
        (['fly'], [], '', '1 names, but 0 transforms'),
        (['fly'], [Transform(rotation=Quaternion(w=0.0))], '', 'zero quaternion'),
        (['fly'], [Transform(translation=Vector3(x=math.nan))], '', 'nan'),
        (['fly'], [Transform(translation=Vector3(x=1e7))], '', 'beyond'),
        (['fly'], [Transform()], 'moon', "'moon', not in floor"),
        (['x'] * 1001, [], '', 'more than 1000'),
    ],
)
def test_bad_states_are_refused(server, names, transforms, frame, words):
    request = GetPositionFK.Request(fk_link_names=['arm'])
    state = MultiDOFJointState(joint_names=names, transforms=transforms)
    state.header.frame_id = frame
    request.robot_state.multi_dof_joint_state = state
    answer = server.place(request)
    assert answer.error_code.val == ErrorCode.INVALID_ROBOT_STATE, answer.error_code
    assert words in answer.error_code.message
    assert not server.errors


def test_virtual_joint_of_the_root(monkeypatch):
    monkeypatch.setattr(virtual_joints, 'virtual_frames', lambda robot: {'odom': 'drive'})
    arm = tree_arm()
    server = Server(arm)
    T = rigid_transform(rotation_from_rpy(0, 0, 0.5), (2.0, 0.0, 0.0))
    request = GetPositionFK.Request(fk_link_names=['table'])
    request.header.frame_id = 'odom'
    state = request.robot_state.multi_dof_joint_state
    state.joint_names, state.transforms, state.header.frame_id = ['drive'], [transform(T)], 'odom'
    answer = server.place(request)
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    reached = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(reached, T @ arm.link_poses(arm.rest)['table'], atol=1e-12)
    state.header.frame_id = 'map'
    with pytest.raises(ArgumentError, match="'map', not in odom"):
        read_multi_dof(arm, state, arm.rest.copy())
