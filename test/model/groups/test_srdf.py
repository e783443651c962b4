"""SRDF: what is read, and what is said of what does not fit the robot."""

import pickle
import re
import time

import pytest
from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml, tree_xml

from ik_service import Robot
from ik_service.exceptions import ChainError, IkServiceError, SrdfError
from ik_service.model.groups.srdf import (
    EndEffector,
    GroupElements,
    MAX_MEMBERS,
    parse_srdf,
    Semantics,
    VirtualJoint,
)

LONGEST_TIME = 10.0  # also on a slow machine [s]


def test_everything_that_is_kept():
    semantics = parse_srdf(
        srdf_xml(
            group_xml('arm', 'chain:base>tool', 'joint:j', 'link:l', 'group:wrist'),
            group_xml('wrist', 'joint:j_6'),
            state_xml('home', 'arm', j='0.5', planar='1 2 3'),
            '<end_effector name="hand" parent_link="tool" group="wrist" parent_group="arm"/>',
            '<virtual_joint name="v" type="planar" parent_frame="odom" child_link="base"/>',
            '<passive_joint name="wheel"/>',
            '<disable_collisions link1="a" link2="b" reason="Adjacent"/>',
            '<disable_default_collisions link="cover"/>',
            '<enable_collisions link1="cover" link2="a"/>',
            '<link_sphere_approximation link="a"><sphere radius="1"/></link_sphere_approximation>',
            name='fancy',
        )
    )
    assert semantics.robot_name == 'fancy'
    assert semantics.groups == {
        'arm': GroupElements('arm', (('base', 'tool'),), ('j',), ('l',), ('wrist',)),
        'wrist': GroupElements('wrist', joints=('j_6',)),
    }
    assert semantics.states == {'arm': {'home': {'j': (0.5,), 'planar': (1.0, 2.0, 3.0)}}}
    assert semantics.end_effectors == (EndEffector('hand', 'tool', 'wrist', 'arm'),)
    assert semantics.virtual_joints == (VirtualJoint('v', 'planar', 'odom', 'base'),)
    assert semantics.passive_joints == ('wheel',)
    assert semantics.disabled_pairs == {frozenset('ab'): 'Adjacent'}
    assert frozenset('ba') in semantics.disabled_pairs
    assert semantics.unchecked_links == ('cover',)
    assert semantics.enabled_pairs == {frozenset(('cover', 'a'))}


def test_names_are_read_without_blanks_around_them():
    text = '<robot name=" r "><group name=" g "><joint name=" j\n"/></group></robot>'
    assert parse_srdf(text).groups['g'].joints == ('j',)


def test_semantics_are_read_only_and_can_be_pickled():
    semantics = parse_srdf(srdf_xml(group_xml('g', 'joint:j'), state_xml('s', 'g', j='1')))
    assert pickle.loads(pickle.dumps(semantics)) == semantics
    for mapping in (semantics.groups, semantics.states, semantics.states['g'], Semantics().groups):
        with pytest.raises(TypeError):
            mapping['new'] = None


@pytest.mark.parametrize(
    ('part', 'message'),
    [
        (
            '<disable_collisions link1="a" link2="a"/>',
            r"^<disable_collisions> at line 1 is left out: it names link 'a' twice",
        ),
        ('<group/>', r'^<group> at line 1 is left out: <group> has no name'),
        ('<group name="  "/>', 'has no name'),
        ('<group_state name="s"/>', r"^group_state 's' is left out: <group_state> has no group"),
        (
            state_xml('s', 'g') * 2,
            r"^group_state 's' is left out: the name stands twice in group 'g'",
        ),
        (
            state_xml('s', 'g', j='nan'),
            r"^group_state 's': a value is ignored: the value of joint 'j' has .* 'nan'",
        ),
        (state_xml('s', 'g', j='1 inf'), 'finite numbers'),
        (state_xml('s', 'g', j='1,5'), "not '1,5'"),
        (state_xml('s', 'g', j='1_0'), "not '1_0'"),
        (state_xml('s', 'g', j=''), 'has no value'),
        (
            '<group_state name="s" group="g"><joint name="j" value="1"/>'
            '<joint name="j" value="2"/></group_state>',
            "joint 'j' stands twice",
        ),
        ('<disable_collisions link1="a"/>', 'has no link2'),
        (
            '<end_effector name="e" group="g"/>',
            r"^end_effector 'e' is left out: .* no parent_link",
        ),
        (
            '<virtual_joint name="v" type="ball" parent_frame="w" child_link="b"/>',
            r"^virtual_joint 'v' is left out: unknown type 'ball'; valid: fixed, planar, floating",
        ),
        (
            '<virtual_joint name="v" type="fixed" parent_frame="w" child_link="b"/>'
            '<virtual_joint name="v" type="planar" parent_frame="odom" child_link="b"/>',
            r"^virtual_joint 'v' is left out: the name stands twice",
        ),
        ('<passive_joint/>', 'has no name'),
    ],
)
def test_malformed_elements_are_left_out_and_named(part, message):
    (remark,) = parse_srdf(srdf_xml(part)).remarks
    assert re.search(message, remark)
    semantics = parse_srdf(srdf_xml(part, group_xml('good', 'joint:j')))
    assert semantics.groups['good'] == GroupElements('good', joints=('j',))


