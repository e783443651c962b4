"""One pass over the text of a URDF: namespaces, prefixes, encodings and what belongs to others."""

import contextlib
import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.urdf_texts import joint_xml, robot_xml

from ik_service.exceptions import UrdfError
from ik_service.model.geometry.inertias import complete_inertias
from ik_service.model.geometry.link_geometry import read_collision_geometry
from ik_service.model.geometry.solids import Box
from ik_service.model.urdf import MAX_LINKS
from ik_service.model.urdf_writing import partial_urdf, whole_urdf
from ik_service.robot import Robot

SHAPE = '<geometry><box size="0.1 0.2 0.3"/></geometry>'
URDF = f"""<robot name="r">
<link name="base"><collision>{SHAPE}</collision></link>
<link name="arm"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
 iyz="0"/></inertial><visual>{SHAPE}</visual><collision name="a">{SHAPE}</collision>
<collision name="a"><origin xyz="0 0 1"/>{SHAPE}</collision></link>
{joint_xml()}
<gazebo reference="arm"><plugin name="p" filename="f"/></gazebo>
</robot>"""


def first(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


def prefixed(text, prefix):
    """The text with a prefix at every tag."""
    return re.sub(r'<(/?)(?=\w)', rf'<\1{prefix}:', text)


SPELLINGS = {
    'default': first(URDF, 'name="r"', 'name="r" xmlns="http://www.ros.org"'),
    'quotes': first(URDF, 'name="r"', "xmlns='urn:any' name='r'"),
    'empty': first(URDF, 'name="r"', 'xmlns="" name="r"'),
    'on a link': first(URDF, '<link name="arm"', '<link xmlns="http://b" name="arm"'),
    'on a collision': first(URDF, '<collision name', '<collision xmlns="http://b" name'),
    'on a geometry': URDF.replace('<geometry', '<geometry xmlns="c"'),
    'none in the middle': first(
        first(URDF, 'name="r"', 'name="r" xmlns="a"'), '<collision', '<collision xmlns=""'
    ),
    'nested': first(
        first(URDF, 'name="r"', 'name="r" xmlns="a"'), '<link name="a', '<link xmlns="b" name="a'
    ),
    'prefixed': first(prefixed(URDF, 'u'), 'name="r"', 'name="r" xmlns:u="http://ros.org/urdf"'),
    'prefix undeclared': prefixed(URDF, 'u'),
    'parts with another prefix': URDF.replace('<collision', '<v:collision').replace(
        '</collision', '</v:collision'
    ),
    'two prefixes of one': first(
        prefixed(URDF, 'u').replace('u:link', 'w:link'), 'name', 'xmlns:u="a" xmlns:w="a" name'
    ),
    'undeclared in gazebo': first(URDF, '<plugin', '<c:p3d><a:b c:d="1"/></c:p3d><plugin'),
    'undeclared at the root': first(URDF, '<gazebo', '<sensor:camera name="eye"/><gazebo'),
    'undeclared attribute': first(URDF, '<collision', '<collision my:note="x" '),
    'instruction': first(URDF, '<link', '<?xml-model href="x"?><?php echo "<link/>" ?><link'),
    'comment': first(URDF, '<link', '<!-- <link name="x"/> <xacro:arm/> ${x} --><link'),
    'text': first(URDF, '<collision', '<![CDATA[<collision/>&]]>text &amp; &lt;<collision'),
    'mark': '\ufeff' + URDF,
    'mark and declaration': '\ufeff\n<?xml version="1.0" encoding="utf-16"?>' + URDF,
    'hyphens in comments': '<!---->' + first(URDF, '<link', '<!--- ---- <!-- a --- --><link'),
    'comments and declaration': '<!-- (c) -->\n<!-- <?xml -->\n<?xml version="1.0"?>' + URDF,
    'sdf in gazebo': first(
        URDF, '<plugin', '<link name="s"><collision/></link><joint name="t"/><plugin'
    ),
    'control': first(
        URDF, '<gazebo', '<ros2_control><joint name="shoulder"/></ros2_control><gazebo'
    ),
    'transmission': first(URDF, '<gazebo', '<transmission><link/><joint/></transmission><gazebo'),
}  # fmt: skip


def masses(robot):
    """What an engine of physics gets."""
    completed = complete_inertias(robot)
    bodies = re.findall(r'<inertial>.*?</inertial>', completed.text, re.DOTALL)
    return bodies, completed.shaped, completed.corrected, completed.nominal


@pytest.mark.parametrize('text', SPELLINGS.values(), ids=SPELLINGS)
def test_all_readers_find_the_same_however_it_is_spelt(text):
    robot, plain = Robot.from_urdf_text(text), Robot.from_urdf_text(URDF)
    assert (robot.links, list(robot.joints)) == (plain.links, list(plain.joints))
    np.testing.assert_array_equal(robot.chain().forward([0.3]), plain.chain().forward([0.3]))
    shapes = read_collision_geometry(robot.description)
    assert [shape.geometry for shape in shapes] == [Box((0.1, 0.2, 0.3))] * 3
    assert robot.description.shapes == 3
    assert [shape.T_link_geometry[2, 3] for shape in shapes] == [0.0, 0.0, 1.0]
    assert [name for name, _ in robot.description.elements_of_links('visual')] == ['arm']
    assert masses(robot) == masses(plain)
    part = Robot.from_urdf_text(partial_urdf(robot, 'part', 'base', ['arm']))
    assert part.description.shapes == 2
    assert Robot.from_urdf_text(whole_urdf(robot)).links == robot.links
    normal = Robot.from_urdf_text(robot.description.text)
    assert normal.description.shapes == 3
    assert robot.remarks == ()


def test_content_of_others_keeps_its_prefixes():
    text = first(URDF, '<plugin', '<controller:p3d><a:b c:d="1">t</a:b></controller:p3d><plugin')
    text = first(text, 'name="r"', 'xmlns:controller="urn:c" name="r"')
    written = Robot.from_urdf_text(text).description.text
    assert '<controller:p3d><a:b c:d="1">t</a:b></controller:p3d>' in written
    assert 'xmlns:controller="urn:c"' in written


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'iso-8859-1', 'cp1252'])
@pytest.mark.parametrize('declared', [True, False])
def test_files_in_the_encoding_that_they_declare(tmp_path, encoding, declared):
    name = 'utf-8' if encoding == 'utf-8-sig' else encoding
    if not declared and name not in ('utf-8', 'utf-16'):
        pytest.skip('nothing says what it is')
    head = f'<?xml version="1.0" encoding="{name}"?>' if declared else ''
    path = tmp_path / 'robot.urdf'
    path.write_bytes((head + URDF.replace('name="r"', 'name="Mäx"')).encode(encoding))
    assert Robot.from_urdf(path).name == 'Mäx'


