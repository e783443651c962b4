"""Comparison of an SRDF with its robot: a faulty part costs itself, with a remark."""

import re
import time

import pytest
from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml, tree_xml

from ik_service import Robot
from ik_service.exceptions import ChainError, SrdfError

ARM = arm_xml('l6 f:tool0')


def read(*parts, urdf=ARM, **kwargs):
    return Robot.from_urdf(urdf, srdf=srdf_xml(*parts, **kwargs))


@pytest.mark.parametrize(
    ('parts', 'faulty', 'message'),
    [
        ([group_xml('g', 'chain:base>tol0')], 'g', r"^link 'tol0' .*; closest: tool0$"),
        ([group_xml('g', 'chain:?>tool0')], 'g', r"link '\?' does not exist; valid: base, l1"),
        ([group_xml('g', 'link:l7')], 'g', "link 'l7' does not exist; closest: l"),
        ([group_xml('g', 'joint:j_l7')], 'g', "joint 'j_l7' does not exist; closest: j_l"),
        ([group_xml('g', 'group:h')], 'g', "^group 'h' does not exist"),
        ([group_xml('g', 'group:g')], 'g', 'sub-groups form a circle: g, g$'),
        ([group_xml('g', 'link:l1') * 2], 'g', 'the name stands twice'),
        ([group_xml('g', 'chain:base>l2', 'joint:')], 'g', '<joint> has no name'),
        (
            [
                group_xml('x', 'group:a'),
                group_xml('a', 'group:b'),
                group_xml('b', 'link:l1', 'group:c'),
                group_xml('c', 'group:a'),
            ],
            'xabc',
            'sub-groups form a circle: a, b, c, a$',
        ),
        (
            [group_xml('o', 'group:m'), group_xml('m', 'group:i'), group_xml('i', 'link:x')],
            'omi',
            "link 'x' does not exist",
        ),
    ],
)
def test_a_faulty_group_costs_itself_and_groups_that_contain_it(parts, faulty, message):
    robot = read(*parts, group_xml('good', 'chain:base>l3'))
    assert robot.group_names == ('good', *faulty)
    assert robot.group('good').tip_link == 'l3'
    assert robot.default_group.name == 'good'
    for name in faulty:
        assert re.search(message, robot.groups[name].fault)
        with pytest.raises(ChainError, match=f"planning group '{name}': .*{message.strip('^')}"):
            robot.group(name)
        assert any(f"SRDF: group '{name}' cannot be used: " in text for text in robot.remarks)


@pytest.mark.parametrize(
    ('state', 'kept', 'message'),
    [
        (state_xml('s', 'none'), None, r"^group_state 's' is left out: group 'none' does not ex"),
        (state_xml('s', 'g', k='1', j_l1='2'), {'j_l1': 2.0}, "joint 'k' does not exist"),
        (state_xml('s', 'g', world_joint='1', j_l1='2'), {'j_l1': 2.0}, "'world_joint' does not"),
        (state_xml('s', 'g', j_l1='1 2'), {}, "joint 'j_l1' has 2 values, and needs 1"),
    ],
)
def test_values_that_no_joint_can_take_are_ignored(state, kept, message):
    robot = read(group_xml('g', 'link:l1'), state)
    assert robot.group_states('g') == ({} if kept is None else {'s': kept})
    (remark,) = robot.semantics.remarks
    assert re.search(message, remark)


def test_a_group_that_moves_what_should_carry_it_is_no_hand():
    robot = read(
        group_xml('gripper', 'joint:j_f'),
        group_xml('arm', 'chain:base>tool0'),
        '<end_effector name="e" parent_link="tool0" group="arm"/>',
        '<end_effector name="h" parent_link="l6" group="gripper" parent_group="arm"/>',
        urdf=arm_xml('l6 f:tool0', 'l6 r:f'),
    )
    assert [end.name for end in robot.semantics.end_effectors] == ['h']
    assert robot.group_names == ('arm', 'gripper')
    assert robot.default_tip() == 'tool0'
    (remark,) = robot.remarks
    assert remark == (
        "SRDF: end_effector 'e' is left out: joint 'j_l1' of its group 'arm' moves link 'tool0', "
        'which should carry it'
    )


def test_a_group_may_be_named_before_it_is_written_and_twice():
    robot = read(
        group_xml('both', 'group:a', 'group:b', 'group:a'),
        group_xml('a', 'group:c'),
        group_xml('b', 'group:c'),
        group_xml('c', 'chain:base>l3'),
    )
    assert robot.groups['both'].tip_links == ('l3',)


