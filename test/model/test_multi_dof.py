"""Planar and floating joints as series of joints with one degree of freedom each."""

import numpy as np
import pytest
from support.chains import rotation
from support.urdf_helpers import joint_xml, pose_of, robot_xml

from ik_service.exceptions import UrdfError
from ik_service.model.joint import JointLimits
from ik_service.robot import Robot


def test_planar_joint_moves_in_the_plane_of_its_frame():
    parts = '<origin xyz="1 0 0" rpy="0 0 0.5"/><axis xyz="0 0 2"/>'
    robot = Robot.from_urdf(robot_xml(joint_xml(parts, 'planar', 'slide')))
    assert robot.movable_joint_names == ('slide/x', 'slide/y', 'slide/theta')
    assert robot.links == ('base', 'arm', 'slide/x_link', 'slide/y_link')
    kinds = [joint.type.value for joint in robot.joints.values()]
    assert kinds == ['prismatic', 'prismatic', 'continuous']
    assert {joint.limits for joint in robot.joints.values()} == {JointLimits()}
    T = pose_of(robot, 'arm', {'slide/x': 0.2, 'slide/y': 0.3, 'slide/theta': 0.4})
    expected = [1.0, 0.0, 0.0] + rotation([0, 0, 1], 0.5) @ [0.2, 0.3, 0.0]
    np.testing.assert_allclose(T[:3, 3], expected, atol=1e-15)
    np.testing.assert_allclose(T[:3, :3], rotation([0, 0, 1], 0.9), atol=1e-15)


@pytest.mark.parametrize(
    'normal',
    [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (1, 2, 3), (1, 2, -3), (1e-7, 2e-7, -1)],
)
def test_planar_directions_are_a_right_handed_frame_on_the_normal(normal):
    axis = ' '.join(map(str, normal))
    robot = Robot.from_urdf(robot_xml(joint_xml(f'<axis xyz="{axis}"/>', 'planar', 'slide')))
    x, y, n = (joint.axis for joint in robot.joints.values())
    np.testing.assert_allclose(n, np.array(normal) / np.linalg.norm(normal), atol=1e-15)
    np.testing.assert_allclose(np.array([x, y, n]) @ np.array([x, y, n]).T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.cross(x, y), n, atol=1e-14)
    # The smallest rotation from z to n turns nothing about their common normal.
    common = np.array([-n[1], n[0], 0.0])
    turned = np.column_stack([x, y, n]) @ common
    if n[2] > -1.0:
        np.testing.assert_allclose(turned, common, atol=1e-14)


def test_planar_frame_is_the_joint_frame_for_z_and_half_a_turn_about_x_for_minus_z():
    for sign in (1, -1):
        text = robot_xml(joint_xml(f'<axis xyz="0 0 {sign}"/>', 'planar', 'slide'))
        x, y, _ = (joint.axis for joint in Robot.from_urdf(text).joints.values())
        np.testing.assert_array_equal(x, [1.0, 0.0, 0.0])
        np.testing.assert_array_equal(y, [0.0, sign, 0.0])


def test_floating_joint_is_translation_then_yaw_pitch_roll():
    parts = '<origin xyz="0 0 1" rpy="0 0.5 0"/><axis xyz="0 0 0"/>'
    robot = Robot.from_urdf(robot_xml(joint_xml(parts, 'floating', 'fly')))
    order = ('trans_x', 'trans_y', 'trans_z', 'rot_z', 'rot_y', 'rot_x')
    assert robot.movable_joint_names == tuple(f'fly/{part}' for part in order)
    assert robot.links[2:] == tuple(f'fly/{part}_link' for part in order[:-1])
    values = dict(zip(robot.movable_joint_names, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), strict=True))
    T = pose_of(robot, 'arm', values)
    R = rotation([0, 1, 0], 0.5)
    np.testing.assert_allclose(T[:3, 3], [0, 0, 1] + R @ [0.1, 0.2, 0.3], atol=1e-15)
    rpy = rotation([0, 0, 1], 0.4) @ rotation([0, 1, 0], 0.5) @ rotation([1, 0, 0], 0.6)
    np.testing.assert_allclose(T[:3, :3], R @ rpy, atol=1e-15)


def test_expansion_that_meets_an_existing_name_is_an_error():
    planar = joint_xml('', 'planar', 'slide')
    clash = joint_xml('', 'fixed', 'slide/y', child='other')
    with pytest.raises(UrdfError, match="joint 'slide/y': the name stands twice"):
        Robot.from_urdf(robot_xml(planar, clash, links=('base', 'arm', 'other')))
    with pytest.raises(UrdfError, match="link 'slide/x_link': the name stands twice"):
        Robot.from_urdf(robot_xml(planar, links=('base', 'arm', 'slide/x_link')))