@pytest.mark.parametrize('encoding', ['rot13', 'zlib', 'idna', 'utf-7', 'unicode_escape', 'none'])
def test_encodings_that_no_xml_has_are_not_tried(tmp_path, encoding):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(
        f'<?xml version="1.0" encoding="{encoding}"?><robot name="é"/>'.encode('cp1252')
    )
    with pytest.raises(UrdfError, match='not UTF-8 text'):
        Robot.from_urdf(path)


def test_a_copy_shares_the_parsed_text():
    robot = Robot.from_urdf_text(robot_xml(joint_xml()))
    assert robot.with_groups({'g': ('base', 'arm')}).description is robot.description


LONGEST_TIME = 10.0  # also on a slow machine [s]
SEEDED = settings(deadline=None, derandomize=True)


@pytest.fixture(scope='module', autouse=True)
def _warm():
    """Import urdf_parser_py outside the times that are measured."""
    Robot.from_urdf('<robot name="r"><link name="a"/></robot>')


def assert_refused(source, message):
    start = time.process_time()
    with pytest.raises(UrdfError, match=message):
        Robot.from_urdf(source)
    assert time.process_time() - start < LONGEST_TIME


def serial_robot(joints, parts=''):
    body = ''.join(
        f'<link name="l{i + 1}"/><joint name="j{i}" type="continuous">'
        f'<parent link="l{i}"/><child link="l{i + 1}"/>{parts}</joint>'
        for i in range(joints)
    )
    return f'<robot name="r"><link name="l0"/>{body}</robot>'


