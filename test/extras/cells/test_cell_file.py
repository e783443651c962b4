"""Files of cells, and the prefixes of their arms."""

from pathlib import Path

import numpy as np
import pytest
from support.chains import arm_path
import yaml

import ik_service as iks
from ik_service.exceptions import SrdfError, UrdfError
from ik_service.extras.cells.descriptions import (
    prefixed_joint_limits,
    prefixed_srdf,
    prefixed_urdf,
)
from ik_service.model.joint_limits_file import parse_joint_limits
from ik_service.model.motion_bounds import JointBounds, MotionBounds

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.chains import REPOSITORY

from ik_service.extras.cells.cell_file import CellError, ONE_PER_ARM, read_cell
from ik_service.extras.cells.descriptions import describe
from ik_service.model.joint_limits_file import load_joint_limits

PANDA, UR5E = REPOSITORY / 'urdf' / 'panda.urdf', REPOSITORY / 'urdf' / 'ur5e.urdf'


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        file = tmp_path / 'cell.yaml'
        file.write_text(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False))
        return read_cell(file, **options)

    return read


def cell(**arms):
    return {'arms': {name: {'urdf': str(PANDA), **keys} for name, keys in arms.items()}}


def test_the_example_describes_two_arms_that_face_each_other():
    example = read_cell(REPOSITORY / 'config' / 'cell.yaml')
    left, right = describe(example)
    assert (left.entry.namespace, right.entry.namespace) == ('/left', '/right')
    assert (left.robot.root_link, right.robot.root_link) == ('left_panda_link0', 'right_base_link')
    np.testing.assert_allclose(left.T_world_root[:3, 3], [0.0, 0.6, 0.0])
    np.testing.assert_allclose(left.T_world_root[:3, :3] @ [1, 0, 0], [0, -1, 0], atol=1e-4)
    assert left.node_parameters['tip_link'] == 'left_panda_hand_tcp'
    assert left.node_parameters['velocity_scaling'] == 0.5
    assert right.node_parameters['solver.max_searches'] == 20
    start = left.simulation_parameters['initial_positions']
    assert start == 'left_panda_joint4=-2.2, left_panda_joint6=2.2'
    assert example.processes == 1
    assert left.entry.simulate


