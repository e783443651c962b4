"""Planning groups of a robot from all sources together, and its public methods for them."""

import pickle

import pytest
from support.chains import arm_path
from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml, tree_xml

from ik_service import Robot
from ik_service.exceptions import (
    ArgumentError,
    ChainError,
    SrdfError,
    UnknownGroupError,
    UnknownLinkError,
)
from ik_service.model.groups.planning_group import named_states, PlanningGroup

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


def test_a_robot_has_the_states_of_its_known_groups():
    robot = Robot.from_urdf(arm_path('panda'))
    chain = robot.chain('panda_link0', 'panda_hand_tcp')
    states = robot.named_states(chain.joint_names)
    assert list(states) == ['ready', 'extended']
    assert set(states['ready']) == set(chain.joint_names)
    assert not robot.named_states(['panda_finger_joint1'])


def test_a_robot_has_the_states_of_its_srdf():
    text = (
        '<robot name="panda"><group name="arm"><chain base_link="panda_link0" '
        'tip_link="panda_link8"/></group><group_state name="low" group="arm">'
        '<joint name="panda_joint2" value="1.2"/></group_state></robot>'
    )
    robot = Robot.from_urdf(arm_path('panda'), srdf=text)
    chain = robot.chain('panda_link0', 'panda_hand_tcp')
    assert dict(robot.named_states(chain.joint_names)) == {'low': {'panda_joint2': 1.2}}