def test_deep_nesting_needs_no_stack():
    parts = [group_xml(f'g{i}', f'group:g{i + 1}') for i in range(1999)]
    robot = read(*parts, group_xml('g1999', 'chain:base>tool0'))
    assert robot.groups['g0'].tip_links == ('tool0',)
    robot = read(*parts, group_xml('g1999', 'group:g0'))
    assert re.search(r'circle: .*, …', robot.groups['g7'].fault)


def test_groups_that_grow_without_bound_are_refused_soon():
    urdf = tree_xml('base ' + ' '.join(f'r:s{i}' for i in range(2000)))
    parts = [group_xml(f'g{i}', f'group:g{i + 1}', f'group:g{i + 2}') for i in range(1000)]
    last = [group_xml('g1000', 'chain:base>s1999'), group_xml('g1001', 'link:s5')]
    robot = Robot.from_urdf(urdf)
    start = time.process_time()
    with pytest.raises(SrdfError, match='more than 50000 joints together'):
        robot.with_srdf(srdf_xml(*parts, *last))
    assert time.process_time() - start < 1.0


def test_what_the_robot_lacks_beside_groups_is_left_out_with_a_remark():
    semantics = read(
        group_xml('arm', 'chain:base>tool0'),
        '<end_effector name="a" parent_link="tool0" group="hand"/>',
        group_xml('grip', 'joint:j_tool0'),
        '<end_effector name="b" parent_link="tool0" group="grip"/>',
        '<virtual_joint name="v" type="fixed" parent_frame="w" child_link="floor"/>',
        '<passive_joint name="thumb"/>',
        '<disable_collisions link1="l1" link2="finger_pad"/>',
        '<disable_collisions link1="l1" link2="l2"/>',
        '<disable_default_collisions link="l3"/><disable_default_collisions link="cable"/>',
        '<enable_collisions link1="l3" link2="l1"/><enable_collisions link1="l3" link2="pipe"/>',
        name='other',
    ).semantics
    assert [end.name for end in semantics.end_effectors] == ['b']
    assert semantics.virtual_joints == ()
    assert semantics.passive_joints == ()
    assert set(semantics.disabled_pairs) == {frozenset(('l1', 'l2'))}
    assert semantics.unchecked_links == ('l3',)
    assert semantics.enabled_pairs == {frozenset(('l1', 'l3'))}
    remarks = '\n'.join(semantics.remarks)
    for text in (
        "robot 'other'",
        "called 'test'",
        'hand',
        'floor',
        'thumb',
        'finger_pad',
        'cable',
        'pipe',
    ):
        assert text in remarks
    assert 'pipe' in remarks
    assert read(group_xml('arm', 'chain:base>tool0')).semantics.remarks == ()
    assert read().semantics.remarks == ('it has no planning groups',)


def test_virtual_and_planar_joints_in_states_and_groups():
    urdf = arm_xml('l6 f:tool0').replace(
        '<link name="base"/>',
        '<link name="odom"/><link name="base"/><joint name="drive" type="planar">'
        '<parent link="odom"/><child link="base"/><axis xyz="0 0 1"/></joint>',
    )
    robot = read(
        '<virtual_joint name="v" type="floating" parent_frame="w" child_link="odom"/>',
        group_xml('all', 'joint:v', 'joint:drive', 'chain:base>tool0'),
        group_xml('linked', 'link:base', 'chain:base>tool0'),
        state_xml('s', 'all', v='0 0 0 0 0 0 1', drive='1 2 3', j_l1='0.5'),
        urdf=urdf,
    )
    names = ('drive/x', 'drive/y', 'drive/theta', *(f'j_l{i}' for i in range(1, 7)))
    for group in ('all', 'linked'):
        assert robot.groups[group].joint_names == names
        assert robot.groups[group].base_link == 'odom'
    state = {'drive/x': 1.0, 'drive/y': 2.0, 'drive/theta': 3.0, 'j_l1': 0.5}
    assert robot.group_states('all') == {'s': state}
    virtual = '<virtual_joint name="v" type="floating" parent_frame="w" child_link="base"/>'
    group = group_xml('g', 'joint:v', 'chain:base>tool0')
    for value, message in (
        ('0 0 0 0 0 0 0', "the quaternion of joint 'v' is zero"),
        ('0 0 0', "joint 'v' has 3 values, and needs 7"),
    ):
        robot = read(virtual, group, state_xml('s', 'g', v=value, j_l1='0.5'))
        assert robot.group_states('g') == {'s': {'j_l1': 0.5}}
        assert robot.semantics.remarks == (
            f"group_state 's' of group 'g': a value is ignored: {message}",
        )
