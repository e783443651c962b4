"""Groups of a robot: their joints and tips, by the SRDF or by known names."""

import pickle

import pytest
from support.chains import arm_path, SHARED_ROBOTS
from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml, tree_xml
import yaml

from ik_service import Robot
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.exceptions import (
    ArgumentError,
    ChainError,
    SrdfError,
    UnknownGroupError,
    UnknownLinkError,
)
from ik_service.model.groups.planning_group import named_states, PlanningGroup
from ik_service.model.groups.robot_groups import known_robots

ARM = arm_xml('l6 f:tool', 'l6 p:a', 'l6 p:b')
SRDF = srdf_xml(
    group_xml('hand', 'link:a', 'link:b'),
    group_xml('arm', 'chain:base>l6'),
    state_xml('home', 'arm', j_l1='0.5'),
    '<disable_collisions link1="l1" link2="gone"/>',
)


@pytest.fixture
def robot():
    return Robot.from_urdf(ARM, srdf=SRDF)


def test_groups_are_read_only_and_the_default_comes_first(robot):
    assert robot.group_names == ('arm', 'hand')
    assert list(robot.groups) == ['arm', 'hand']
    with pytest.raises(TypeError):
        robot.groups['new'] = None
    with pytest.raises(TypeError):
        robot.group_states('arm')['home']['j_l1'] = 1.0


def test_chain_of_a_group(robot):
    chain = robot.group('arm')
    assert (chain.base_link, chain.tip_link, chain.n) == ('base', 'l6', 6)
    assert robot.group('arm', locked={'j_l2': 0.1}).n == 5
    assert robot.chain().tip_link == 'l6'  # that of the default group, not the tool


def test_groups_that_cannot_be_placed_say_why(robot):
    with pytest.raises(ChainError, match=r"^planning group 'hand': it is no chain: .* a, b$"):
        robot.group('hand')
    for name in ('arms', '', None, 3, ['arm']):
        with pytest.raises(UnknownGroupError, match='valid: arm, hand') as caught:
            robot.group(name)
        assert caught.value.valid == ('arm', 'hand')
        with pytest.raises(UnknownGroupError):
            robot.group_states(name)


def test_group_with_several_tips_is_a_tree():
    robot = Robot.from_urdf(arm_path('upper_body')).with_groups(
        {'both': ('pelvis', ('left_grip', 'right_grip'))}
    )
    assert set(robot.group('both').joint_names) == set(robot.groups['both'].joint_names)


def test_own_groups_go_first_and_replace_others(robot):
    mine = robot.with_groups({'mine': ('l1', 'tool'), 'arm': ('', 'tool')})
    assert mine.group_names == ('mine', 'arm', 'hand')
    assert mine.groups['mine'].origin == 'parameter'
    assert mine.groups['mine'].joint_names == tuple(f'j_l{i}' for i in range(2, 7))
    assert mine.groups['arm'].base_link == 'base'
    assert mine.group_states('arm') == {'home': {'j_l1': 0.5}}
    assert mine.default_tip() == 'tool'
    again = mine.with_groups({'later': ('base', 'l2')})
    assert again.group_names == ('later', 'mine', 'arm', 'hand')
    assert robot.group_names == ('arm', 'hand')
    assert robot.with_groups({}).group_names == ('arm', 'hand')


@pytest.mark.parametrize(
    ('groups', 'error', 'message'),
    [
        (None, ArgumentError, 'has to be a mapping'),
        ([('g', ('base', 'l6'))], ArgumentError, 'has to be a mapping'),
        ({'': ('base', 'l6')}, ArgumentError, "'' is no name"),
        ({3: ('base', 'l6')}, ArgumentError, '3 is no name'),
        ({'g': 'l6'}, ArgumentError, "'g' has to be a base link and a tip link, not 'l6'"),
        ({'g': ('base',)}, ArgumentError, 'a base link and a tip link'),
        ({'g': ('base', 'l5', 'l6')}, ArgumentError, 'a base link and a tip link'),
        ({'g': (None, 'l6')}, ArgumentError, 'a base link and a tip link'),
        ({'g': ('base', ())}, ArgumentError, 'a base link and a tip link'),
        ({'g': ('base', 6)}, ArgumentError, 'a base link and a tip link'),
        ({'g': ('base', ['l6', 6])}, ArgumentError, 'a base link and a tip link'),
        ({'g': ('base', ['l6', ['x']])}, ArgumentError, 'a base link and a tip link'),
        ({'g': {'base': 'l1', 'tip': 'l6'}}, ArgumentError, 'a base link and a tip link'),
        ({'g': ('base', 'l7')}, UnknownLinkError, "unknown link 'l7'"),
        ({'g': ('bas', 'l6')}, UnknownLinkError, "unknown link 'bas'"),
        ({'g': ('l6', 'tool')}, ChainError, "group 'g': no joint moves link 'tool'"),
        ({'g': ('base', ['l6', 'base'])}, ChainError, "no joint moves link 'base'"),
    ],
)
def test_bad_groups_of_the_user(robot, groups, error, message):
    with pytest.raises(error, match=message):
        robot.with_groups(groups)


