"""Files that a description comes from or that change it: xacro, packages and joint limits."""

from __future__ import annotations

import math
import os
from pathlib import Path
import pickle

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.arm.loader import read_robot
from ik_service.exceptions import (
    ArgumentError,
    JointLimitsError,
    MissingExtraError,
    OptionError,
    UrdfError,
)
from ik_service.model import xacro_file
from ik_service.model.geometry.mesh_files import MeshError, MeshFiles
from ik_service.model.joint_limits_file import MAX_BYTES, parse_joint_limits
from ik_service.model.package_folders import (
    manifest_name,
    own_package,
    PackageFolders,
    parse_package_dirs,
)
from ik_service.model.xacro_file import LONGEST_TEXT, parse_xacro_args
from ik_service.robot import Robot

pytest.importorskip('xacro', reason='the extra xacro is not installed')


HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
ARM = (
    HEAD
    + """<xacro:arg name="prefix" default="left_"/>
<xacro:property name="length" value="${0.25 * 2}"/>
<xacro:include filename="joint.xacro"/>
<link name="base"/>
<xacro:joint name="$(arg prefix)shoulder" parent="base" child="upper" length="${length}"/>
<xacro:joint name="$(arg prefix)elbow" parent="upper" child="lower" length="${length / 2}"/>
</robot>
"""
)
JOINT = (
    HEAD
    + """<xacro:macro name="joint" params="name parent child length">
  <joint name="${name}" type="revolute">
    <parent link="${parent}"/><child link="${child}"/>
    <origin xyz="${length} 0 0" rpy="0 0 ${pi / 2}"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
  <link name="${child}"/>
</xacro:macro>
</robot>
"""
)
JOINT_MACRO = JOINT.removeprefix(HEAD).removesuffix('</robot>\n')
# Each macro calls the one before twice: two to the power of their number in the end.
BOMB = (
    HEAD
    + '<link name="base"/><xacro:macro name="m0" params=""><link name="x"/></xacro:macro>'
    + ''.join(
        f'<xacro:macro name="m{i}" params=""><xacro:m{i - 1}/><xacro:m{i - 1}/></xacro:macro>'
        for i in range(1, 60)
    )
    + '<xacro:m59/></robot>'
)


@pytest.fixture
def write(tmp_path):
    def write(text, name='arm.urdf.xacro'):
        file = tmp_path / name
        file.write_text(text, encoding='utf-8')
        return file

    return write


@pytest.fixture
def arm(write):
    write(JOINT, 'joint.xacro')
    return write(ARM)


def assert_refused(file, message):
    with pytest.raises(UrdfError, match=message):
        iks.Robot.from_urdf(file)


