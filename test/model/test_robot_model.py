"""The model of a robot, and tool frames."""

from dataclasses import replace
import math
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import arm_path
from support.robots import humanoid_robot, make_joint, X_AXIS
from support.urdf_texts import srdf_xml, tree_xml

import ik_service as iks
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import (
    IkServiceError,
    ToolFrameError,
    UnknownJointError,
    UnknownLinkError,
    UrdfError,
)
from ik_service.kinematics.link_poses import link_poses
from ik_service.model import tool_frame
from ik_service.model.joint import Joint, JointLimits, JointType, Mimic
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.robot import Robot

SEEDED = settings(deadline=None, derandomize=True, max_examples=40)


@pytest.fixture
def humanoid():
    return humanoid_robot()


def names(path):
    return [(joint.name, forward) for joint, forward in path]


def test_names_stand_in_document_order(humanoid):
    assert humanoid.name == 'humanoid'
    assert humanoid.root_link == 'base'
    assert humanoid.links[0] == 'base'
    assert humanoid.links[-1] == 'r_hand'
    assert humanoid.leaves == ('head', 'l_hand', 'r_hand')
    assert list(humanoid.joints)[:2] == ['waist', 'neck']
    assert humanoid.movable_joint_names == ('waist', 'neck', 'l_shoulder', 'r_shoulder', 'r_wrist')
    assert humanoid.urdf_text == ''
    assert repr(humanoid) == "Robot('humanoid', 7 links, 6 joints)"


def test_neighbours_of_a_link(humanoid):
    assert humanoid.parent_joint_of('base') is None
    assert humanoid.parent_joint_of('torso') is humanoid.joints['waist']
    below = [joint.name for joint in humanoid.child_joints_of('torso')]
    assert below == ['neck', 'l_shoulder', 'r_shoulder']
    assert humanoid.child_joints_of('head') == ()


def test_path_down_up_and_over_the_common_ancestor(humanoid):
    down = [('waist', True), ('r_shoulder', True), ('r_wrist', True)]
    assert names(humanoid.path('base', 'r_hand')) == down
    up = [('r_wrist', False), ('r_shoulder', False), ('waist', False)]
    assert names(humanoid.path('r_hand', 'base')) == up
    over = [('l_wrist', False), ('l_shoulder', False), ('r_shoulder', True), ('r_wrist', True)]
    assert names(humanoid.path('l_hand', 'r_hand')) == over
    assert humanoid.path('torso', 'torso') == ()


@pytest.mark.parametrize('ends', [('nowhere', 'base'), ('base', 'nowhere')])
def test_unknown_link_is_named_with_the_valid_ones(humanoid, ends):
    with pytest.raises(UnknownLinkError, match=r"unknown link 'nowhere'; valid: base, torso"):
        humanoid.path(*ends)
    with pytest.raises(UnknownLinkError):
        humanoid.parent_joint_of('nowhere')
    with pytest.raises(UnknownLinkError):
        humanoid.child_joints_of('nowhere')


@st.composite
def trees(draw):
    """A random tree of up to 40 links, whose links and joints stand in random order."""
    count = draw(st.integers(1, 40))
    parents = [draw(st.integers(0, child - 1)) for child in range(1, count)]
    joints = [
        make_joint(f'j{child}', f'l{parent}', f'l{child}')
        for child, parent in enumerate(parents, start=1)
    ]
    links = [f'l{index}' for index in range(count)]
    return Robot('tree', draw(st.permutations(links)), draw(st.permutations(joints)))


@SEEDED
@given(trees(), st.data())
def test_path_leads_from_base_to_tip_without_detour(robot, data):
    link = data.draw(st.sampled_from(robot.links))
    tip = data.draw(st.sampled_from(robot.links))
    path = robot.path(link, tip)
    for joint, forward in path:
        start, end = (joint.parent, joint.child) if forward else (joint.child, joint.parent)
        assert start == link
        link = end
    assert link == tip
    assert len({joint.name for joint, _ in path}) == len(path)


def test_mimic_of_a_mimic_is_resolved_to_the_independent_joint():
    robot = Robot(
        'gripper',
        ['a', 'b', 'c', 'd'],
        [
            make_joint('third', 'a', 'b', mimic=Mimic('second', 3.0, 0.5)),
            make_joint('second', 'a', 'c', mimic=Mimic('first', -2.0, 0.25)),
            make_joint('first', 'a', 'd'),
        ],
    )
    assert robot.resolve_mimic('first') == ('first', 1.0, 0.0)
    assert robot.resolve_mimic('second') == ('first', -2.0, 0.25)
    assert robot.resolve_mimic('third') == ('first', -6.0, 3.0 * 0.25 + 0.5)
    assert robot.movable_joint_names == ('third', 'second', 'first')
    assert robot.independent_joint_names == ('first',)