def test_an_own_group_that_needs_a_faulty_joint_costs_that_group_alone():
    faulty = ARM.replace(
        '</robot>',
        '<link name="lid"/><joint name="hinge" type="revolute"><parent link="l6"/>'
        '<child link="lid"/></joint></robot>',
    )
    mine = Robot.from_urdf(faulty, srdf=SRDF).with_groups(
        {'lid': ('base', 'lid'), 'both': ('base', ('tool', 'lid')), 'mine': ('l1', 'tool')}
    )
    for name in ('lid', 'both'):
        assert mine.groups[name].fault.startswith("joint 'hinge' cannot be used")
        with pytest.raises(ChainError, match=f"planning group {name!r}: joint 'hinge' cannot"):
            mine.group(name)
        assert any(f"group {name!r} is refused: joint 'hinge'" in text for text in mine.remarks)
    assert set(mine.refused_groups) == {'lid', 'both'}
    assert mine.default_group.name == 'mine'
    assert mine.group('mine').tip_link == 'tool'
    assert mine.group('arm').tip_link == 'l6'
    assert mine.default_tip() == 'tool'


def test_pickled_robots_keep_their_groups(robot):
    mine = robot.with_groups({'mine': ('l1', 'tool')})
    copy = pickle.loads(pickle.dumps(mine))
    assert copy.groups == mine.groups
    assert list(copy.groups) == list(mine.groups)
    assert copy.semantics == mine.semantics
    assert copy.semantics.text == SRDF
    assert len(copy.semantics.remarks) == 1


def test_srdf_with_a_virtual_joint_of_a_missing_link_can_be_copied():
    srdf = srdf_xml(
        '<virtual_joint name="v" type="fixed" parent_frame="world" child_link="floor"/>',
        group_xml('arm', 'joint:v', 'chain:base>l6'),
    )
    robot = Robot.from_urdf(ARM, srdf=srdf).with_groups({'mine': ('l1', 'tool')})
    assert pickle.loads(pickle.dumps(robot)).group_names == ('mine', 'arm')


def test_srdf_from_a_file_and_as_text(tmp_path, robot):
    file = tmp_path / 'arm.srdf'
    file.write_text(SRDF)
    assert Robot.from_urdf(ARM, srdf=file).groups == robot.groups
    assert Robot.from_urdf(ARM, srdf=str(file)).groups == robot.groups
    assert Robot.from_urdf(ARM).with_srdf(SRDF).groups == robot.groups
    assert Robot.from_urdf(ARM).with_srdf_text(SRDF).groups == robot.groups


def test_sources_that_are_no_srdf(tmp_path):
    robot = Robot.from_urdf(ARM)
    missing = tmp_path / 'none.srdf'
    for source, message in ((missing, 'cannot be read'), (tmp_path, 'a folder'), ('', 'empty')):
        with pytest.raises(SrdfError, match=message):
            robot.with_srdf(source)
    with pytest.raises(SrdfError, match='the SRDF is empty'):
        Robot.from_urdf(ARM, srdf='')
    with pytest.raises(SrdfError, match='not well-formed'):
        robot.with_srdf_text(str(missing))
    for wrong in (3, b'<robot/>', ['<robot/>']):
        with pytest.raises(ArgumentError, match='srdf'):
            Robot.from_urdf(ARM, srdf=wrong)


