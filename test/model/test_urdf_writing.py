"""Descriptions written anew: of a part of a robot, and with a prefix to its names."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.chains import arm_path
from support.ros.servers import PANDA, TREE

import ik_service as iks
from ik_service.exceptions import SrdfError, UrdfError
from ik_service.model.tool_frame import ToolFrame
from ik_service.model.urdf_writing import (
    partial_urdf,
    prefixed_srdf,
    prefixed_urdf,
    whole_urdf,
)
from ik_service.robot import Robot

SLEDGE = """
<robot name="sledge">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="floor"/><link name="sledge"><visual><geometry><sphere radius="0.1"/></geometry>
    <material name="red"/></visual></link><link name="arm"/>
  <joint name="slide" type="planar"><parent link="floor"/><child link="sledge"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="turn" type="continuous"><parent link="sledge"/><child link="arm"/>
    <mimic joint="slide/theta"/><origin xyz="1 0 0"/></joint>
</robot>
"""
TOOLS = {'tip': ToolFrame('hand', (0.1, 0.2, 0.3), (0.4, -0.5, 0.6)), 'end': ToolFrame('tip')}


def same_motion(part, whole, base, tip):
    new, old = (robot.chain(base, tip) for robot in (Robot.from_urdf_text(part), whole))
    assert new.joint_names == old.joint_names
    np.testing.assert_array_equal(new.lower, old.lower)
    for q in np.random.default_rng(1).uniform(-1.0, 1.0, (3, old.n)):
        np.testing.assert_allclose(new.forward(q), old.forward(q), atol=1e-12)


def test_the_part_between_base_and_tip_moves_alike_and_holds_nothing_else():
    robot = Robot.from_urdf(PANDA)
    text = partial_urdf(robot, 'arm', 'panda_link0', ['panda_link8'])
    same_motion(text, robot, 'panda_link0', 'panda_link8')
    part = Robot.from_urdf_text(text)
    assert part.name == 'arm'
    assert set(part.links) == {f'panda_link{number}' for number in range(9)}
    assert 'mesh' in text or '<collision>' in text  # the links as they are described


def test_a_base_below_and_several_tips():
    robot = Robot.from_urdf_text(TREE)
    text = partial_urdf(robot, 'both', 'neck', ['tool', 'finger_2'])
    same_motion(text, robot, 'neck', 'tool')
    # Its source is not between the links.
    assert Robot.from_urdf_text(text).joints['grip_too'].mimic is None
    text = partial_urdf(robot, 'grip', 'hand', ['finger_1', 'finger_2'])
    assert Robot.from_urdf_text(text).joints['grip_too'].mimic.joint == 'grip'


@pytest.mark.parametrize('tip', ['tip', 'end'])
def test_tool_frames_are_links_of_the_text(tip):
    robot = Robot.from_urdf_text(TREE).with_tool_frames(TOOLS)
    same_motion(partial_urdf(robot, 'part', 'base', [tip]), robot, 'base', tip)
    same_motion(whole_urdf(robot), robot, 'base', tip)


def test_the_whole_of_a_robot_is_its_text():
    assert whole_urdf(Robot.from_urdf_text(TREE)) == TREE
    assert whole_urdf(Robot.from_urdf_text(SLEDGE)) == SLEDGE


def test_planar_joints_are_written_as_they_were():
    robot = Robot.from_urdf_text(SLEDGE)
    text = partial_urdf(robot, 'part', 'floor', ['sledge'])
    same_motion(text, robot, 'floor', 'sledge')
    assert text.count('<joint') == 1
    assert text.count('name="red"') == 2  # the colour, and its use


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
