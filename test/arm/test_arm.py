"""Arm: joint states merged from several publishers, full postures, poses of links, hands."""

import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.ros.servers import panda_arm, posture_of, TREE, tree_arm

from ik_service.arm.arm import Arm, ArmSettings, Hand
from ik_service.arm.measured_state import MeasuredState
from ik_service.arm.postures import PostureSpace
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, UnknownJointError, UnknownLinkError
from ik_service.robot import Robot

ARM = ('shoulder', 'elbow', 'wrist')


@pytest.fixture
def measured():
    return MeasuredState(tree_arm())


def missing(measured):
    return [measured.arm.postures.names[i] for i in measured.unmeasured(measured.arm.indices)]


def test_all_joints_are_missing_at_first(measured):
    assert measured.joints() is None
    assert missing(measured) == list(ARM)
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)


def test_partial_messages_are_merged_and_the_oldest_gives_the_age(measured):
    measured.update(['elbow', 'shoulder'], [1.0, 0.5], now=10.0)
    assert measured.joints() is None
    assert missing(measured) == ['wrist']
    measured.update(['wrist'], [0.25], now=11.0)
    positions, arrival = measured.joints()
    np.testing.assert_array_equal(positions, [0.5, 1.0, 0.25])
    assert arrival == 10.0
    measured.update(['grip'], [0.01], now=12.0)  # another device does not keep the arm fresh
    assert measured.joints()[1] == 10.0
    measured.update(ARM, [0.6, 1.1, 0.3], now=13.0)
    assert measured.joints()[1] == 13.0
    assert measured.arm.postures.by_name(measured.posture())['grip'] == 0.01


def test_joints_that_the_last_messages_are_without_are_told(measured):
    names, indices = measured.arm.postures.names, measured.arm.indices
    measured.update(['shoulder', 'elbow'], [0.5, 1.0], now=10.0)
    assert not len(measured.left_out(indices, 0.5)), 'one that was never measured is another case'
    measured.update(['wrist'], [0.25], now=10.4)
    assert not len(measured.left_out(indices, 0.5))
    measured.update(['shoulder', 'wrist'], [0.5, 0.25], now=10.6)
    assert [names[i] for i in measured.left_out(indices, 0.5)] == ['elbow']


def test_joints_of_other_robots_are_left_out(measured):
    measured.update(['mast', 'elbow', 'keel'], [9.0, 1.0, math.nan], now=1.0)
    assert missing(measured) == ['shoulder', 'wrist']
    assert measured.arm.postures.by_name(measured.posture())['elbow'] == 1.0


@pytest.mark.parametrize('value', [math.nan, math.inf, -1e7])
def test_unmeasured_joints_outside_the_chain_are_accepted(measured, value):
    measured.update([*ARM, 'grip', 'pan'], [0.5, 1.0, 0.25, value, 0.3], now=1.0)
    np.testing.assert_array_equal(measured.joints()[0], [0.5, 1.0, 0.25])
    names = list(measured.arm.postures.names)
    beside = np.array([names.index('grip'), names.index('pan')])
    assert measured.unmeasured(beside).tolist() == [names.index('grip')]
    assert measured.arm.postures.by_name(measured.posture())['pan'] == 0.3


@pytest.mark.parametrize('value', [math.nan, math.inf, -1e7])
def test_an_invalid_chain_joint_is_refused_and_keeps_its_age(measured, value):
    measured.update(ARM, [0.5, 1.0, 0.25], now=1.0)
    with pytest.raises(ArgumentError, match=re.escape(f"joint 'elbow' is at {value:g}")):
        measured.update(ARM, [0.6, value, 0.35], now=2.0)
    positions, oldest = measured.joints()
    np.testing.assert_array_equal(positions, [0.6, 1.0, 0.35])
    assert oldest == 1.0


def test_too_many_names_are_refused_by_their_count(measured):
    with pytest.raises(ArgumentError, match='names 1000000 joints'):
        measured.update(['elbow'] * 1_000_000, [0.0], now=1.0)


def test_long_name_lists_are_not_cached(measured):
    for number in range(10):
        names = [f'joint_{number}_{i}' for i in range(9_000)]
        measured.update(names, [0.0] * 9_000, now=1.0)
    assert sum(len(key) for key in measured._known) == 0