def test_srdf_xacro_takes_the_arguments(tmp_path):
    pytest.importorskip('xacro')
    file = tmp_path / 'arm.srdf.xacro'
    file.write_text(
        '<robot name="test" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="group" default="arm"/>'
        '<group name="$(arg group)"><chain base_link="base" tip_link="l6"/></group></robot>'
    )
    assert Robot.from_urdf(ARM, srdf=file).group_names == ('arm',)
    assert Robot.from_urdf(ARM, {'group': 'mine'}, srdf=file).group_names == ('mine',)
    urdf = tmp_path / 'arm.urdf.xacro'
    urdf.write_text(ARM)
    unused = "xacro argument 'grp' is not used (is group meant?)"
    assert unused in Robot.from_urdf(ARM).with_srdf(file, {'grp': 'mine'}).remarks
    arm = build_arm(urdf, ArmSettings(), xacro_args={'group': 'mine', 'grp': 1}, srdf=file)
    assert arm.robot.group_names == ('mine',)
    assert [r for r in arm.robot.remarks if 'xacro' in r] == [unused]
    assert Robot.from_urdf(urdf, {'group': 'mine'}, srdf=file).group_names == ('mine',)
    assert Robot.from_urdf(urdf, {'group': 'mine'}, srdf=SRDF).group_names == ('arm', 'hand')
    with pytest.raises(ArgumentError, match='xacro_args'):
        Robot.from_urdf(ARM, {'group': 'mine'}, srdf=SRDF)


def test_default_tip_takes_the_first_group_below_the_base():
    urdf = tree_xml('base r:a r:b r:c f:c_tool', 'base r:x r:y r:z f:z_tool', 'base f:stand')
    srdf = srdf_xml(group_xml('left', 'chain:base>c'), group_xml('right', 'chain:base>z'))
    robot = Robot.from_urdf(urdf, srdf=srdf)
    assert robot.default_tip() == 'c'
    assert robot.default_tip('x') == 'z'
    with pytest.raises(ChainError, match="below 'stand'"):
        robot.default_tip('stand')
    with pytest.raises(UnknownLinkError):
        robot.default_tip('nowhere')


def group(name, joints, **states):
    return PlanningGroup(name, 'base', (name,), tuple(joints), states)


NAMED_STATES = {
    'of more joints are cut to those wanted': (
        'ab',
        {'up': {'a': 1.0, 'b': 2.0}},
        group('arm_and_hand', 'abc', up={'a': 1.0, 'b': 2.0, 'c': 3.0}),
    ),
    'of fewer joints name only those': (
        'abc',
        {'up': {'a': 1.0}},
        group('arm', 'ab', up={'a': 1.0}),
    ),
    'of groups that share only some joints do not count': (
        ['torso', 'left'],
        {},
        group('right', ['torso', 'right'], up={'torso': 1.0, 'right': 1.0}),
        group('hand', ['finger'], open={'finger': 1.0}),
    ),
    'without one of the joints do not count': ('ab', {}, group('all', 'abc', closed={'c': 1.0})),
    'of the group with the nearest joints count, then of the first': (
        'ab',
        {'up': {'a': 2.0}, 'down': {'a': -1.0}},
        group('wide', 'abc', up={'a': 1.0}, down={'a': -1.0}),
        group('exact', 'ab', up={'a': 2.0}),
        group('twin', 'ab', up={'a': 3.0}),
    ),
}


@pytest.mark.parametrize('case', NAMED_STATES.values(), ids=NAMED_STATES)
def test_named_states(case):
    joints, states, *groups = case
    assert dict(named_states(groups, joints)) == states


def test_a_robot_has_the_states_of_its_known_groups_or_of_its_srdf():
    robot = Robot.from_urdf(arm_path('panda'))
    names = robot.chain('panda_link0', 'panda_hand_tcp').joint_names
    states = robot.named_states(names)
    assert list(states) == ['ready', 'extended']
    assert set(states['ready']) == set(names)
    assert not robot.named_states(['panda_finger_joint1'])
    arm = group_xml('arm', 'chain:panda_link0>panda_link8')
    low = state_xml('low', 'arm', panda_joint2='1.2')
    robot = Robot.from_urdf(arm_path('panda'), srdf=srdf_xml(arm, low, name='panda'))
    assert dict(robot.named_states(names)) == {'low': {'panda_joint2': 1.2}}