DOCUMENT_TYPE = r'^line 1: a URDF must not declare a document type'
EMPTY = 'the robot description is empty'
BILLION_LAUGHS = (
    '<!DOCTYPE robot [<!ENTITY e0 "ha">'
    + ''.join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(10))
    + ']><robot name="&e10;"><link name="a"/></robot>'
)


REFUSED = {
    'entities': (BILLION_LAUGHS, DOCUMENT_TYPE),
    'system': ('<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot name="r"/>', DOCUMENT_TYPE),
    'public': (
        '<!DOCTYPE robot PUBLIC "a" "http://[::1]:1/a.dtd"><robot name="r"/>',
        DOCUMENT_TYPE,
    ),
    'document type': ('<!DOCTYPE robot><robot name="r"><link name="a"/></robot>', DOCUMENT_TYPE),
    'undeclared entity': ('<robot name="&x;"/>', 'line 1, .*undefined entity'),
    'elements': ('<robot name="r">' + '<a/>' * 4_000_000, 'more than 200000 elements'),
    'attributes': (
        '<robot ' + ' '.join(f'a{i}=""' for i in range(100_000)) + '/>',
        'a tag .*longer',
    ),
    'name': ('<robot name="' + 'a' * 16_000_000 + '"/>', 'a tag or comment longer'),
    'comment': (
        '<robot name="r"><!--' + '- ' * 8_000_000 + '--></robot>',
        'a tag or comment longer',
    ),
    'empty': ('', EMPTY),
    'blank': (' ', EMPTY),
    'blank lines': ('\n\t', EMPTY),
    'half a surrogate pair': ('<robot name="\udc80"/>', r'not Unicode text \(character 13\)'),
    'xacro': (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
        '<xacro:include filename="arm.xacro"/></robot>',
        "^line 2: .*'xacro:include'.* expand the file with xacro first",
    ),
    'device': ('/dev/zero', "^file '/dev/zero': cannot be read: it is a device, and a regular"),
}


@pytest.mark.parametrize(('text', 'message'), REFUSED.values(), ids=REFUSED)
def test_texts_that_are_no_urdf_are_refused_soon(text, message):
    assert_refused(text, message)


def test_a_hundred_thousand_levels():
    assert_refused('<robot name="r">' + '<a>' * 100_000, 'line 1: .*200 levels')
    nested = '<link name="a">' * 100_000 + '</link>' * 100_000
    assert_refused(f'<robot name="r">{nested}</robot>', 'line 1: .*200 levels')


def test_fifty_megabytes(tmp_path):
    text = '<robot name="r">' + ' ' * 50_000_000 + '</robot>'
    assert_refused(text, 'longer than 16 MiB')
    assert_refused('<robot>' + 'é' * 9_000_000, 'longer than 16 MiB')
    path = tmp_path / 'huge.urdf'
    path.write_text(text)
    assert_refused(path, r"^file '.*huge\.urdf': .*longer than 16 MiB")


def test_too_many_links():
    assert_refused(serial_robot(20_000), f'line 1: more than {MAX_LINKS} links')
    joints = '<joint name="j" type="fixed"/>' * 50_000
    assert_refused(f'<robot name="r">{joints}</robot>', f'more than {MAX_LINKS} joints')


def test_the_longest_serial_chain_is_read_in_bounded_time():
    text = serial_robot(MAX_LINKS - 1, '<origin xyz="0 0 1"/><axis xyz="0 1 0"/>')
    start = time.process_time()
    robot = Robot.from_urdf(text)
    assert time.process_time() - start < LONGEST_TIME
    assert len(robot.path('l0', robot.leaves[0])) == MAX_LINKS - 1