def test_misspelled_elements_and_attributes_are_remarked():
    urdf = tree_xml('base r:arm').replace('<axis', '<origin xzy="0 0 1"/><axis')
    moments = ' '.join(f'i{axes}="1"' for axes in ('xx', 'xy', 'xz', 'yx', 'yy', 'yz', 'zz'))
    link = f'<link name="arm"><inertial><inertia {moments}/></inertial><colision/>'
    urdf = urdf.replace('<link name="arm"/>', f'{link}<collision/><extra/></link>')
    urdf = urdf.replace('<robot', '<robot xmlns:other="https://example.org"')
    urdf = urdf.replace('<limit', '<limit other:acceleration="1"')
    group = '<group name="g"><joints name="j_arm"/><joint name="j_arm"/></group>'
    srdf = srdf_xml(group, '<disable_colisions link1="base" link2="arm"/>')
    assert Robot.from_urdf(urdf, srdf=srdf).remarks == (
        "<colision> of link 'arm' is not read (is collision meant?)",
        "xzy in <origin> of joint 'j_arm' is not read (is xyz meant?)",
        'SRDF: <disable_colisions> is not read (is disable_collisions meant?)',
        "SRDF: <joints> of group 'g' is not read (is joint meant?)",
    )


@pytest.mark.parametrize(
    ('multiplier', 'offset', 'lower', 'upper'),
    [(-0.5, 0.25, -1.5, 1.5), (0.0, 0.0, -2.0, 2.0), (0.0, 9.0, -2.0, 2.0), (1.0, 3.0, -2.0, 2.0)],
)
def test_joints_keep_the_limits_of_those_that_follow_them(multiplier, offset, lower, upper):
    followed = replace(make_joint('a', 'base', 'tip'), limits=JointLimits(-2.0, 2.0))
    mimic = make_joint('b', 'base', 'beside', mimic=Mimic('a', multiplier, offset))
    mimic = replace(mimic, limits=JointLimits(-0.5, 1.0))
    robot = Robot('arm', ['base', 'tip', 'beside'], [followed, mimic])
    chain = robot.chain('base', 'tip')
    assert (chain.lower[0], chain.upper[0]) == (lower, upper)
    unused = "the limits of joint 'b' are used only in chains through it: it follows joint 'a'"
    assert any(unused in remark for remark in robot.remarks) == (offset > 1.0)


@pytest.mark.parametrize(('velocity', 'followed_velocity'), [(3.0, 1.5), (9.0, 2.0), (0.0, 2.0)])
@pytest.mark.parametrize('in_file', [False, True])
def test_joints_keep_the_rates_of_those_that_follow_them(velocity, followed_velocity, in_file):
    rates = {'velocity': velocity, 'acceleration': 8.0, 'jerk': 100.0}
    followed = replace(make_joint('a', 'base', 'tip'), limits=JointLimits(-2.0, 2.0, 2.0))
    mimic = make_joint('b', 'base', 'beside', mimic=Mimic('a', -2.0))
    mimic = replace(mimic, limits=JointLimits(-9.0, 9.0, **({} if in_file else rates)))
    robot = Robot('arm', ['base', 'tip', 'beside'], [followed, mimic])
    if in_file:
        robot = robot.with_limits(MotionBounds({'b': JointBounds(**rates)}))
    assert robot.chain('base', 'tip').velocity[0] == followed_velocity
    limits = JointLimits(-2.0, 2.0, followed_velocity, acceleration=4.0, jerk=50.0)
    assert robot.joints['a'].limits == limits
    unused = velocity == 0.0  # which no speed of the followed joint would keep
    assert bool(robot.remarks) == unused


def test_resolve_mimic_knows_movable_joints_only(humanoid):
    for name in ('l_wrist', 'nothing'):
        with pytest.raises(UnknownJointError, match='valid: waist, neck'):
            humanoid.resolve_mimic(name)


@pytest.mark.parametrize(
    ('mimics', 'message'),
    [
        ({'a': Mimic('a')}, r"joint 'a': follows itself"),
        ({'a': Mimic('b'), 'b': Mimic('c'), 'c': Mimic('a')}, 'follows itself'),
        ({'a': Mimic('b'), 'b': Mimic('c'), 'c': Mimic('b')}, r"joint 'b': follows itself"),
        ({'a': Mimic('x')}, r"joint 'a': <mimic> names joint 'x', which does not exist"),
        ({'a': Mimic('still')}, r"joint 'a': <mimic> names joint 'still', which is fixed"),
        ({'a': Mimic('b', 1e200), 'b': Mimic('c', 1e200)}, r"joint 'a': <mimic> exceeds"),
    ],
)
def test_mimics_that_cannot_be_followed(mimics, message):
    joints = [make_joint(name, 'base', f'{name}_link', mimic=mimics.get(name)) for name in 'abc']
    joints.append(make_joint('still', 'base', 'still_link', JointType.FIXED))
    links = ['base', *(joint.child for joint in joints)]
    with pytest.raises(UrdfError, match=message):
        Robot('robot', links, joints)