UR = (
    'base_link f:base',
    'base_link r:shoulder_link r:upper_arm_link r:forearm_link r:wrist_1_link r:wrist_2_link '
    'r:wrist_3_link f:flange f:tool0',
)


def ur_xml(*more, prefix='', name='arm', root=''):
    branches = [*UR, *more]
    words = [
        ' '.join(
            f'{kind}:{prefix}{link}' if kind else prefix + link
            for kind, _, link in (word.rpartition(':') for word in branch.split())
        )
        for branch in branches
    ]
    return tree_xml(*([f'{root} f:{prefix}base_link'] if root else []), *words, name=name)


def test_the_table_is_consistent():
    for robot in known_robots():
        names = [group.name for group in robot.groups]
        assert len(set(names)) == len(names)
        assert set(robot.grippers) <= set(names)
        assert robot.states.keys() <= set(names)
        for group in robot.groups:
            assert group.chains or group.joints or group.links or group.subgroups, group.name
            assert set(group.subgroups) <= set(names)
    assert len({robot.links for robot in known_robots()}) == len(known_robots())


def test_panda_has_the_groups_of_its_moveit_configuration():
    robot = Robot.from_urdf(arm_path('panda'))
    ends = {name: (group.base_link, group.tip_links) for name, group in robot.groups.items()}
    arm = ('panda_link0', ('panda_link8',))
    assert ends == {
        'panda_manipulator': ('panda_link0', ('panda_hand_tcp',)),
        'panda_arm': arm,
        'hand': ('panda_link8', ()),
        'panda_hand': ('panda_link8', ()),
        'panda_arm_hand': arm,
    }
    assert 'it branches to panda_leftfinger, panda_rightfinger' in robot.groups['hand'].fault
    ready = robot.group_states('panda_arm')['ready']
    assert ready['panda_joint4'] == pytest.approx(-2.356194)
    assert {group.origin for group in robot.groups.values()} == {'known name'}


def test_ur_is_known_by_its_links_whatever_its_name():
    robot = Robot.from_urdf(ur_xml(name='ur16e'))
    assert robot.group_names == ('ur_manipulator', 'manipulator', 'ur16e_manipulator')
    assert {group.tip_links for group in robot.groups.values()} == {('tool0',)}


def test_one_prefix_gives_the_names_with_and_without_it_and_several_those_with_them():
    robot = Robot.from_urdf(ur_xml(prefix='left_', root='world'))
    assert robot.group_names[0] == 'ur_manipulator'
    for name in ('ur_manipulator', 'left_ur_manipulator'):
        assert robot.groups[name].base_link == 'left_base_link'
        assert robot.groups[name].tip_links == ('left_tool0',)
    left, right = (ur_xml(prefix=f'{side}_', root='world') for side in ('left', 'right'))
    robot = Robot.from_urdf(joined(left, right))
    assert robot.groups['left_ur_manipulator'].tip_links == ('left_tool0',)
    assert robot.groups['right_ur_manipulator'].tip_links == ('right_tool0',)
    assert 'ur_manipulator' not in robot.groups
    assert robot.default_tip() == 'left_tool0'
    (remark,) = robot.remarks
    assert "the groups 'left_ur_manipulator' and 'right_ur_manipulator': the first" in remark
    assert robot.default_tip('right_base_link') == 'right_tool0'


def joined(*texts):
    """One robot of several with the same root, called world."""
    first, *others = texts
    bodies = (text.partition('>')[2].replace('<link name="world"/>', '') for text in others)
    return (
        first.replace('</robot>', '')
        + ''.join(body.replace('</robot>', '') for body in bodies)
        + '</robot>'
    )


def test_an_arm_without_a_prefix_does_not_hide_the_other_one():
    robot = Robot.from_urdf(joined(ur_xml(root='world'), ur_xml(prefix='second_', root='world')))
    assert robot.groups['ur_manipulator'].tip_links == ('tool0',)
    assert robot.groups['second_ur_manipulator'].tip_links == ('second_tool0',)
    (remark,) = robot.remarks
    assert "equal arms are the groups 'ur_manipulator' and 'second_ur_manipulator'" in remark