@pytest.mark.parametrize(
    ('part', 'message'),
    [
        (group_xml('g') * 2, 'the name stands twice'),
        ('<group name="g"><joint/></group>', '<joint> has no name'),
        ('<group name="g"><chain base_link="b"/></group>', '<chain> has no tip_link'),
    ],
)
def test_a_malformed_group_is_kept_with_its_fault(part, message):
    groups = parse_srdf(srdf_xml(part, group_xml('good', 'joint:j'))).groups
    assert groups['g'] == GroupElements('g', fault=message)
    assert groups['good'] == GroupElements('good', joints=('j',))


def test_a_state_keeps_the_values_that_can_be_read():
    state = '<group_state name="s" group="g"><joint name="j" value="x"/>'
    state += '<joint name="k" value="1"/><joint value="2"/></group_state>'
    semantics = parse_srdf(srdf_xml(group_xml('g', 'joint:j'), state))
    assert semantics.states == {'g': {'s': {'k': (1.0,)}}}
    assert len(semantics.remarks) == 2


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'the SRDF is empty'),
        ('<robot', 'not well-formed'),
        ('<sdf/>', "root element 'sdf' is not a robot"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>', 'an SRDF must not declare'),
        ('<robot name="r">\0</robot>', 'NUL'),
        ('<robot name="r">\ud800</robot>', 'not Unicode'),
        ('<robot name="r">' + '<a>' * 300, 'nested more than'),
        ('<robot name="r"><group ' + 'a' * 500_000, 'longer than'),
        ('<robot name="r" xmlns:xacro="x"><xacro:arm name="a"/></robot>', 'xacro macro'),
        (srdf_xml('<passive_joint name="p"/>' * (MAX_MEMBERS + 1)), 'more than'),
        (srdf_xml(group_xml('g', *['chain:a>b'] * MAX_MEMBERS)), 'more than'),
        (srdf_xml('<a/>' * 300_000), 'more than 200000 elements'),
    ],
)
def test_hostile_text_is_refused_soon(text, message):
    start = time.process_time()
    with pytest.raises(SrdfError, match=message) as caught:
        parse_srdf(text)
    assert isinstance(caught.value, IkServiceError)
    assert len(str(caught.value)) < 1000
    assert time.process_time() - start < LONGEST_TIME


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('<robot ', '<robot xmlns="urn:a" '),
        ('<group ', '<group xmlns="urn:b" '),
        ('<chain ', '<undeclared:chain '),
        ('<robot ', '<u:robot xmlns:u="urn:a" '),
        ('<robot ', '\ufeff<robot a:b="c" '),
        ('<group ', '<x:note/><group '),
    ],
)
def test_namespaces_change_nothing(old, new):
    plain = srdf_xml(group_xml('arm', 'chain:base>tool'), state_xml('s', 'arm', j='1'))
    text = plain.replace(old, new)
    text = text.replace('</robot>', '</u:robot>') if '<u:robot' in text else text
    assert parse_srdf(text) == parse_srdf(plain)


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
    states = [state_xml('home', name, j_l1='0') for name in faulty]
    robot = read(*parts, group_xml('good', 'chain:base>l3'), *states)
    assert robot.group_names == ('good', *faulty)
    assert robot.group('good').tip_link == 'l3'
    assert robot.default_group.name == 'good'
    for name in faulty:
        assert re.search(message, robot.groups[name].fault)
        with pytest.raises(ChainError, match=f"planning group '{name}': .*{message.strip('^')}"):
            robot.group(name)
        (remark,) = (text for text in robot.remarks if f"group '{name}'" in text.split(': it ')[0])
        assert remark.startswith(f"SRDF: group '{name}' cannot be used: ")


@pytest.mark.parametrize(
    ('state', 'kept', 'message'),
    [
        (state_xml('s', 'none'), None, r"^group_state 's' is left out: group 'none' does not ex"),
        (state_xml('s', 'g', k='1', j_l1='1'), {'j_l1': 1.0}, "joint 'k' does not exist"),
        (state_xml('s', 'g', world_joint='1', j_l1='1'), {'j_l1': 1.0}, "'world_joint' does not"),
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
    assert time.process_time() - start < LONGEST_TIME


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
    beside = '<virtual_joint name="w" type="fixed" parent_frame="w" child_link="l1"/>'
    same = '<virtual_joint name="drive" type="planar" parent_frame="w" child_link="odom"/>'
    (remark,) = read(same, group_xml('g', 'chain:base>tool0'), urdf=urdf).semantics.remarks
    assert "virtual_joint 'drive' has the name of a joint of the robot" in remark
    assert read(
        virtual,
        beside,
        group,
        group_xml('h', 'joint:j_l1'),
        state_xml('s', 'h', j_l2='1', j_l1='-9'),
    ).semantics.remarks == (
        "group_state 's' of group 'h': values of joints outside of the group: j_l2",
        "group_state 's' of group 'h': values beyond the limits of joints: j_l1",
        "virtual_joint 'w' is not used: it does not hold the root link, 'base'",
    )
    for value, message in (
        ('0 0 0 0 0 0 0', "the quaternion of joint 'v' is zero"),
        ('0 0 0', "joint 'v' has 3 values, and needs 7"),
    ):
        robot = read(virtual, group, state_xml('s', 'g', v=value, j_l1='0.5'))
        assert robot.group_states('g') == {'s': {'j_l1': 0.5}}
        assert robot.semantics.remarks == (
            f"group_state 's' of group 'g': a value is ignored: {message}",
        )