def test_many_different_attributes():
    tags = ''.join(
        '<a ' + ' '.join(f'a{i}_{k}=""' for i in range(9999)) + '/>' for k in range(100)
    )
    assert_refused(f'<robot name="r">{tags}</robot>', 'more than 200000 elements and attributes')


def test_long_names_are_cut_in_messages():
    name = 'x' * 100_000
    text = f'<robot name="r"><link name="{name}"/><link name="{name}"/></robot>'
    with pytest.raises(UrdfError) as caught:
        Robot.from_urdf(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ('data', 'message'),
    [
        (b'', EMPTY),
        (b'\x7fELF\x02\x01\x01\x00\xff\xfe', 'not UTF-8 text'),
        ('<robot name="é"/>'.encode('latin-1'), r'not UTF-8 text \(byte 13\)'),
        ('<robot name="r"/>'.encode('utf-16'), 'the robot has no links'),
        ('<robot name="r"/>'.encode('utf-16')[:-1], r'not UTF-16 text \(byte 34\)'),
        ('<robot name="r"/>'.encode('utf-16-le'), 'line 1: a NUL character'),
        (b'solid mesh', 'line 1, column 1: not well-formed XML'),
        (b'<robot\nname="a\x00b"/>', 'line 2: a NUL character'),
        (b'\x00<robot name="a"/>', 'line 1: a NUL character'),
        (b'<robot name="a">\n<link name="a"', 'line 2, .*not well-formed XML: unclosed token'),
        (b'<robot name="a">\n<link name="a"/>\n', 'line 3, column 1: .*no element found'),
        (b'<robot name="a"></link></robot>', 'line 1, column 19: .*mismatched tag'),
        (b'<robot name="a" name="b"/>', 'duplicate attribute'),
        (b'<robot name="a"/><robot name="b"/>', 'junk after document element'),
    ],
)
def test_files_that_are_no_xml(tmp_path, data, message):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(data)
    assert_refused(path, message)


def test_lines_are_counted_from_the_start_of_the_text():
    text = (
        '\n\n<?xml version="1.0" encoding="latin-1"?>\n<robot name="é">\n<link name="a"></robot>'
    )
    assert_refused(text, '^line 5, column 18: .*mismatched tag')
    assert Robot.from_urdf(text.replace('"a">', '"a"/>')).name == 'é'


def test_paths_that_cannot_be_read(tmp_path):
    missing = tmp_path / 'none.urdf'
    assert_refused(missing, r"^file '.*none\.urdf': cannot be read: No such file")
    assert_refused(str(missing), r"^file '.*none\.urdf': cannot be read: No such file")
    assert_refused(tmp_path, 'cannot be read: it is a folder, and a regular file is needed')
    assert_refused('nul\0byte', 'cannot be read: .*embedded null')  # byte, or character
    assert_refused('x' * 1_000_000, "^file '…x{300}': cannot be read: File name too long")


@SEEDED
@given(st.text())
def test_random_text(text):
    with pytest.raises(UrdfError):
        Robot.from_urdf('<' + text)


@SEEDED
@given(st.binary())
def test_random_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / 'random.urdf'
    path.write_bytes(data)
    with pytest.raises(UrdfError):
        Robot.from_urdf(path)


VALID = (
    '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
    '<parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="0 1 0"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
)
SNIPPETS = ['', '<', '>', '"', ' ', '/>', 'nan', '-', '9', 'j', '&amp;', '&x;', '<joint>', 'e999']


@SEEDED
@given(
    st.integers(0, len(VALID)),
    st.integers(0, 30),
    st.one_of(st.text(max_size=10), st.sampled_from(SNIPPETS)),
)
def test_a_damaged_robot_is_read_or_refused(start, length, inserted):
    text = VALID[:start] + inserted + VALID[start + length :]
    with contextlib.suppress(UrdfError):
        robot = Robot.from_urdf(text)
        # What is still a robot is sound: its numbers are finite, and its axes have unit length.
        for joint in robot.joints.values():
            assert np.isfinite(joint.T_parent_joint).all()
            assert abs(np.linalg.norm(joint.axis) - 1.0) < 1e-12
            assert joint.limits.lower <= joint.limits.upper