def test_macros_properties_and_includes_are_expanded(arm):
    robot = iks.Robot.from_urdf(arm)
    assert robot.movable_joint_names == ('left_shoulder', 'left_elbow')
    T = robot.joints['left_elbow'].T_parent_joint
    np.testing.assert_allclose(T[:, 3], [0.25, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(T[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_a_robot_from_xacro_makes_a_chain_and_keeps_file_and_urdf_text(arm):
    robot = iks.Robot.from_urdf(str(arm))
    assert robot.chain().joint_names == ('left_shoulder', 'left_elbow')
    assert robot.source == arm
    assert 'xacro:' not in robot.urdf_text
    assert iks.Robot.from_urdf_text(robot.urdf_text).links == robot.links


def test_arguments_take_the_place_of_defaults(arm):
    robot = iks.Robot.from_urdf(arm, xacro_args={'prefix': 'right_'})
    assert robot.movable_joint_names == ('right_shoulder', 'right_elbow')


@pytest.mark.parametrize('value', [None, ['a'], b'a'])
def test_arguments_are_text_or_numbers(arm, value):
    with pytest.raises(ArgumentError, match=r"^xacro_args: 'prefix' is a "):
        iks.Robot.from_urdf(arm, xacro_args={'prefix': value})


def test_only_xacro_files_take_arguments(write):
    text = '<robot name="r"><link name="a"/></robot>'
    for urdf in (text, write(text, 'arm.urdf')):
        with pytest.raises(ArgumentError, match='only a file called'):
            iks.Robot.from_urdf(urdf, xacro_args={'prefix': 'left_'})


def test_text_is_not_expanded_unasked():
    for read in (iks.Robot.from_urdf, iks.Robot.from_urdf_text):
        with pytest.raises(UrdfError, match='is a xacro macro'):
            read(ARM)
    with pytest.raises(UrdfError, match='whoever publishes it has to expand it'):
        read_robot(ARM)


def test_text_that_the_user_gives_himself_is_expanded():
    text = ARM.replace('<xacro:include filename="joint.xacro"/>', JOINT_MACRO)
    robot = read_robot(text, xacro_args={'prefix': 'right_'}, expand_text=True)
    assert robot.movable_joint_names == ('right_shoulder', 'right_elbow')
    with pytest.raises(UrdfError, match=r'robot_description\.xacro.*No such file.*joint\.xacro'):
        read_robot(ARM, expand_text=True)  # there is no file beside it


def test_what_xacro_has_expanded_is_a_urdf_for_everybody(arm):
    text = xacro_file.expand_xacro(arm, 10**6)
    text = text.replace('<robot', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')
    assert read_robot(text).movable_joint_names == ('left_shoulder', 'left_elbow')


def test_a_file_that_another_program_names_is_not_expanded(arm):
    with pytest.raises(UrdfError, match='is not expanded; name it in the parameter urdf'):
        read_robot(arm, trusted=False)
    assert read_robot(arm).name == 'arm'


def test_the_error_for_a_missing_argument_names_the_file(write):
    file = write(f'{HEAD}<link name="$(arg side)"/></robot>')
    assert_refused(file, rf"^file '{file}': xacro: Undefined substitution argument side")


def test_the_error_for_malformed_xml_names_file_and_line(write):
    file = write(f'{HEAD}\n<link name="a">\n</robot>')
    assert_refused(file, rf"^file '{file}', line 4: xacro: not well-formed XML: mismatched tag")


def test_errors_of_an_included_file_name_that_file(write, arm):
    included = write(JOINT.replace('${pi / 2}', '${pie / 2}'), 'joint.xacro')
    assert_refused(arm, rf"^file '{arm}': xacro: .*'pie' is not defined.*in macro 'joint'")
    included.write_text('<robot>\n<link>\n</robot>')
    assert_refused(arm, rf"^file '{included}', line 3: xacro: not well-formed XML")
    included.unlink()
    assert_refused(arm, r'xacro: No such file or directory: \S*joint\.xacro$')


INCLUDED = f"""{HEAD}<link name="tool"/><joint name="mount" type="fixed">
<parent link="base"/><child link="tool"/></joint></robot>"""


def including(name):
    return f'{HEAD}<link name="base"/><xacro:include filename="{name}"/></robot>'


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Packages beside each other, unpacked under other names than theirs; none is installed."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'none'))
    for folder, name in (('arm-main', 'arm_description'), ('hand-1.2', 'hand_description')):
        package = tmp_path / 'ws' / 'src' / folder
        (package / 'urdf').mkdir(parents=True)
        (package / 'package.xml').write_text(f'<package><name>{name}</name></package>')
    (package / 'urdf' / 'hand.xacro').write_text(INCLUDED)
    return tmp_path / 'ws' / 'src'


@pytest.mark.parametrize('named', ['$(find hand_description)', 'package://hand_description'])
def test_a_package_beside_that_of_the_file_needs_no_sourced_workspace(workspace, named):
    file = workspace / 'arm-main' / 'urdf' / 'arm.urdf.xacro'
    file.write_text(including(f'{named}/urdf/hand.xacro'))
    assert iks.Robot.from_urdf(file).links == ('base', 'tool')


def test_a_file_finds_the_package_that_it_lies_in_also_where_another_includes_it(
    workspace, tmp_path
):
    inner = workspace / 'hand-1.2' / 'urdf' / 'outer.xacro'
    inner.write_text(
        f'{HEAD}<xacro:include filename="$(find hand_description)/urdf/hand.xacro"/></robot>'
    )
    file = tmp_path / 'elsewhere' / 'arm.urdf.xacro'
    file.parent.mkdir()
    file.write_text(including(str(inner)))
    assert iks.Robot.from_urdf(file).links == ('base', 'tool')


def test_expressions_find_packages_too(workspace):
    file = workspace / 'arm-main' / 'urdf' / 'arm.urdf.xacro'
    file.write_text(f"""{HEAD}<xacro:property name="at" value="$(find arm_description)"/>
<link name="${{at.split('/')[-1]}}"/></robot>""")
    assert iks.Robot.from_urdf(file).links == ('arm-main',)


def test_folders_that_the_user_names_go_first_also_for_text_and_srdf(workspace, write):
    text = including('$(find hand_description)/urdf/hand.xacro')
    file = write(text)
    for places in ([workspace], [str(workspace.parent)], [workspace / 'hand-1.2']):
        assert iks.Robot.from_urdf(file, package_dirs=places).links == ('base', 'tool')
    assert read_robot(text, expand_text=True, package_dirs=[workspace]).links == ('base', 'tool')
    group = f'{HEAD}<group name="g"><link name="tool"/></group></robot>'
    (workspace / 'hand-1.2' / 'hand.srdf.xacro').write_text(group)
    srdf = write(
        f'{HEAD}<xacro:include filename="$(find hand_description)/hand.srdf.xacro"/></robot>',
        'arm.srdf.xacro',
    )
    assert 'g' in iks.Robot.from_urdf(file, srdf=srdf, package_dirs=[workspace]).groups


def test_a_text_finds_no_package_that_anybody_has_put_beside_temporary_files(
    workspace, monkeypatch, tmp_path
):
    monkeypatch.setattr(xacro_file.tempfile, 'tempdir', str(tmp_path / 'ws' / 'src'))
    text = including('$(find hand_description)/urdf/hand.xacro')
    with pytest.raises(UrdfError, match="package 'hand_description' is not found"):
        read_robot(text, expand_text=True)


@pytest.mark.parametrize(
    'name', ['$(find no_such_package)/a.xacro', 'package://no_such_package/a']
)
def test_an_unknown_package_is_named_once_with_what_to_do(write, name):
    file = write(f'{HEAD}<xacro:include filename="{name}"/></robot>')
    with pytest.raises(UrdfError) as caught:
        iks.Robot.from_urdf(file)
    assert str(caught.value) == (
        f"file '{file}': xacro: package 'no_such_package' is not found: it is not installed, and "
        'no package.xml in or beside the folders above the file names it; package_dirs names '
        'more places'
    )


def test_the_expanded_text_is_checked_like_any_urdf(write):
    assert_refused(write(f'{HEAD}</robot>'), 'no links')
    assert_refused(write('<sdf/>'), "root element 'sdf' is not a robot")
    assert_refused(
        write('<!DOCTYPE robot [<!ENTITY a "b">]><robot name="r"><link name="a"/></robot>'),
        'document type',
    )


def test_endless_recursion_is_refused(write):
    file = write(
        f'{HEAD}<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/></robot>'
    )
    assert_refused(file, r"^file '.*': xacro: macros or properties are nested too deeply")


def test_time_is_bounded(write, monkeypatch):
    monkeypatch.setattr(xacro_file, 'MAX_SECONDS', 1.0)
    assert_refused(write(BOMB), 'xacro takes longer than 1 s')


def test_memory_is_bounded(write, monkeypatch):
    monkeypatch.setattr(xacro_file, 'MAX_MEMORY', 200 * 2**20)
    file = write(f'{HEAD}<link name="${{\'x\' * 10**9}}"/></robot>')
    assert_refused(file, 'xacro: it takes more than 200 MiB of memory')


def test_output_is_bounded(write):
    file = write(f'{HEAD}<link name="${{\'x\' * (17 * 2**20)}}"/></robot>')
    assert_refused(file, 'xacro: the expanded text is longer than 16 MiB')


def test_files_of_the_current_folder_do_not_hide_modules(arm, tmp_path, monkeypatch):
    for module in ('xacro', 'json', 'ast'):
        (tmp_path / f'{module}.py').write_text('raise SystemExit(3)')
    monkeypatch.chdir(tmp_path)
    assert iks.Robot.from_urdf(arm).name == 'arm'


def test_a_missing_xacro_names_the_extra(arm, monkeypatch):
    monkeypatch.setattr(xacro_file, '_run', lambda request: {'missing': True})
    with pytest.raises(MissingExtraError, match=r"pip install 'ik_service\[xacro\]'"):
        iks.Robot.from_urdf(arm)


@pytest.mark.parametrize(
    ('text', 'arguments'),
    [
        ('', {}),
        (' \n', {}),
        ('ur_type:=ur5e', {'ur_type': 'ur5e'}),
        ('a:=1  b:=-2.5\nc:=true', {'a': '1', 'b': '-2.5', 'c': 'true'}),
        ("name:='left arm' empty:=", {'name': 'left arm', 'empty': ''}),
        ('path:=/a:=b', {'path': '/a:=b'}),
    ],
)
def test_arguments(text, arguments):
    assert parse_xacro_args(text) == arguments


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('ur5e', "has 'ur5e'"),
        ('a=1', "has 'a=1'"),
        (':=1', "has ':=1'"),
        ('a := 1', "has 'a'"),
        ('a:=1 a:=2', "names 'a' twice"),
        ('a:="1', 'No closing quotation'),
        ('a' * (LONGEST_TEXT + 1), 'characters'),
        ('b' * 1000, '(1000 characters)'),
    ],
)
def test_bad_texts_are_refused(text, words):
    with pytest.raises(OptionError) as caught:
        parse_xacro_args(text, '--xacro-args')
    assert str(caught.value).startswith('--xacro-args: ')
    assert words in str(caught.value)


MESH = 'meshes/link.stl'
URDF = '<robot name="r"><link name="base"/></robot>'


@pytest.fixture(autouse=True)
def no_installation(monkeypatch, tmp_path):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'none'))


def package(folder, name=None, manifest=None):
    """Make a folder with a mesh; a manifest only where a name or its text is given."""
    (folder / 'meshes').mkdir(parents=True)
    (folder / MESH).write_text(str(folder))
    if name or manifest:
        text = manifest or f'<?xml version="1.0"?>\n<package>\n <name> {name} </name></package>'
        (folder / 'package.xml').write_text(text)
    return folder


def found(filename, urdf=None, package_dirs=()):
    return MeshFiles(urdf, package_dirs).find(filename)


def test_a_repository_unpacked_under_another_name_is_its_package(tmp_path):
    folder = package(tmp_path / 'arm_description-main', 'arm_description')
    urdf = folder / 'urdf' / 'robots' / 'arm.urdf'
    assert found(f'package://arm_description/{MESH}', urdf) == folder / MESH
    beside = package(tmp_path / 'gripper-1.2', 'gripper_description')
    assert found(f'package://gripper_description/{MESH}', urdf) == beside / MESH


def test_the_manifest_goes_before_the_name_of_the_folder(tmp_path):
    wrong = package(tmp_path / 'ws' / 'arm', 'other')
    right = package(tmp_path / 'ws' / 'checkout', 'arm')
    urdf = wrong / 'arm.urdf'
    assert found(f'package://arm/{MESH}', urdf) == right / MESH
    assert found(f'package://other/{MESH}', urdf) == wrong / MESH


def test_a_folder_counts_by_its_own_name_where_no_manifest_says_otherwise(tmp_path):
    old = package(tmp_path / 'arm', manifest='<package/>')
    assert found(f'package://arm/{MESH}', old / 'arm.urdf') == old / MESH


@pytest.mark.parametrize(
    ('manifest', 'name'),
    [
        ('<package format="3"><name>a-b_c1</name></package>', 'a-b_c1'),
        ('<package><!-- <name>no</name> --><name>\n yes\n</name></package>', 'yes'),
        ('<package><author>x</author><name>first</name><x><name>second</name></x>', 'first'),
        ('<package><name>../up</name></package>', ''),
        ('<package><name></name></package>', ''),
        ('no xml', ''),
        ('<!DOCTYPE x [<!ENTITY a "b">]><package><name>&a;</name></package>', ''),
        (' ' * 2**19 + '<name>late</name>', ''),
    ],
)
def test_names_in_manifests(tmp_path, manifest, name):
    assert manifest_name(package(tmp_path / 'p', manifest=manifest)) == name


def test_a_manifest_that_is_no_file_is_none(tmp_path):
    (tmp_path / 'a').mkdir()
    os.mkfifo(tmp_path / 'a' / 'package.xml')
    (tmp_path / 'b' / 'package.xml').mkdir(parents=True)
    (tmp_path / 'c').mkdir()
    (tmp_path / 'c' / 'package.xml').symlink_to(tmp_path / 'c' / 'package.xml')
    assert [manifest_name(tmp_path / name) for name in 'abc'] == ['', '', '']


@pytest.mark.parametrize('levels', [0, 1, 2, 3])
def test_packages_in_folders_that_the_user_names(tmp_path, levels):
    place = tmp_path / 'place'
    folder = package(place.joinpath(*'xyz'[:levels]), 'arm')
    assert found(f'package://arm/{MESH}', package_dirs=[place]) == folder / MESH
    assert found(f'package://arm/{MESH}', tmp_path / 'a' / 'b.urdf', [place]) == folder / MESH
    assert found(f'file://{folder}/{MESH}', package_dirs=[place]) == folder / MESH
    with pytest.raises(MeshError, match=r'not found.*package_dirs names more places'):
        found(f'package://arm/{MESH}')


def test_a_named_folder_without_manifests_holds_packages_by_their_folders(tmp_path):
    folder = package(tmp_path / 'place' / 'arm')
    assert found(f'package://arm/{MESH}', package_dirs=[tmp_path / 'place']) == folder / MESH


def test_named_folders_go_before_others_and_end_nowhere_else(tmp_path):
    mine = package(tmp_path / 'mine' / 'v2', 'arm')
    other = package(tmp_path / 'ws' / 'arm', 'arm')
    (tmp_path / 'mine' / 'secret.stl').write_text('secret')
    urdf, places = other / 'arm.urdf', [tmp_path / 'mine']
    assert found(f'package://arm/{MESH}', urdf, places) == mine / MESH
    for path in ('../secret.stl', 'meshes/../../secret.stl', '%2e%2e/secret.stl'):
        with pytest.raises(MeshError, match='is refused'):
            found(f'package://arm/{path}', urdf, places)


def test_a_huge_folder_and_a_circle_of_links_are_bounded(tmp_path):
    (tmp_path / 'loop').mkdir()
    (tmp_path / 'loop' / 'again').symlink_to(tmp_path / 'loop')
    assert PackageFolders((), [tmp_path / 'loop']).named('arm') == ()
    many = tmp_path / 'many'
    many.mkdir()
    for i in range(4200):
        (many / f'{i}').touch()
    package(many / 'arm-main', 'arm')
    assert PackageFolders([many], ()).named('arm') == ()
    assert PackageFolders((), [many / 'arm-main']).named('arm') == (many / 'arm-main',)


def test_a_list_of_folders_as_text(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert parse_package_dirs(' ~/a:b: :/c d:') == (tmp_path / 'a', tmp_path / 'b', Path('/c d'))
    assert parse_package_dirs('') == ()


def test_a_robot_keeps_its_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = Robot.from_urdf(URDF, package_dirs=['ws', Path('/opt')])
    assert robot.package_dirs == (tmp_path / 'ws', Path('/opt'))
    srdf = '<robot name="r"/>'
    for copy in (robot.with_srdf(srdf), robot.with_groups({}), pickle.loads(pickle.dumps(robot))):
        assert copy.package_dirs == robot.package_dirs
    assert Robot.from_urdf(URDF, srdf=srdf, package_dirs=['/a']).package_dirs == (Path('/a'),)
    assert Robot.from_urdf(URDF).package_dirs == ()


@pytest.mark.parametrize('wrong', ['/a', Path('/a'), [1], [None]])
def test_what_is_no_list_of_folders(wrong):
    with pytest.raises(ArgumentError, match='package_dirs'):
        Robot.from_urdf(URDF, package_dirs=wrong)


def test_the_package_of_a_file_counts_where_its_text_names_packages(tmp_path):
    folder = package(tmp_path / 'arm-main', 'arm')
    urdf = folder / 'urdf' / 'arm.urdf'
    assert own_package(urdf, '<mesh filename="package://arm/a.stl"/>') == (folder,)
    assert own_package(urdf, '<mesh filename="a.stl"/>') == ()
    assert own_package(tmp_path / 'arm.urdf', 'package://arm/a.stl') == ()


TEXT = """
default_velocity_scaling_factor: 0.1
joint_limits:
  panda_joint1:
    has_velocity_limits: true
    max_velocity: 1.5
    has_acceleration_limits: true
    max_acceleration: 3.75
    has_jerk_limits: true
    max_jerk: 5e2
  panda_joint2:
    has_velocity_limits: false
    max_velocity: 0.5
    has_acceleration_limits: true
    max_acceleration: 9
    has_deceleration_limits: true
    max_deceleration: 4
  panda_joint4:
    max_velocity: 100.0
    has_position_limits: true
    min_position: -2.0
    max_position: 1.0
"""


@pytest.fixture
def robot():
    return iks.Robot.from_urdf(arm_path('panda'))


def test_limits_are_read_and_the_tighter_ones_count(robot):
    bounds = parse_joint_limits(TEXT)
    chain = robot.with_limits(bounds).chain('panda_link0', 'panda_hand_tcp')
    plain = robot.chain('panda_link0', 'panda_hand_tcp')
    inf = math.inf
    assert bounds.acceleration(chain).tolist() == [3.75, 4.0, inf, inf, inf, inf, inf]
    assert bounds.jerk(chain).tolist() == [500.0, inf, inf, inf, inf, inf, inf]
    assert bounds.velocity(chain).tolist() == [1.5, inf, inf, 100.0, inf, inf, inf]
    assert bounds.velocity_scaling == 0.1
    assert chain.velocity[0] == 1.5
    assert np.array_equal(chain.velocity[1:], plain.velocity[1:])
    assert (chain.lower[3], chain.upper[3]) == (-2.0, plain.upper[3])


@pytest.mark.parametrize('text', ['', '   ', 'joint_limits:\n', 'joint_limits: {}\n'])
def test_no_limits_leave_the_robot_as_it_is(robot, text):
    assert robot.with_limits(iks.load_joint_limits(text)) is robot


def test_a_file_is_read_and_named_in_its_errors(tmp_path, robot):
    file = tmp_path / 'joint_limits.yaml'
    file.write_text(TEXT)
    assert iks.load_joint_limits(file) == iks.load_joint_limits(str(file))
    assert iks.load_joint_limits(TEXT) == iks.load_joint_limits(file)
    file.write_text('joint_limits: 7')
    with pytest.raises(JointLimitsError, match=r'joint_limits\.yaml.*has to map names of joints'):
        iks.load_joint_limits(file)


def test_text_may_be_one_line(robot):
    text = 'joint_limits: {elbow: {has_velocity_limits: true, max_velocity: 0.5}}'
    assert iks.load_joint_limits(text) == iks.load_joint_limits(text + '\n')
    with pytest.raises(JointLimitsError, match=r"'elbow': max_velocity"):
        iks.load_joint_limits(text.replace('0.5', '-0.5'))


def test_what_is_no_readable_file_is_refused(tmp_path):
    for name in ('missing.yaml', str(tmp_path), 'a\0b'):
        with pytest.raises(JointLimitsError, match='cannot be read'):
            iks.load_joint_limits(name)
    huge = tmp_path / 'huge.yaml'
    huge.write_bytes(b'#' * (MAX_BYTES + 1))
    with pytest.raises(JointLimitsError, match='cannot be read'):
        iks.load_joint_limits(huge)
    huge.write_bytes(b'\xff\xfe\x00')
    with pytest.raises(JointLimitsError, match='UTF-8'):
        iks.load_joint_limits(huge)


WRONG = {
    '[1, 2]': 'key joint_limits',
    'joint_limits: [1]': 'map names of joints',
    'joint_limits: {a: 3}': r"joint 'a': has to be a mapping",
    'joint_limits: {a: {max_velocty: 3}}': 'has no max_velocty; known are .*max_velocity',
    'joint_limits: {a: {has_velocity_limits: true}}': "joint 'a': max_velocity is missing",
    'joint_limits: {a: {max_velocity: .nan}}': 'max_velocity has to be a finite number',
    'joint_limits: {a: {max_velocity: true}}': 'max_velocity has to be a finite number',
    'joint_limits: {a: {max_jerk: .inf}}': 'max_jerk has to be a finite number',
    'joint_limits: {a: {max_velocity: -1}}': 'max_velocity has to be at least 0, not -1',
    'joint_limits: {a: {max_acceleration: 0}}': 'max_acceleration has to be above 0, not 0',
    'joint_limits: {a: {has_jerk_limits: 1}}': "has_jerk_limits has to be true or false, not '1'",
    'joint_limits: {a: {min_position: 2, max_position: 1}}': 'min_position 2 is above',
    'joint_limits: {a: {max_position: 1}}': 'min_position is missing',
    'default_velocity_scaling_factor: 0\njoint_limits: {}': 'default_velocity_scaling_factor',
    'joint_limits: {a: {max_velocity: 1': 'no YAML in line 1',
    'a: !!python/object/apply:os.system [ls]': 'no YAML',
    '[' * 5000: 'no YAML',
}


@pytest.mark.parametrize('text', WRONG, ids=lambda text: text[:40])
def test_wrong_content_is_refused_with_what_would_be_right(text):
    with pytest.raises(JointLimitsError, match=WRONG[text]):
        parse_joint_limits(text)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{elbow: {max_jerk: 1}}', 'no movable joint called elbow; it has panda_joint1'),
        ('{panda_joint1: {min_position: 5, max_position: 6}}', "'panda_joint1': .*nothing in c"),
    ],
)
def test_limits_that_do_not_go_with_the_robot_are_refused(robot, text, message):
    with pytest.raises(JointLimitsError, match=message):
        robot.with_limits(parse_joint_limits(f'joint_limits: {text}'))
