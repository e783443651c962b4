"""Reading of SRDF text: what is kept of it, and what is refused."""

import pickle
import re
import time

import pytest
from support.urdf_texts import group_xml, srdf_xml, state_xml

from ik_service.exceptions import IkServiceError, SrdfError
from ik_service.model.groups.srdf import (
    EndEffector,
    GroupElements,
    MAX_MEMBERS,
    parse_srdf,
    Semantics,
    VirtualJoint,
)

LONGEST_TIME = 3.0  # [s]


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
