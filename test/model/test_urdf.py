"""URDF: what is read, what is refused by name, and what is written."""

import math
from pathlib import Path
import re

import numpy as np
import pytest
from support.chains import arm_path, rotation
from support.urdf_texts import joint_xml, LIMIT, read_joint, robot_xml, TREE

from ik_service.exceptions import ArgumentError, ChainError, FaultyJointError, UrdfError
from ik_service.model.joint import JointLimits, JointType, Mimic
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.model.tool_frame import ToolFrame
from ik_service.model.urdf_writing import partial_urdf, whole_urdf
from ik_service.motion.settings import FollowerSettings
from ik_service.paths.timing.timing_limits import timing_limits
from ik_service.robot import Robot

PANDA = arm_path('panda')
ROBOTS = Path(__file__).resolve().parents[3] / 'shared' / 'robots'


def test_all_fields_of_a_joint_are_read():
    joint = read_joint('<origin xyz="0.1 0.2 0.3"/><axis xyz="0 0 1"/>' + LIMIT)
    assert joint.type is JointType.REVOLUTE
    assert (joint.name, joint.parent, joint.child) == ('shoulder', 'base', 'arm')
    assert joint.limits == JointLimits(-1.0, 2.0, 3.0, 4.0)
    assert joint.mimic is None
    assert joint.movable
    np.testing.assert_array_equal(joint.T_parent_joint[:3, 3], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(joint.T_parent_joint[:3, :3], np.eye(3))
    np.testing.assert_array_equal(joint.axis, [0.0, 0.0, 1.0])


def test_missing_origin_is_the_identity_and_missing_axis_is_x():
    joint = read_joint()
    np.testing.assert_array_equal(joint.T_parent_joint, np.eye(4))
    np.testing.assert_array_equal(joint.axis, [1.0, 0.0, 0.0])


def test_rpy_turns_about_fixed_axes_roll_first():
    joint = read_joint('<origin xyz="1 2 3" rpy="0.3 -0.8 2.5"/>' + LIMIT)
    expected = rotation([0, 0, 1], 2.5) @ rotation([0, 1, 0], -0.8) @ rotation([1, 0, 0], 0.3)
    np.testing.assert_allclose(joint.T_parent_joint[:3, :3], expected, atol=1e-15)
    np.testing.assert_array_equal(joint.T_parent_joint[3], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize('text', ['0 3 4', ' 0\n3e300  4e300 ', '0 3e-8 4E-8', '0 +3. 4.'])
def test_axis_is_normalised(text):
    joint = read_joint(f'<axis xyz="{text}"/>' + LIMIT)
    np.testing.assert_allclose(joint.axis, [0.0, 0.6, 0.8], rtol=1e-15)


def test_numbers_are_read_to_the_last_bit():
    joint = read_joint(
        '<origin xyz="0.1234567890123456789 1e-320 0"/>'
        '<limit lower="-3.14159265358979323846" upper="3.14159265358979323846"/>'
    )
    assert joint.T_parent_joint[0, 3] == 0.1234567890123456789
    assert joint.T_parent_joint[1, 3] == 1e-320
    assert (joint.limits.lower, joint.limits.upper) == (-math.pi, math.pi)


def test_a_continuous_joint_has_no_end_stops():
    for parts in ('', '<limit lower="nonsense" velocity="3" effort="4"/>', LIMIT):
        joint = read_joint(parts, 'continuous')
        assert joint.type is JointType.CONTINUOUS
        assert (joint.limits.lower, joint.limits.upper) == (-math.inf, math.inf)
    assert (joint.limits.velocity, joint.limits.effort) == (3.0, 4.0)


def test_missing_velocity_and_effort_are_unlimited_and_a_missing_bound_is_zero():
    limits = read_joint('<limit upper="0.5"/>', 'prismatic').limits
    assert limits == JointLimits(0.0, 0.5, math.inf, math.inf)


@pytest.mark.parametrize(
    ('soft', 'lower', 'upper'),
    [
        ('soft_lower_limit="-0.5" soft_upper_limit="1.5"', -0.5, 1.5),
        ('soft_lower_limit="-9" soft_upper_limit="inf"', -1.0, 2.0),
        ('soft_upper_limit="1"', 0.0, 1.0),
        ('k_position="100"', -1.0, 2.0),
        ('soft_lower_limit="0" soft_upper_limit="0.0"', -1.0, 2.0),
    ],
)
def test_soft_limits_narrow_the_range_as_in_moveit(soft, lower, upper):
    controller = f'<safety_controller k_velocity="10" {soft}/>'
    limits = read_joint(LIMIT + controller).limits
    assert limits == JointLimits(lower, upper, 3.0, 4.0)
    assert read_joint(controller, 'continuous').limits == JointLimits()
    remarks = Robot.from_urdf(robot_xml(joint_xml(LIMIT + controller))).remarks
    unused = "<safety_controller> without a range is taken for none: joint 'shoulder'"
    assert (unused in remarks) == ('upper' not in soft or '0.0' in soft)


def test_accelerations_and_jerks_of_urdf_1_2():
    rates = 'velocity="3" effort="4" acceleration="5" deceleration="2" jerk="-1"'
    robot = Robot.from_urdf(robot_xml(joint_xml(f'<limit lower="-1" upper="2" {rates}/>')))
    assert robot.joints['shoulder'].limits == JointLimits(-1.0, 2.0, 3.0, 4.0, 2.0, math.inf)
    assert "<limit> jerk -1 is taken for none: joint 'shoulder'" in robot.remarks
    chain = robot.with_limits(MotionBounds({'shoulder': JointBounds(velocity=1.0)})).chain()
    bounds = MotionBounds({'shoulder': JointBounds(acceleration=3.0, jerk=7.0)})
    assert (bounds.acceleration(chain.joints), bounds.jerk(chain.joints)) == ([2.0], [7.0])
    assert timing_limits(chain, None).acceleration == [2.0]
    assert FollowerSettings(acceleration_time=0.0).motion_limits(chain).acceleration_now == [2.0]


def test_soft_limits_outside_of_the_limits_are_a_fault():
    controller = '<safety_controller soft_lower_limit="3" soft_upper_limit="4" k_velocity="1"/>'
    reason = (
        'cannot be used: <safety_controller> from 3 to 4 leaves nothing of its <limit> from -1'
    )
    assert reason in read_joint(LIMIT + controller).fault


def test_zero_velocity_limit_stays_zero():
    assert read_joint('<limit lower="-1" upper="1" velocity="0"/>').limits.velocity == 0.0


def test_a_fixed_joint_ignores_axis_and_limits():
    joint = read_joint('<axis xyz="0 0 0"/><limit lower="" upper="x"/>', 'fixed')
    assert joint.type is JointType.FIXED
    assert not joint.movable
    assert (joint.limits.lower, joint.limits.upper) == (0.0, 0.0)


def test_mimic_defaults():
    robot = Robot.from_urdf(
        robot_xml(
            joint_xml(),
            joint_xml(LIMIT + '<mimic joint="shoulder"/>', name='b', child='b'),
            joint_xml(
                LIMIT + '<mimic joint="b" multiplier="-2" offset="0.5"/>', name='c', child='c'
            ),
            links=('base', 'arm', 'b', 'c'),
        )
    )
    assert robot.joints['b'].mimic == Mimic('shoulder', 1.0, 0.0)
    assert robot.resolve_mimic('c') == ('shoulder', -2.0, 0.5)


def test_names_may_contain_any_character():
    robot = Robot.from_urdf(
        '<robot name="a &amp; b"><link name="&lt;a&gt; &quot;&apos;&#10;é"/></robot>'
    )
    assert robot.name == 'a & b'
    assert robot.links == ('<a> "\'\né',)


def test_real_robots_have_the_stated_number_of_variables():
    if not ROBOTS.is_dir():
        pytest.skip(f'no robots at {ROBOTS}')
    yaml = pytest.importorskip('yaml')
    for case in yaml.safe_load((ROBOTS / 'chains.yaml').read_text(encoding='utf-8')):
        robot = Robot.from_urdf(ROBOTS / case['urdf'])
        path = robot.path(case['base_link'], case['tip_link'])
        variables = {robot.resolve_mimic(joint.name)[0] for joint, _ in path if joint.movable}
        assert len(variables) == case['dof'], case['name']
        assert all(forward for _, forward in path) == case['path_is_descending'], case['name']
        mimics = [joint.name for joint, _ in path if joint.mimic]
        assert bool(mimics) == bool(case['mimic_on_path']), case['name']


def test_expansion_that_meets_an_existing_name_is_an_error():
    planar = joint_xml('', 'planar', 'slide')
    clash = joint_xml('', 'fixed', 'slide/y', child='other')
    with pytest.raises(UrdfError, match="joint 'slide/y': the name stands twice"):
        Robot.from_urdf(robot_xml(planar, clash, links=('base', 'arm', 'other')))
    with pytest.raises(UrdfError, match="link 'slide/x_link': the name stands twice"):
        Robot.from_urdf(robot_xml(planar, links=('base', 'arm', 'slide/x_link')))


ORIGIN = '<origin xyz="{}"/>' + LIMIT


def test_a_source_of_another_type_is_refused():
    with pytest.raises(ArgumentError, match='urdf: a path or XML text is needed, not int'):
        Robot.from_urdf(3)


@pytest.mark.parametrize(
    ('parts', 'message'),
    [
        ('', 'a revolute joint needs a <limit>'),
        ('<limit velocity="1" effort="1"/>', '<limit> gives neither lower nor upper'),
        ('<limit lower="2" upper="1"/>', '<limit> lower 2.0 > upper 1.0'),
        ('<limit lower="1"/>', '<limit> lower 1.0 > upper 0'),
        ('<limit lower="nan" upper="1"/>', "<limit> lower: 'nan' is not a finite number"),
        ('<limit lower="-1" upper="1" velocity="NaN"/>', '<limit> velocity:'),
        ('<limit lower="" upper="1"/>', r"<limit> lower: 1 number\(s\) needed, not ''"),
        ('<limit lower="1_0" upper="20"/>', "'1_0' is not a finite number"),
        ('<limit lower="١" upper="20"/>', 'is not a finite number'),
        ('<axis xyz="0 0 0"/>' + LIMIT, '<axis> .* has no direction'),
        ('<axis xyz="0 1e-12 0"/>' + LIMIT, '<axis> .* has no direction'),
        ('<axis xyz="1.5e308 1.5e308 0"/>' + LIMIT, '<axis> .* has no direction'),
        ('<axis/>' + LIMIT, '<axis> has no xyz'),
        ('<axis xyz="1,0 0 0"/>' + LIMIT, "<axis> xyz: '1,0' is not a finite number"),
        ('<axis xyz="0 nan 0"/>' + LIMIT, "<axis> xyz: 'nan' is not a finite number"),
        (ORIGIN.format('0 0'), r"<origin> xyz: 3 number\(s\) needed, not '0 0'"),
        (ORIGIN.format('0 0 0 0'), r'<origin> xyz: 3 number\(s\) needed'),
        (ORIGIN.format('0 0 -inf'), "<origin> xyz: '-inf' is not a finite number"),
        ('<origin rpy="0 0 pi"/>' + LIMIT, "<origin> rpy: 'pi' is not a finite number"),
        ('<origin xyz="${x} 0 0"/>' + LIMIT, '<origin> xyz:'),
        ('<origin quat_xyzw="0 0 0 1"/>' + LIMIT, 'quat_xyzw is not supported'),
        (LIMIT + '<mimic joint="shoulder"/>', 'follows itself'),
        (LIMIT + '<mimic joint="elbow"/>', "<mimic> names joint 'elbow', which does not exist"),
        (LIMIT + '<mimic multiplier="2"/>', '<mimic> has no joint'),
        (LIMIT + '<mimic joint="a" multiplier="nan"/>', '<mimic> multiplier:'),
        (LIMIT + '<mimic joint="a" offset="inf"/>', '<mimic> offset:'),
        (LIMIT + LIMIT, 'more than one <limit>'),
        ('<limit lower="inf" upper="inf"/>', "<limit> lower: 'inf' leaves no range"),
        ('<limit lower="-inf" upper="-1e999"/>', "<limit> upper: '-1e999' leaves no range"),
    ],
)
def test_a_faulty_joint_costs_itself_and_chains_that_need_it(parts, message):
    check_fault(parts, 'revolute', message)


def check_fault(parts, kind, message):
    """A robot of which only one of two arms can be used."""
    good = joint_xml(name='wrist', child='hand')
    robot = Robot.from_urdf(robot_xml(joint_xml(parts, kind), good, links=('base', 'arm', 'hand')))
    fault = robot.joints['shoulder'].fault
    assert re.search(message, fault)
    assert robot.remarks == (
        f"joint 'shoulder' {fault}",
        f"the default tip is link 'hand', not link 'arm': joint 'shoulder' {fault}",
    )
    for needs in (
        lambda: robot.chain('base', 'arm'),
        lambda: robot.chain('hand', 'arm'),
        lambda: robot.tree('base', ('arm', 'hand')),
    ):
        with pytest.raises(FaultyJointError, match=f'{message}') as caught:
            needs()
        assert (caught.value.joint, caught.value.reason) == ('shoulder', fault)
    with pytest.raises(ChainError, match=message):
        robot.with_groups({'g': ('base', 'arm')}).group('g')
    assert robot.chain('base', 'hand').joint_names == ('wrist',)
    assert robot.chain().tip_link == 'hand'
    assert robot.independent_joint_names == ('wrist',)


@pytest.mark.parametrize(
    ('parts', 'kind', 'message'),
    [
        ('<mimic joint="wrist"/>', 'planar', 'a planar joint cannot mimic'),
        ('<mimic joint="wrist"/>', 'floating', 'a floating joint cannot mimic'),
        ('', 'prismatic', 'a prismatic joint needs a <limit>'),
        (LIMIT, 'universal', "unknown type 'universal'; valid: revolute, continuous, prism"),
    ],
)
def test_faults_of_joints_of_other_types(parts, kind, message):
    check_fault(parts, kind, message)


@pytest.mark.parametrize(
    ('attributes', 'velocity', 'effort', 'remarks'),
    [
        ('velocity="-1" effort="-2"', math.inf, math.inf, 2),
        ('velocity="" effort=" "', math.inf, math.inf, 0),
        ('velocity="inf" effort="1e999"', math.inf, math.inf, 0),
        ('velocity="-inf" effort="0"', math.inf, 0.0, 1),
        ('velocity="0" effort="3"', 0.0, 3.0, 0),
    ],
)
def test_speeds_and_efforts_that_mean_none(attributes, velocity, effort, remarks):
    limit = f'<limit lower="-1" upper="1" {attributes}/>'
    robot = Robot.from_urdf(robot_xml(joint_xml(limit)))
    limits = robot.joints['shoulder'].limits
    assert (limits.velocity, limits.effort) == (velocity, effort)
    assert len(robot.remarks) == remarks
    assert all(
        re.fullmatch("<limit> .* is taken for none: joint 'shoulder'", it) for it in robot.remarks
    )


def test_what_is_wrong_with_many_joints_is_one_remark():
    limit = '<limit lower="-1" upper="1" velocity="-1"/>'
    joints = [joint_xml(limit, name=name, child=f'l{name}') for name in 'ab']
    robot = Robot.from_urdf(robot_xml(*joints, links=('base', 'la', 'lb')))
    assert robot.remarks == ("<limit> velocity -1 is taken for none: joint 'a', joint 'b'",)


def test_a_robot_without_a_name():
    robot = Robot.from_urdf('<robot><link name="a"/></robot>')
    assert (robot.name, robot.links) == ('unnamed', ('a',))
    assert robot.remarks == ('the robot has no name, and is called unnamed here',)


@pytest.mark.parametrize(
    ('ends', 'lower', 'upper'),
    [
        ('lower="-inf" upper="inf"', -math.inf, math.inf),
        ('lower="-1" upper="1.8e308"', -1.0, math.inf),
        ('lower="-1e400" upper="1"', -math.inf, 1.0),
    ],
)
def test_limits_without_end(ends, lower, upper):
    joint = read_joint(f'<limit {ends} velocity="1" effort="1"/>')
    assert (joint.fault, joint.limits.lower, joint.limits.upper) == ('', lower, upper)


@pytest.mark.parametrize(
    ('extra', 'message'),
    [
        (joint_xml(name='loose', child='nothing'), "joint 'loose' is left out: its child link"),
        (joint_xml(name='loose', parent='no'), "joint 'loose' is left out: its parent link 'no'"),
        ('<joint name="loose" type="fixed"/>', "joint 'loose' is left out: no <parent>"),
        (
            '<joint name="x" type="fixed"><parent link="base"/><parent link="arm"/></joint>',
            'left out: more than one <parent>',
        ),
        ('<link/>', '<link> at line 2 is left out: has no name'),
        ('<xacro:property name="a" value="${b}"/>', '1 left-over .*xacro:property.* ignored'),
        ('<xacro:arg name="a"/>' * 3, '3 left-over .*xacro:arg.* ignored'),
        ('<xacro:macro name="m"><xacro:m/><link name="c"/>t</xacro:macro>', 'left-over .*macro'),
        ('<u:property xmlns:u="http://ros.org/wiki/xacro" name="a"/>', 'left-over .*u:property'),
    ],
)
def test_a_part_without_which_the_rest_is_a_robot_is_left_out(extra, message):
    robot = Robot.from_urdf(robot_xml(joint_xml(), extra))
    assert (robot.links, list(robot.joints)) == (('base', 'arm'), ['shoulder'])
    (remark,) = robot.remarks
    assert re.search(message, remark)


@pytest.mark.parametrize(
    'part',
    [
        '<xacro:arm/>',
        '<xacro:include filename="a"/>',
        '<xacro:if value="1"/>',
        '<link name="c"><xacro:inertia/></link>',
        '<gazebo><xacro:camera/></gazebo>',
        '<xacro:property name="l" value="1"/><joint name="${l}"/>',
    ],
)
def test_a_program_of_xacro_is_refused(part):
    with pytest.raises(UrdfError, match='expand the file with xacro first'):
        Robot.from_urdf(robot_xml(joint_xml(), part))


def test_a_joint_that_follows_a_faulty_one_is_faulty_and_says_why():
    joints = [
        joint_xml('<limit lower="2" upper="1"/>', name='a', child='la'),
        joint_xml(LIMIT + '<mimic joint="a"/>', name='b', child='lb'),
        joint_xml(LIMIT + '<mimic joint="b"/>', name='c', child='lc'),
        joint_xml(LIMIT + '<mimic joint="e"/>', name='d', child='ld'),
        joint_xml(LIMIT + '<mimic joint="d"/>', name='e', child='le'),
        joint_xml(LIMIT, name='f', child='lf'),
    ]
    robot = Robot.from_urdf(robot_xml(*joints, links=('base', *(f'l{x}' for x in 'abcdef'))))
    faults = {name: joint.fault for name, joint in robot.joints.items()}
    assert 'lower 2.0 > upper 1.0' in faults['a']
    assert "joint 'a', which cannot be used: <limit> lower 2.0" in faults['b']
    assert "joint 'b', which cannot be used: <mimic> names joint 'a'" in faults['c']
    assert 'follows itself' in faults['d']
    assert "needs joint 'd', which cannot be used: follows itself" in faults['e']
    assert faults['f'] == ''
    assert robot.default_tip() == 'lf'


def test_a_faulty_joint_in_the_middle_of_the_only_chain():
    links = ('base', 'a', 'b', 'c')
    joints = [
        joint_xml(LIMIT if i != 1 else '', name=f'j{i}', parent=links[i], child=links[i + 1])
        for i in range(3)
    ]
    robot = Robot.from_urdf(robot_xml(*joints, links=links))
    with pytest.raises(FaultyJointError, match=r"joint 'j1' .*needs a <limit>"):
        robot.chain()
    assert robot.chain('base', 'a').joint_names == ('j0',)
    assert robot.chain('b', 'c').joint_names == ('j2',)
    assert robot.groups == {}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<robot name="r"/>', 'the robot has no links'),
        ('<robot name="r">\n<link/></robot>', '<link> at line 2: has no name'),
        ('<robot name="r">\n\n<joint type="fixed"/></robot>', '<joint> at line 3: has no name'),
        ('<robot name="r"><joint name="j"/></robot>', "joint 'j': has no type"),
        (robot_xml(joint_xml(LIMIT + '<child link="arm"/>')), "^joint 'shoulder': more than one"),
        ('<robot name="r"><joint name="j" type="fixed"/></robot>', "joint 'j': no <parent>"),
        (
            '<robot name="r"><joint name="j" type="fixed"><parent/></joint></robot>',
            "joint 'j': <parent> has no link",
        ),
        (robot_xml(joint_xml(child='base'), links=('base',)), 'the links form a loop'),
        ('<sdf/>', "line 1: the root element 'sdf' is not a robot"),
    ],
)
def test_a_malformed_robot_is_named(text, message):
    with pytest.raises(UrdfError, match=message):
        Robot.from_urdf(text)


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
