"""Named states that go with the joints of a chain."""

import pytest

from ik_service import Robot
from ik_service.model.groups.named_states import named_states
from ik_service.model.groups.planning_group import PlanningGroup


def group(name, joints, **states):
    return PlanningGroup(name, 'base', (name,), tuple(joints), states)


def test_states_of_a_group_with_more_joints_are_cut_to_those_wanted():
    groups = [group('arm_and_hand', 'abc', up={'a': 1.0, 'b': 2.0, 'c': 3.0})]
    assert dict(named_states(groups, 'ab')) == {'up': {'a': 1.0, 'b': 2.0}}


def test_states_of_a_group_with_fewer_joints_name_only_those():
    assert dict(named_states([group('arm', 'ab', up={'a': 1.0})], 'abc')) == {'up': {'a': 1.0}}


def test_groups_that_share_only_some_joints_do_not_count():
    groups = [
        group('right', ['torso', 'right'], up={'torso': 1.0, 'right': 1.0}),
        group('hand', ['finger'], open={'finger': 1.0}),
    ]
    assert not named_states(groups, ['torso', 'left'])


def test_states_without_one_of_the_joints_do_not_count():
    assert not named_states([group('all', 'abc', closed={'c': 1.0})], 'ab')


def test_of_the_same_name_the_group_with_the_nearest_joints_counts_then_the_first():
    groups = [
        group('wide', 'abc', up={'a': 1.0}, down={'a': -1.0}),
        group('exact', 'ab', up={'a': 2.0}),
        group('twin', 'ab', up={'a': 3.0}),
    ]
    assert dict(named_states(groups, 'ab')) == {'up': {'a': 2.0}, 'down': {'a': -1.0}}


def test_what_is_found_is_read_only():
    states = named_states([group('arm', 'ab', up={'a': 1.0})], 'ab')
    with pytest.raises(TypeError):
        states['up'] = {}
    with pytest.raises(TypeError):
        states['up']['a'] = 0.0


def test_a_robot_has_the_states_of_its_known_groups(panda):
    robot = Robot.from_urdf(panda)
    chain = robot.chain('panda_link0', 'panda_hand_tcp')
    states = robot.named_states(chain.joint_names)
    assert list(states) == ['ready', 'extended']
    assert set(states['ready']) == set(chain.joint_names)
    assert not robot.named_states(['panda_finger_joint1'])


def test_a_robot_has_the_states_of_its_srdf(panda):
    text = (
        '<robot name="panda"><group name="arm"><chain base_link="panda_link0" '
        'tip_link="panda_link8"/></group><group_state name="low" group="arm">'
        '<joint name="panda_joint2" value="1.2"/></group_state></robot>'
    )
    robot = Robot.from_urdf(panda, srdf=text)
    chain = robot.chain('panda_link0', 'panda_hand_tcp')
    assert dict(robot.named_states(chain.joint_names)) == {'low': {'panda_joint2': 1.2}}
