"""Descriptions of an arm with a prefix to its names."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.exceptions import SrdfError, UrdfError
from ik_service.extras.cells.descriptions import (
    prefixed_joint_limits,
    prefixed_srdf,
    prefixed_urdf,
)
from ik_service.model.joint_limits_file import parse_joint_limits
from ik_service.model.motion_bounds import JointBounds, MotionBounds

URDF = """
<robot name="arm">
  <material name="grey"/>
  <link name="base"><visual><geometry><mesh filename="package://a/base.stl"/></geometry></visual></link>
  <link name="upper"/><link name="finger"/><link name="thumb"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/>
  </joint>
  <joint name="open" type="prismatic">
    <parent link="upper"/><child link="finger"/><axis xyz="1 0 0"/><limit lower="0" upper="1"/>
  </joint>
  <joint name="close" type="prismatic">
    <parent link="upper"/><child link="thumb"/><axis xyz="1 0 0"/><limit lower="0" upper="1"/>
    <mimic joint="open" multiplier="-1"/>
  </joint>
  <transmission name="drive">
    <joint name="shoulder"><hardwareInterface>x</hardwareInterface></joint><actuator name="motor"/>
  </transmission>
  <gazebo reference="upper"><material>Gazebo/Grey</material></gazebo>
  <gazebo><plugin name="p" filename="lib.so"/></gazebo>
  <ros2_control name="hardware" type="system">
    <joint name="shoulder"><command_interface name="position"/></joint>
    <joint name="close"><param name="mimic">open</param><param name="multiplier">-1</param></joint>
  </ros2_control>
</robot>"""
SRDF = """
<robot name="arm">
  <group name="all"><chain base_link="base" tip_link="upper"/><joint name="open"/></group>
  <group name="gripper"><joint name="open"/></group>
  <group name="part"><group name="all"/><link name="upper"/></group>
  <group_state name="home" group="all"><joint name="shoulder" value="0.5"/></group_state>
  <end_effector name="hand" parent_link="upper" group="gripper" parent_group="all"/>
  <disable_collisions link1="base" link2="upper" reason="Adjacent"/>
</robot>"""


def test_links_and_joints_and_what_refers_to_them_get_the_prefix():
    text = prefixed_urdf(URDF, 'left_')
    robot = iks.Robot.from_urdf(text)
    assert robot.links == ('left_base', 'left_upper', 'left_finger', 'left_thumb')
    assert list(robot.joints) == ['left_shoulder', 'left_open', 'left_close']
    assert robot.resolve_mimic('left_close') == ('left_open', -1.0, 0.0)
    for part in (
        '<transmission name="left_drive">',
        '<actuator name="left_motor"',
        '<gazebo reference="left_upper">',
        '<ros2_control name="left_hardware"',
        '<param name="mimic">left_open</param>',
    ):
        assert part in text


def test_what_is_not_a_name_of_the_arm_stays_as_it_is():
    text = prefixed_urdf(URDF, 'left_')
    for part in (
        '<robot name="arm">',
        '<material name="grey"',
        'package://a/base.stl',
        '<plugin name="p"',
        '<command_interface name="position"',
        '<param name="multiplier">-1</param>',
        '<material>Gazebo/Grey</material>',
    ):
        assert part in text
    assert prefixed_urdf(URDF, '') == URDF


def test_an_srdf_goes_with_the_robot_and_its_groups_keep_their_names():
    robot = iks.Robot.from_urdf(prefixed_urdf(URDF, 'l/'))
    robot = robot.with_srdf_text(prefixed_srdf(SRDF, 'l/'))
    assert robot.group_names == ('all', 'gripper', 'part')
    assert robot.group_states('all')['home'] == {'l/shoulder': 0.5}
    assert frozenset({'l/base', 'l/upper'}) in robot.semantics.disabled_pairs
    assert robot.semantics.end_effectors[0].parent_link == 'l/upper'


@pytest.mark.parametrize('arm', ['panda', 'ur5e'])
def test_an_arm_moves_as_before(arm):
    plain = iks.Robot.from_urdf(arm_path(arm))
    named = iks.Robot.from_urdf(prefixed_urdf(plain.urdf_text, 'left_'))
    tip = plain.default_tip()
    chain = plain.chain(plain.root_link, tip)
    other = named.chain(f'left_{plain.root_link}', f'left_{tip}')
    q = chain.mid_range() + 0.1
    np.testing.assert_array_equal(chain.forward(q), other.forward(q))
    assert named.default_tip() == f'left_{tip}', 'groups of known robots are found as well'


@pytest.mark.parametrize('text', ['<robot', '<!DOCTYPE x []><robot/>', '<sdf/>', ''])
def test_a_text_that_is_none_is_refused(text):
    with pytest.raises(UrdfError):
        prefixed_urdf(text, 'left_')
    with pytest.raises(SrdfError):
        prefixed_srdf(text, 'left_')


def test_content_of_others_keeps_its_prefixes():
    plugin = '<gazebo><controller:p3d><a:b c:d="1">t</a:b></controller:p3d></gazebo>'
    start = '<robot xmlns:controller="urn:c" name="arm">'
    written = prefixed_urdf(URDF.replace('<robot name="arm">', start + plugin), 'l_')
    assert plugin in written
    assert 'xmlns:controller="urn:c"' in written


def test_limits_are_read_again_from_their_text():
    bounds = MotionBounds({'1': JointBounds(-1.0, 2.0, 0.0, 1e-20)}, velocity_scaling=0.1)
    assert parse_joint_limits(prefixed_joint_limits(bounds, '')) == bounds
    renamed = parse_joint_limits(prefixed_joint_limits(bounds, 'left_'))
    assert renamed.joints == {'left_1': bounds.joints['1']}
    assert parse_joint_limits(prefixed_joint_limits(MotionBounds(), '')) == MotionBounds()