def test_long_chain_of_mimics_is_followed_without_recursion():
    count = 5000
    joints = [
        make_joint(f'j{i}', 'base', f'l{i}', mimic=Mimic(f'j{i + 1}', -1.0) if i < count else None)
        for i in range(count + 1)
    ]
    robot = Robot('robot', ['base', *(joint.child for joint in joints)], joints)
    assert robot.resolve_mimic('j0') == (f'j{count}', 1.0, 0.0)


@pytest.mark.parametrize(
    ('links', 'joints', 'message'),
    [
        ([], [], 'the robot has no links'),
        (['a', 'a'], [], r"link 'a': the name stands twice"),
        (['a', 'b'], [], 'several links have no parent joint: a, b'),
        (['a', 'b', 'c'], [('j', 'a', 'b'), ('j', 'b', 'c')], r"joint 'j': the name stands twice"),
        (['a'], [('j', 'a', 'b')], r"joint 'j': its child link 'b' does not exist"),
        (['b'], [('j', 'a', 'b')], r"joint 'j': its parent link 'a' does not exist"),
        (
            ['a', 'b', 'c'],
            [('i', 'a', 'c'), ('j', 'b', 'c')],
            r"joint 'j': its child link 'c' is also that of joint 'i'",
        ),
        (['a'], [('j', 'a', 'a')], r"joint 'j': the links form a loop"),
        (['a', 'b'], [('i', 'a', 'b'), ('j', 'b', 'a')], 'the links form a loop'),
        (
            ['root', 'a', 'b', 'c'],
            [('i', 'a', 'b'), ('j', 'b', 'a'), ('k', 'b', 'c')],
            r"joint '[ij]': the links form a loop",
        ),
    ],
)
def test_links_that_form_no_tree(links, joints, message):
    with pytest.raises(UrdfError, match=message):
        Robot('robot', links, [make_joint(*joint) for joint in joints])


def test_a_deep_tree_needs_no_recursion():
    count = 20_000
    joints = [make_joint(f'j{i}', f'l{i}', f'l{i + 1}') for i in range(count)]
    robot = Robot('snake', [f'l{i}' for i in range(count + 1)], joints)
    assert len(robot.path('l0', f'l{count}')) == count
    assert robot.leaves == (f'l{count}',)


def test_robot_and_joint_are_read_only(humanoid):
    joint = humanoid.joints['neck']
    with pytest.raises(ValueError, match='read-only'):
        joint.axis[0] = 2.0
    with pytest.raises(ValueError, match='read-only'):
        joint.T_parent_joint[0, 3] = 2.0
    with pytest.raises(AttributeError):
        joint.name = 'other'
    with pytest.raises(TypeError):
        humanoid.joints['neck'] = joint
    with pytest.raises(AttributeError):
        humanoid.links = ()


def test_joint_keeps_its_own_copy_of_the_arrays():
    axis = X_AXIS.copy()
    joint = Joint('j', JointType.REVOLUTE, 'a', 'b', np.eye(4), axis)
    axis[0] = 5.0
    assert joint.axis[0] == 1.0
    assert joint.movable


def test_source_is_the_file_that_was_read(tmp_path, monkeypatch):
    text = '<robot name="r"><link name="a"/></robot>'
    path = tmp_path / 'r.urdf'
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    for urdf in (path, str(path), 'r.urdf'):
        robot = Robot.from_urdf(urdf)
        assert robot.source == path
        assert pickle.loads(pickle.dumps(robot)).source == path
    assert Robot.from_urdf(text).source is None


PANDA = arm_path('panda')
TCP = iks.ToolFrame('panda_link8', (0.0, 0.01, 0.1), (0.1, -0.2, 0.3))
T_TCP = transform_from_xyz_rpy(TCP.xyz, TCP.rpy)


@pytest.fixture(scope='module')
def robot():
    return iks.Robot.from_urdf(PANDA)