@pytest.mark.parametrize(
    ('names', 'positions'),
    [
        (['elbow', 'wrist'], [1.0]),
        (['elbow', 'elbow'], [1.0, 1.1]),
        (['elbow', 'elbow'], [1.0, math.nan]),
    ],
)
def test_malformed_messages_leave_the_state_unchanged(measured, names, positions):
    with pytest.raises(ArgumentError):
        measured.update(names, positions, now=1.0)
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)
    assert missing(measured) == list(ARM)


def test_messages_without_positions_are_accepted(measured):
    measured.update(['elbow', 'wrist'], [], now=1.0)
    assert missing(measured) == list(ARM)


def test_a_posture_is_a_copy(measured):
    measured.posture()[:] = 7.0
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)


def test_another_arm_keeps_the_joints_of_the_same_name(measured):
    measured.update(ARM, [0.5, 1.0, 0.25], now=10.0)
    again = MeasuredState(tree_arm(tip_link='hand'), measured)
    np.testing.assert_array_equal(again.joints()[0], [0.5, 1.0, 0.25])
    assert again.joints()[1] == 10.0
    assert MeasuredState(panda_arm(), measured).joints() is None


@pytest.fixture
def space():
    return PostureSpace(Robot.from_urdf(TREE), {'shoulder': 0.5})


def test_names_are_all_movable_joints_in_order(space):
    assert space.names == ('turntable', 'shoulder', 'elbow', 'wrist', 'grip', 'grip_too', 'pan')


def test_near_zero_is_within_the_limits(space):
    assert space.by_name(space.near_zero()) == {
        'turntable': 0.0,
        'shoulder': 0.0,
        'elbow': 0.1,
        'wrist': 0.0,
        'grip': 0.0,
        'grip_too': 0.0,
        'pan': 0.2,
    }


def test_complete_sets_locked_and_mimic_joints(space):
    posture = np.zeros(7)
    space.overlay(posture, ['grip', 'grip_too', 'shoulder'], [0.02, 0.5, 1.0])
    assert space.complete(posture) is posture
    values = space.by_name(posture)
    assert (values['grip'], values['grip_too'], values['shoulder']) == (0.02, 0.02, 0.5)


def test_indices_of_many_name_lists(space):
    for _ in range(3):
        for first in space.names:
            for second in space.names:
                if first != second:
                    posture = np.zeros(7)
                    space.overlay(posture, [first, second], [1.0, 2.0])
                    values = space.by_name(posture)
                    assert (values[first], values[second]) == (1.0, 2.0)


def test_refusals(space):
    with pytest.raises(UnknownJointError, match='tail'):
        space.indices(['elbow', 'tail'])
    with pytest.raises(ArgumentError, match=r'elbow.*twice'):
        space.indices(['elbow', 'elbow'])
    with pytest.raises(UnknownJointError, match='tail'):
        PostureSpace(Robot.from_urdf(TREE), {'tail': 0.0})


@pytest.mark.parametrize('locked', [{}, {'turntable': 0.7, 'grip': 0.01}])
def test_every_link_is_where_forward_kinematics_puts_it(locked):
    arm = tree_arm(locked=locked)
    posture = posture_of(arm, 5)
    poses = arm.link_poses(posture)
    for link in arm.robot.links:
        T = arm.link_frames.root_from_link(link, posture)
        np.testing.assert_allclose(T, poses[link], atol=1e-14)
        for other, T_link_other in arm.link_frames.beside(link).items():
            expected = inverse_transform(poses[link]) @ poses[other]
            np.testing.assert_allclose(T_link_other, expected, atol=1e-14)


@pytest.mark.parametrize('link', ['world', 'table', 'base', 'tool', 'finger_2', 'neck'])
def test_joints_that_move_a_link(link):
    for arm in (tree_arm(), tree_arm(locked={'turntable': 0.1, 'grip': 0.02})):
        expected = arm.joints_that_move([link])
        assert arm.link_frames.moving(link).tolist() == expected.tolist()
        assert arm.link_frames.stands_still(link) == (len(expected) == 0)


def test_unknown_links_are_refused():
    frames = tree_arm().link_frames
    for call in (frames.beside, frames.moving, lambda link: frames.root_from_link(link, None)):
        with pytest.raises(UnknownLinkError):
            call('tail')


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
