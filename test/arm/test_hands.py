"""Hands of robots: which groups they are, and the groups of their joints."""

from __future__ import annotations

import pytest
from support.arm_helpers import panda_arm, TREE, tree_arm

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.hands import Hand
from ik_service.robot import Robot

FINGERS = (
    '<group name="grippers"><joint name="grip"/><joint name="pan"/></group>'
    '<group name="claw"><joint name="grip"/></group>'
)
END = '<end_effector name="claw" parent_link="hand" group="claw"/>'


def hands(srdf, **settings):
    robot = Robot.from_urdf(TREE, srdf=f'<robot name="tree">{srdf}</robot>')
    return Arm(robot, ArmSettings('base', 'tool', **settings)).hands


def test_groups_of_the_same_joints_are_one_hand():
    arm = panda_arm()
    assert arm.hands == (Hand('hand', ('panda_finger_joint1',)),)
    (group,) = arm.hand_groups().values()
    assert group.chain.joint_names == ('panda_finger_joint1',)
    assert not panda_arm(locked={'panda_finger_joint1': 0.0}).hands


def test_a_group_without_a_tip_is_a_hand_and_that_of_an_end_effector():
    both, claw = Hand('grippers', ('grip', 'pan')), Hand('claw', ('grip',))
    assert hands(FINGERS) == (both,)  # the other group has a tip
    assert {*hands(FINGERS + END)} == {both, claw}
    assert hands('<group name="neck"><joint name="pan"/></group>') == ()
    neck = '<group name="neck"><joint name="pan"/></group>'
    end = '<end_effector name="n" parent_link="hand" group="neck"/>'
    assert hands(neck + end) == (Hand('neck', ('pan',)),)


@pytest.mark.parametrize('joint', ['turntable', 'wrist'])
def test_joints_without_limits_and_those_of_the_arm_open_no_hand(joint):
    group = f'<group name="claw"><joint name="grip"/><joint name="{joint}"/></group>'
    assert hands(group + END) == ()


def test_a_robot_without_groups_has_no_hands():
    assert tree_arm().hands == ()
