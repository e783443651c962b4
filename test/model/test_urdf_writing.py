"""Descriptions written anew: of a part of a robot, and with its tool frames."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.ros.servers import PANDA, TREE

from ik_service.model.tool_frame import ToolFrame
from ik_service.model.urdf_writing import partial_urdf, whole_urdf
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
