"""Xacro files in place of URDF files: expansion, bounds and error messages."""

import numpy as np
import pytest

import ik_service as iks
from ik_service.arm.loader import read_robot
from ik_service.exceptions import ArgumentError, MissingExtraError, OptionError, UrdfError
from ik_service.model import xacro_file
from ik_service.model.xacro_file import LONGEST_TEXT, parse_xacro_args

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


def test_an_argument_that_no_file_asks_for_is_named_with_the_one_that_is_meant(arm, write):
    unused = "xacro argument 'prefx' is not used (is prefix meant?)"
    assert iks.Robot.from_urdf(arm, {'prefix': 'left_', 'prefx': 'right_'}).remarks == (unused,)
    group = '<xacro:arg name="tip" default="upper"/><group name="arm">' + (
        '<chain base_link="base" tip_link="$(arg tip)"/></group>'
    )
    srdf = write(HEAD + group + '</robot>', 'arm.srdf.xacro')
    robot = iks.Robot.from_urdf(arm, {'prefx': 'right_', 'tip': 'lower'}, srdf)
    assert robot.remarks == (unused,), 'the other one is for the SRDF alone'
    assert robot.groups['arm'].tip_links == ('lower',)


def test_warnings_of_xacro_are_remarks(write):
    body = '<xacro:property name="n" value="1" scoop="global"/><link name="l${n}"/>'
    warned = 'xacro, arm.urdf.xacro: xacro:property: unknown attribute(s): scoop'
    assert iks.Robot.from_urdf(write(f'{HEAD}{body}</robot>')).remarks == (warned,)


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


def test_the_error_for_a_missing_argument_names_the_file_and_says_what_to_do(write):
    file = write(f'{HEAD}<link name="$(arg side)"/></robot>')
    said = f"file '{file}': xacro: Undefined substitution argument side: .*xacro_args: 'side:="
    assert_refused(file, f'^{said}')


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


def test_a_computer_that_is_busy_has_more_time(arm, monkeypatch):
    monkeypatch.setattr(xacro_file, 'MAX_SECONDS', 0.01)  # of computing, a whole second
    monkeypatch.setattr(xacro_file, '_BUSY', 6000.0)
    assert iks.Robot.from_urdf(arm).name == 'arm'


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