def test_an_arm_may_start_at_its_limits_and_anywhere_without_them(read, tmp_path):
    (tmp_path / 'arm.urdf').write_text(
        '<robot name="arm"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    keys = {'urdf': 'arm.urdf', 'initial_positions': {'j': 100}}
    at_limits = {'panda_joint4': -3.0718, 'panda_finger_joint1': 0.04}
    text = cell(one=keys, two={'initial_positions': at_limits})
    one, two = describe(read({**text, 'simulate': True}))
    assert one.simulation_parameters['initial_positions'] == 'one_j=100.0'
    assert 'two_panda_joint4=-3.0718' in two.simulation_parameters['initial_positions']


def test_defaults(read):
    (arm,) = describe(read(cell(one={})))
    assert (arm.entry.namespace, arm.entry.prefix, arm.entry.simulate) == ('/one', 'one_', False)
    np.testing.assert_array_equal(arm.T_world_root, np.eye(4))
    assert set(arm.node_parameters) == {'robot_description'}


def test_paths_are_relative_to_the_file_and_a_file_without_prefix_is_named(read, tmp_path):
    (tmp_path / 'arm.urdf').symlink_to(PANDA)
    (arm,) = describe(read({'arms': {'one': {'urdf': 'arm.urdf', 'prefix': ''}}}))
    assert arm.node_parameters == {'urdf': str(tmp_path / 'arm.urdf')}


def test_the_command_line_wins_over_the_file(read):
    text = {**cell(one={}, two={}, three={'simulate': False}), 'simulate': True}
    assert [arm.simulate for arm in read(text).arms] == [True, True, False]
    assert not any(arm.simulate for arm in read(text, simulate=False).arms)
    assert read(text, processes=ONE_PER_ARM).processes == 3
    assert read(text, processes=9).processes == 3, 'no more than there are arms'


def test_keys_of_one_arm_are_merged_into_others_and_their_own_win(read):
    text = f"""
    arms:
      one: &arm
        urdf: {PANDA}
        base: &base {{xyz: [1, 0, 0]}}
        tip_link: panda_hand_tcp
        velocity_scaling: 0.5
      two: &two {{<<: *arm, base: {{<<: *base, rpy: [0, 0, 1]}}, velocity_scaling: 0.7}}
      three: {{velocity_scaling: 0.8, <<: *two}}
      four: {{<<: [{{velocity_scaling: 0.9}}, *two]}}
    """
    arms = read(text).arms
    scaling = [arm.connection.parameters['velocity_scaling'] for arm in arms]
    assert scaling == [0.5, 0.7, 0.8, 0.9]
    assert {(arm.urdf, arm.tip_link) for arm in arms} == {(PANDA, 'panda_hand_tcp')}
    assert [arm.T_world_root[0, 3] for arm in arms] == [1.0] * 4
    assert [arm.namespace for arm in arms] == ['/one', '/two', '/three', '/four']
    np.testing.assert_array_equal(arms[1].T_world_root, arms[2].T_world_root)


def test_whole_numbers_among_others_in_a_list_are_meant_as_such(read):
    parameters = {'solver': {'task_weights': [1, 1, 1, 0, 0, 0.5]}, 'names': ['a'], 'n': [1, 2]}
    (arm,) = read(cell(one={'parameters': parameters})).arms
    weights = arm.parameters['solver.task_weights']
    assert weights == [1.0, 1.0, 1.0, 0.0, 0.0, 0.5]
    assert {type(weight) for weight in weights} == {float}
    assert (arm.parameters['names'], arm.parameters['n']) == (['a'], [1, 2])


def test_parameters_of_groups_may_be_called_as_keys_of_the_arm(read):
    parameters = {'groups': {'arm': {'tip_link': 'one_panda_hand'}}}
    (arm,) = describe(read(cell(one={'parameters': parameters})))
    assert arm.node_parameters['groups.arm.tip_link'] == 'one_panda_hand'


def test_limits_of_a_maker_count_for_the_joints_with_prefix(read, tmp_path):
    (tmp_path / 'maker.yaml').write_text('joint_limits: {panda_joint1: {max_velocity: 0.5}}')
    (tmp_path / 'own.yaml').write_text('joint_limits: {two_panda_joint1: {max_velocity: 0.5}}')
    maker = {'joint_limits': 'maker.yaml'}
    arms = describe(
        read(cell(one=maker, two={'joint_limits': 'own.yaml'}, three={**maker, 'prefix': ''}))
    )
    joints = 'one_panda_joint1', 'two_panda_joint1', 'panda_joint1'
    for arm, joint in zip(arms, joints, strict=True):
        limits = load_joint_limits(arm.node_parameters['joint_limits'])
        assert {name: own.velocity for name, own in limits.joints.items()} == {joint: 0.5}
    assert arms[2].node_parameters['joint_limits'] == str(tmp_path / 'maker.yaml')


def test_limits_of_other_joints_are_refused(read, tmp_path):
    fields = '{max_velocity: 0.5}'
    for names, said in (
        (('panda_joint1', 'one_panda_joint2'), 'no movable joint called panda_joint1;'),
        (('panda_joint1', 'nix'), 'no movable joint called one_nix;'),
    ):
        text = ', '.join(f'{name}: {fields}' for name in names)
        (tmp_path / 'own.yaml').write_text(f'joint_limits: {{{text}}}')
        with pytest.raises(CellError, match=f"arm 'one': joint_limits: .*{said}"):
            describe(read(cell(one={'joint_limits': 'own.yaml'})))


def test_an_arm_whose_description_holds_the_world_is_placed_by_it(read, tmp_path):
    urdf = PANDA.read_text().replace('<link name="panda_link0">', '<link name="panda_link0">', 1)
    urdf = urdf.replace(
        '</robot>',
        '<link name="world"/><joint name="stand" type="fixed"><parent link="world"/>'
        '<child link="panda_link0"/><origin xyz="1 0 0"/></joint></robot>',
    )
    (tmp_path / 'arm.urdf').write_text(urdf)
    keys = {'urdf': 'arm.urdf', 'prefix': ''}
    (arm,) = describe(read({'arms': {'one': keys}}))
    assert arm.T_world_root is None
    with pytest.raises(CellError, match=r"arm 'one': base: its root link is 'world' itself"):
        describe(read({'arms': {'one': {**keys, 'base': {'xyz': [1, 0, 0]}}}}))


LONG = 5_000 * 'n'
MISTAKES = [
    ('', '', '', 'has to be a section of keys'),
    ('{a: 1', '', '', "no YAML in line 1, column 6: expected ',' or '}', but got the end"),
    ('arms: {one: {urdf: a}, one: {urdf: b}}', '', '', "the key 'one' stands twice"),
    ('a: &a {b: 1}\nc: {<<: *a, d: 1, d: 2}', '', '', "the key 'd' stands twice"),
    ('a: &a {b: 1, b: 2}\nc: {<<: *a}', '', '', "the key 'b' stands twice"),
    ('c: {<<: {b: 1, b: 2}}', '', '', "the key 'b' stands twice"),
    ('a: &a {b: 1}\nc: {<<: *a, <<: *a}', '', '', "the key '<<' stands twice"),
    ('a: {<<: 3}', '', '', 'no YAML in line 1'),
    ({'arms': {}}, '', 'arms', '1 to 64 arms'),
    ({'arms': [1]}, '', 'arms', 'has to be a section'),
    ({**cell(one={}), 'wrld': 'x'}, '', 'wrld', 'no such key; closest: world'),
    ({**cell(one={}), 'world': '/'}, '', 'world', 'is empty'),
    ({**cell(one={}), 'world': 3}, '', 'world', 'has to be text'),
    ({**cell(one={}), 'processes': 0}, '', 'processes', 'whole number'),
    ({**cell(one={}), 'processes': 'many'}, '', 'processes', 'one_per_arm'),
    ({**cell(one={}), 'frame_rate': 0.1}, '', 'frame_rate', 'from 1 to 500'),
    ({**cell(one={}), 'simulate': 'yes'}, '', 'simulate', 'true or false'),
    ({'arms': {'1a': {'urdf': 'a'}}}, '1a', '', 'is no name'),
    ({'arms': {'one': {}}}, 'one', 'urdf', 'is missing'),
    ({'arms': {'one': None}}, 'one', '', 'has to be a section'),
    (cell(one={'urdf': 'package://no_such_package/a.urdf'}), 'one', 'urdf', 'not installed'),
    (cell(one={'tip_lnk': 'a'}), 'one', 'tip_lnk', 'closest: tip_link'),
    (cell(one={'prefix': 'a b'}), 'one', 'prefix', 'letters'),
    (cell(one={'namespace': 'a-b'}), 'one', 'namespace', 'is none'),
    *(
        (cell(one={key: LONG}), 'one', key, "n'…")
        for key in ('namespace', 'tip_link', 'base_link')
    ),
    (cell(one={'base': [0, 0, 0]}), 'one', 'base', 'has to be a section'),
    (cell(one={'base': {'xyz': [0, 0]}}), 'one', 'base.xyz', 'three finite numbers [m]'),
    (cell(one={'base': {'rpy': [0, 0, float('nan')]}}), 'one', 'base.rpy', '[rad]'),
    (cell(one={'base': {'quat': []}}), 'one', 'base.quat', 'valid: xyz, rpy'),
    (cell(one={'initial_positions': {'a': 1}}), 'one', 'initial_positions', 'simulate'),
    (cell(one={'velocity_scaling': 'fast'}), 'one', 'velocity_scaling', 'is no number'),
    (cell(one={'command_interface': 'magic'}), 'one', 'command_interface', 'joint_command'),
    (
        cell(one={'simulate': True, 'command_interface': 'position_commands'}),
        'one',
        'command_interface',
        'a simulated arm takes',
    ),
    (
        cell(one={'parameters': {'tip_link': 'a'}}),
        'one',
        'parameters.tip_link',
        'the key tip_link',
    ),
    (cell(one={'parameters': {'solver': {'a': None}}}), 'one', 'parameters.solver.a', 'no value'),
    (
        cell(one={'parameters': {'a.b': 1, 'a': {'b': 2}}}),
        'one',
        'parameters.a.b',
        'stands twice',
    ),
    ('arms: {one: {urdf: a, parameters: &p {a: *p}}}', 'one', 'parameters', 'contains itself'),
    (cell(one={'parameters': {'a': {'b': [1, 'x']}}}), 'one', 'parameters.a.b', 'only numbers'),
    (cell(one={'parameters': {'a': {'b': [True, 1]}}}), 'one', 'parameters.a.b', 'only numbers'),
    (
        cell(one={'parameters': {'a': {'b': [[1.0], [2.0]]}}}),
        'one',
        'parameters.a.b',
        'only numbers',
    ),
    (cell(one={'parameters': {'a': {'b': [0.5, 10**400]}}}), 'one', 'parameters.a.b', 'too great'),
    (cell(one={}, two={'namespace': '/one/'}), 'two', 'namespace', "is that of the arm 'one'"),
    (cell(one={}, two={'namespace': 'one/two'}), 'two', 'namespace', 'overlap'),
    (cell(one={}, two={'namespace': '/'}), 'two', 'namespace', 'overlap'),
    (
        cell(one={}, two={'command_topic': '/one/joint_command'}),
        'two',
        'command_topic',
        "moves the arm 'one', too",
    ),
    (
        cell(
            one={'trajectory_action': '/jtc/follow_joint_trajectory'},
            two={'trajectory_action': '/jtc/follow_joint_trajectory'},
        ),
        'two',
        'trajectory_action',
        "moves the arm 'one', too",
    ),
    (
        cell(one={}, two={'trajectory_action': '/one/follow_joint_trajectory'}),
        'two',
        'trajectory_action',
        "moves the arm 'one', too",
    ),
    (
        cell(one={'joint_states': '/two/joint_command'}, two={}),
        'one',
        'joint_states',
        "/two/joint_command holds the commands of the arm 'two'",
    ),
    (cell(one={'joint_states': 'a b'}), 'one', 'joint_states', 'is no name'),
    # What is seen with the robots
    (cell(one={'urdf': '/no/such.urdf'}), 'one', 'urdf', '/no/such.urdf'),
    (cell(one={'xacro_args': {'a': 1}}), 'one', 'xacro_args', 'xacro'),
    (cell(one={'srdf': '/no/such.srdf'}), 'one', 'srdf', '/no/such.srdf'),
    (cell(one={'joint_limits': 'nope.yaml'}), 'one', 'joint_limits', 'cannot be read'),
    (cell(one={'joint_limits': str(PANDA)}), 'one', 'joint_limits', 'no YAML'),
    (cell(one={'tip_link': 'panda_hnd'}), 'one', 'tip_link', 'panda_hand'),
    (cell(one={'base_link': 'one_panda_link0'}), 'one', 'base_link', 'without prefix'),
    (
        cell(one={'simulate': True, 'initial_positions': {'panda_jnt1': 0.0}}),
        'one',
        'initial_positions.panda_jnt1',
        'panda_joint1',
    ),
    (
        cell(one={'simulate': True, 'initial_positions': {'panda_joint4': 0.5}}),
        'one',
        'initial_positions.panda_joint4',
        'has to be from -3.0718 to -0.0698 [rad], not 0.5',
    ),
    (
        cell(one={'simulate': True, 'initial_positions': {'panda_finger_joint1': -1e-6}}),
        'one',
        'initial_positions.panda_finger_joint1',
        'has to be from 0 to 0.04 [m], not -1e-06',
    ),
    (cell(one={'prefix': ''}, two={'prefix': ''}), 'two', 'prefix', "also one of the arm 'one'"),
    ({**cell(one={'prefix': ''}), 'world': 'panda_link3'}, 'one', 'prefix', 'name of the world'),
]


@pytest.mark.parametrize(('text', 'arm', 'key', 'words'), MISTAKES)
def test_a_mistake_names_the_arm_and_the_key(read, text, arm, key, words):
    with pytest.raises(CellError) as caught:
        describe(read(text))
    assert (caught.value.arm, caught.value.key) == (arm, key)
    assert words in caught.value.reason
    assert str(caught.value).startswith(f'{Path("/")}')
    assert arm in str(caught.value)
    assert '\n' not in str(caught.value)
    assert len(str(caught.value)) < 1_000


def test_long_keys_and_paths_are_cut_in_messages(read):
    for text in (cell(one={LONG: 1}), {**cell(one={}), LONG: 1}):
        with pytest.raises(CellError, match=r'n…: there is no such key; ') as caught:
            read(text)
        assert len(str(caught.value)) < 1_000
    with pytest.raises(CellError, match=r'^…n+\.yaml: ') as caught:
        read_cell(Path(f'/{LONG}.yaml'))
    assert len(str(caught.value)) < 1_000


def test_joints_that_meet_on_one_topic_need_names_of_their_own(read, tmp_path):
    shared = {'joint_states': '/joint_states'}
    describe(read(cell(one=shared, two=shared)))
    # Links differ, joints do not: two namespaces keep them apart, one topic does not.
    text = PANDA.read_text()
    for link in describe(read(cell(one={'prefix': ''})))[0].robot.links:
        text = text.replace(f'"{link}"', f'"other_{link}"')
    (tmp_path / 'other.urdf').write_text(text)
    one, two = {'prefix': ''}, {'prefix': '', 'urdf': 'other.urdf'}
    describe(read(cell(one=one, two=two)))
    with pytest.raises(CellError, match=r"'two': joint_states: .* joint 'panda_joint1' is also"):
        describe(read(cell(one={**one, **shared}, two={**two, **shared})))


def test_folders_of_packages_go_to_both_nodes_and_expand_xacro(read, tmp_path):
    pytest.importorskip('xacro', reason='the extra xacro is not installed')
    hand = tmp_path / 'ws' / 'hand-main'
    hand.mkdir(parents=True)
    (hand / 'package.xml').write_text('<package><name>hand</name></package>')
    mesh = '<visual><geometry><mesh filename="package://hand/a.stl"/></geometry></visual>'
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (hand / 'hand.xacro').write_text(
        f"""{head}<link name="b">{mesh}</link><joint name="j" type="continuous">
        <parent link="a"/><child link="b"/></joint></robot>"""
    )
    (tmp_path / 'arm.urdf.xacro').write_text(
        f'{head}<link name="a"/><xacro:include filename="$(find hand)/hand.xacro"/></robot>'
    )
    keys = {'urdf': 'arm.urdf.xacro', 'prefix': '', 'package_dirs': 'ws: /opt'}
    (arm,) = describe(read({'arms': {'one': {**keys, 'simulate': True}}}))
    for parameters in (arm.node_parameters, arm.simulation_parameters):
        assert parameters['package_dirs'] == f'{tmp_path / "ws"}:/opt'
        assert 'package://hand/a.stl' in parameters['robot_description']
    with pytest.raises(
        CellError, match=r"one'?: xacro_args: (?!xacro_args).*argument 'hnd' is not used"
    ):
        describe(read({'arms': {'one': {**keys, 'xacro_args': {'hnd': 'left'}}}}))
    with pytest.raises(CellError, match=r"one'?: urdf: .*package 'hand' is not found"):
        describe(read({'arms': {'one': {**keys, 'package_dirs': ''}}}))


def test_the_package_of_a_file_whose_text_is_changed_stays_known(read, tmp_path):
    (tmp_path / 'package.xml').write_text('<package><name>arm</name></package>')
    (tmp_path / 'arm.urdf').write_text(
        '<robot name="arm"><link name="a"><visual><geometry><mesh filename="package://arm/a.stl"/>'
        '</geometry></visual></link></robot>'
    )
    (arm,) = describe(read({'arms': {'one': {'urdf': 'arm.urdf'}}}))
    assert arm.node_parameters['package_dirs'] == str(tmp_path)
    (arm,) = describe(read({'arms': {'one': {'urdf': 'arm.urdf', 'prefix': ''}}}))
    assert set(arm.node_parameters) == {'urdf'}


URDF = """
<robot name="arm">
  <material name="grey"/>
  <link name="base"><visual><geometry><mesh filename="package://a/base.stl"/></geometry></visual></link>
  <link name="upper"/><link name="finger"/><link name="thumb"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/>
  </joint>
  <joint name="open" type="prismatic">
    <parent link="upper"/><child link="finger"/><axis xyz="1 0 0"/><limit lower="0" upper="1"/>
  </joint>
  <joint name="close" type="prismatic">
    <parent link="upper"/><child link="thumb"/><axis xyz="1 0 0"/><limit lower="0" upper="1"/>
    <mimic joint="open" multiplier="-1"/>
  </joint>
  <transmission name="drive">
    <joint name="shoulder"><hardwareInterface>x</hardwareInterface></joint><actuator name="motor"/>
  </transmission>
  <gazebo reference="upper"><material>Gazebo/Grey</material></gazebo>
  <gazebo><plugin name="p" filename="lib.so"/></gazebo>
  <ros2_control name="hardware" type="system">
    <joint name="shoulder"><command_interface name="position"/></joint>
    <joint name="close"><param name="mimic">open</param><param name="multiplier">-1</param></joint>
  </ros2_control>
</robot>"""
SRDF = """
<robot name="arm">
  <group name="all"><chain base_link="base" tip_link="upper"/><joint name="open"/></group>
  <group name="gripper"><joint name="open"/></group>
  <group name="part"><group name="all"/><link name="upper"/></group>
  <group_state name="home" group="all"><joint name="shoulder" value="0.5"/></group_state>
  <end_effector name="hand" parent_link="upper" group="gripper" parent_group="all"/>
  <disable_collisions link1="base" link2="upper" reason="Adjacent"/>
</robot>"""


def test_links_and_joints_and_what_refers_to_them_get_the_prefix():
    text = prefixed_urdf(URDF, 'left_')
    robot = iks.Robot.from_urdf(text)
    assert robot.links == ('left_base', 'left_upper', 'left_finger', 'left_thumb')
    assert list(robot.joints) == ['left_shoulder', 'left_open', 'left_close']
    assert robot.resolve_mimic('left_close') == ('left_open', -1.0, 0.0)
    for part in (
        '<transmission name="left_drive">',
        '<actuator name="left_motor"',
        '<gazebo reference="left_upper">',
        '<ros2_control name="left_hardware"',
        '<param name="mimic">left_open</param>',
    ):
        assert part in text


def test_what_is_not_a_name_of_the_arm_stays_as_it_is():
    text = prefixed_urdf(URDF, 'left_')
    for part in (
        '<robot name="arm">',
        '<material name="grey"',
        'package://a/base.stl',
        '<plugin name="p"',
        '<command_interface name="position"',
        '<param name="multiplier">-1</param>',
        '<material>Gazebo/Grey</material>',
    ):
        assert part in text
    assert prefixed_urdf(URDF, '') == URDF


def test_an_srdf_goes_with_the_robot_and_its_groups_keep_their_names():
    robot = iks.Robot.from_urdf(prefixed_urdf(URDF, 'l/'))
    robot = robot.with_srdf_text(prefixed_srdf(SRDF, 'l/'))
    assert robot.group_names == ('all', 'gripper', 'part')
    assert robot.group_states('all')['home'] == {'l/shoulder': 0.5}
    assert frozenset({'l/base', 'l/upper'}) in robot.semantics.disabled_pairs
    assert robot.semantics.end_effectors[0].parent_link == 'l/upper'


@pytest.mark.parametrize('arm', ['panda', 'ur5e'])
def test_an_arm_moves_as_before(arm):
    plain = iks.Robot.from_urdf(arm_path(arm))
    named = iks.Robot.from_urdf(prefixed_urdf(plain.urdf_text, 'left_'))
    tip = plain.default_tip()
    chain = plain.chain(plain.root_link, tip)
    other = named.chain(f'left_{plain.root_link}', f'left_{tip}')
    q = chain.mid_range() + 0.1
    np.testing.assert_array_equal(chain.forward(q), other.forward(q))
    assert named.default_tip() == f'left_{tip}', 'groups of known robots are found as well'


@pytest.mark.parametrize('text', ['<robot', '<!DOCTYPE x []><robot/>', '<sdf/>', ''])
def test_a_text_that_is_none_is_refused(text):
    with pytest.raises(UrdfError):
        prefixed_urdf(text, 'left_')
    with pytest.raises(SrdfError):
        prefixed_srdf(text, 'left_')


def test_content_of_others_keeps_its_prefixes():
    plugin = '<gazebo><controller:p3d><a:b c:d="1">t</a:b></controller:p3d></gazebo>'
    start = '<robot xmlns:controller="urn:c" name="arm">'
    written = prefixed_urdf(URDF.replace('<robot name="arm">', start + plugin), 'l_')
    assert plugin in written
    assert 'xmlns:controller="urn:c"' in written


def test_limits_are_read_again_from_their_text():
    bounds = MotionBounds({'1': JointBounds(-1.0, 2.0, 0.0, 1e-20)}, velocity_scaling=0.1)
    assert parse_joint_limits(prefixed_joint_limits(bounds, '')) == bounds
    renamed = parse_joint_limits(prefixed_joint_limits(bounds, 'left_'))
    assert renamed.joints == {'left_1': bounds.joints['1']}
    assert parse_joint_limits(prefixed_joint_limits(MotionBounds(), '')) == MotionBounds()