def test_two_kinds_of_arms_have_their_groups_each():
    names = [f'b_link{number}' for number in range(1, 7)]
    xarm = 'world f:b_link_base ' + ' '.join(f'r:{name}' for name in names) + ' f:b_link_eef'
    robot = Robot.from_urdf(joined(ur_xml(prefix='a_', root='world'), tree_xml(xarm)))
    assert robot.groups['a_ur_manipulator'].tip_links == ('a_tool0',)
    assert robot.groups['b_xarm6'].tip_links == ('b_link_eef',)
    assert robot.groups['xarm6'].tip_links == ('b_link_eef',)
    assert "arms are the groups 'ur_manipulator' and 'xarm6': the first" in ' '.join(robot.remarks)


def test_a_tool_beyond_the_known_tip_stays_the_default_where_it_is_the_only_leaf():
    robot = Robot.from_urdf(ur_xml('tool0 f:pen'))
    assert robot.default_tip() == 'pen'
    assert robot.groups['ur_manipulator'].tip_links == ('tool0',)
    gripper = Robot.from_urdf(ur_xml('tool0 p:left_finger', 'tool0 p:right_finger'))
    assert gripper.default_tip() == 'tool0'


def test_xarm_is_placed_by_its_tool_where_it_has_one():
    links = 'link_base ' + ' '.join(f'r:link{i}' for i in range(1, 8)) + ' f:link_eef'
    groups = Robot.from_urdf(tree_xml(links)).groups
    assert groups['xarm7'].tip_links == ('link_eef',)
    assert not {'xarm6', 'xarm5'} & {*groups}  # an arm is of one kind only
    tool = Robot.from_urdf(tree_xml(links, 'link_eef f:link_tcp', 'link_eef f:camera'))
    assert tool.groups['xarm7'].tip_links == ('link_tcp',)
    six = tree_xml('link_base ' + ' '.join(f'r:link{i}' for i in range(1, 7)) + ' f:link_eef')
    assert set(Robot.from_urdf(six).groups) == {'xarm6', 'lite6', 'uf850'}


def test_an_srdf_replaces_the_known_names_unless_it_has_no_groups():
    urdf = arm_path('panda')
    mine = srdf_xml(group_xml('mine', 'link:panda_link1'), name='panda')
    assert Robot.from_urdf(urdf, srdf=mine).group_names == ('mine',)
    robot = Robot.from_urdf(urdf, srdf=srdf_xml(name='panda'))
    assert robot.group_names == Robot.from_urdf(urdf).group_names
    assert robot.semantics.remarks == ('it has no planning groups',)


@pytest.mark.parametrize(
    ('ends', 'tip'),
    [
        (('r:gripper_active f:gripper_cushion', 'f:gripper_static'), 'hand'),
        (('r:gripper_1', 'r:outer r:gripper_2'), 'hand'),
        (('r:gripper_1', 'f:bracket f:gripper_2'), 'hand'),
        (('r:l7 f:plate', 'f:bracket'), 'plate'),  # the end of an arm of seven joints
    ],
)
def test_jaws_of_a_gripper_yield_to_the_link_that_carries_them(ends, tip):
    branches = (f'l6 f:hand {ends[0]}', f'hand {ends[1]}')
    assert Robot.from_urdf(arm_xml(*branches)).default_tip() == tip


def test_an_unknown_robot_has_one_group_to_its_default_tip():
    robot = Robot.from_urdf(tree_xml('base r:a r:b'))
    (group,) = robot.groups.values()
    assert (group.name, group.base_link, group.tip_links) == ('manipulator', 'base', ('b',))
    assert group.origin == 'default'
    assert Robot.from_urdf(tree_xml('base r:a r:b', 'base r:c r:d')).group_names == ()
    assert Robot.from_urdf(tree_xml('base f:a')).group_names == ()


@pytest.mark.skipif(not SHARED_ROBOTS.is_dir(), reason='no ../shared/robots')
def test_chains_of_real_robots_are_among_the_known_tips():
    missing = set()
    for entry in yaml.safe_load((SHARED_ROBOTS / 'chains.yaml').read_text()):
        robot = Robot.from_urdf(SHARED_ROBOTS / entry['urdf'])
        tips = {tip for group in robot.groups.values() for tip in group.tip_links}
        if entry['tip_link'] not in tips:
            missing.add(entry['name'])
    # The one is a tool beside MoveIt's tip, the other a finger.
    assert missing == {'motoman_csda10f', 'yumi_finger_mimic_offpath'}