def test_a_tool_frame_is_a_link(robot):
    tooled = robot.with_tool_frames({'tcp': TCP})
    assert 'tcp' in tooled.links
    assert 'tcp' not in robot.links
    positions = dict.fromkeys(robot.independent_joint_names, 0.3)
    poses = link_poses(tooled, positions)
    np.testing.assert_allclose(poses['tcp'], poses['panda_link8'] @ T_TCP, atol=1e-15)
    q = np.full(7, -0.3)
    np.testing.assert_allclose(
        tooled.chain('panda_link0', 'tcp').forward(q),
        robot.chain('panda_link0', 'panda_link8').forward(q) @ T_TCP,
        atol=1e-14,
    )
    for name in ('name', 'urdf_text', 'source', 'root_link', 'movable_joint_names'):
        assert getattr(tooled, name) == getattr(robot, name)
    assert isinstance(tooled, iks.Robot)


def test_a_tool_on_a_tool_in_any_order(robot):
    tools = {
        'needle': iks.ToolFrame('syringe', (0.1, 0.0, 0.0)),
        'syringe': iks.ToolFrame('holder', (0.1, 0.0, 0.0)),
        'holder': TCP,
        'camera': iks.ToolFrame('holder'),
    }
    tooled = robot.with_tool_frames(tools)
    poses = link_poses(tooled, {})
    expected = poses['panda_link8'] @ T_TCP @ transform_from_xyz_rpy((0.2, 0, 0), (0, 0, 0))
    np.testing.assert_allclose(poses['needle'], expected, atol=1e-15)


def test_copies_and_more_tools(robot):
    tooled = robot.with_tool_frames({'a': TCP}).with_tool_frames({'b': iks.ToolFrame('a')})
    again = pickle.loads(pickle.dumps(tooled))
    assert again.links == tooled.links
    assert again.links[-2:] == ('a', 'b')
    assert robot.with_tool_frames({}) is robot


@pytest.mark.parametrize(
    ('tools', 'words'),
    [
        ({'tcp': iks.ToolFrame('panda_link9')}, "'tcp': there is no link 'panda_link9'; valid: p"),
        ({'tcp': iks.ToolFrame(['panda_link8'])}, 'there is no link'),
        ({'panda_link8': TCP}, 'has a link of that name'),
        ({'panda_joint1': TCP}, 'has a joint of that name'),
        ({'tcp': iks.ToolFrame('panda_link8', (math.nan, 0, 0))}, 'xyz has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', (0, 0))}, 'xyz has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', 'abc')}, 'xyz has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', rpy=(0, 0, 1e7))}, 'rpy has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', rpy=(0, 0, True))}, 'rpy has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', rpy=None)}, 'rpy has to be three finite'),
        ({'a': iks.ToolFrame('b'), 'b': iks.ToolFrame('a')}, "itself: 'a' → 'b' → 'a'"),
        ({'a': iks.ToolFrame('a')}, 'attached to itself'),
        ({'': TCP}, 'is no name'),
        ({'/tcp': TCP}, 'slash'),
        ({'x' * 201: TCP}, 'is no name'),
        ({7: TCP}, 'is no name'),
        ({'tcp': {'link': 'panda_link8'}}, 'is a dict, not a ToolFrame'),
        ({f't{i}': TCP for i in range(10_000)}, 'there are 10000 of them'),
    ],
)
def test_bad_tools_are_refused(robot, tools, words):
    with pytest.raises(ToolFrameError) as caught:
        robot.with_tool_frames(tools)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1500
    assert isinstance(caught.value, IkServiceError)


def test_a_long_row_of_tools(robot):
    count = tool_frame.MOST_TOOLS
    tools = {f't{i}': iks.ToolFrame(f't{i + 1}') for i in range(count - 1)}
    tooled = robot.with_tool_frames({**tools, f't{count - 1}': TCP})
    np.testing.assert_allclose(
        link_poses(tooled, {})['t0'], link_poses(tooled, {})['panda_link8'] @ T_TCP, atol=1e-12
    )


def test_tools_leave_the_default_tip_of_an_arm():
    settings = ArmSettings('panda_link0', 'panda_link8')
    urdf = iks.Robot.from_urdf(PANDA)
    plain = build_arm(PANDA, settings)
    assert plain.described.links == plain.robot.links == urdf.links
    row = '<robot name="row"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
    row += '<parent link="a"/><child link="b"/></joint></robot>'
    arm = build_arm(row, ArmSettings(tool_frames={'tcp': iks.ToolFrame('b'), 'x': TOOL_ON_A}))
    assert arm.chain.tip_link == 'b'
    assert arm.has_link('tcp')
    arm = build_arm(row, ArmSettings(tip_link='tcp', tool_frames={'tcp': iks.ToolFrame('b')}))
    assert arm.chain.tip_link == 'tcp'


TOOL_ON_A = iks.ToolFrame('a')
