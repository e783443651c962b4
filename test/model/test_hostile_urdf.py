"""Hostile robot descriptions: each is refused by a typed error within a second."""

import contextlib
import time

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from ik_service.exceptions import UrdfError
from ik_service.model.urdf import MAX_LINKS
from ik_service.robot import Robot

LONGEST_TIME = 3.0  # [s]
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


BILLION_LAUGHS = (
    '<!DOCTYPE robot [<!ENTITY e0 "ha">'
    + ''.join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(10))
    + ']><robot name="&e10;"><link name="a"/></robot>'
)


@pytest.mark.parametrize(
    'text',
    [
        BILLION_LAUGHS,
        '<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot name="r"/>',
        '<!DOCTYPE robot PUBLIC "a" "http://127.0.0.1:1/a.dtd"><robot name="r"/>',
        '<!DOCTYPE robot><robot name="r"><link name="a"/></robot>',
    ],
)
def test_document_types_and_entities(text):
    assert_refused(text, r'^line 1: a URDF must not declare a document type')


def test_external_entities_read_no_file(tmp_path):
    secret = tmp_path / 'secret'
    secret.write_text('the-secret')
    text = (
        f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">'
        f'<!ENTITY % y SYSTEM "{secret.as_uri()}"> %y;]>'
        '<robot name="r"><link name="&x;"/></robot>'
    )
    with pytest.raises(UrdfError, match='must not declare a document type') as caught:
        Robot.from_urdf(text)
    assert 'the-secret' not in str(caught.value)


def test_undeclared_entity():
    assert_refused('<robot name="&x;"/>', 'line 1, .*undefined entity')


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


def test_an_endless_file():
    assert_refused('/dev/zero', "^file '/dev/zero': cannot be read: it is a device, and a regular")


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


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<robot name="r">' + '<a/>' * 4_000_000, 'more than 200000 elements'),
        ('<robot ' + ' '.join(f'a{i}=""' for i in range(1_000_000)) + '/>', 'a tag .*longer'),
        ('<robot name="' + 'a' * 16_000_000 + '"/>', 'a tag or comment longer'),
        ('<robot name="r"><!--' + '- ' * 8_000_000 + '--></robot>', 'a tag or comment longer'),
    ],
    ids=['elements', 'attributes', 'name', 'comment'],
)
def test_too_many_elements(text, message):
    assert_refused(text, message)


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


@pytest.mark.parametrize('text', ['', ' ', '\n\t'])
def test_empty_text(text):
    assert_refused(text, 'the robot description is empty')


@pytest.mark.parametrize(
    ('data', 'message'),
    [
        (b'', 'the robot description is empty'),
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


def test_text_with_half_a_surrogate_pair():
    assert_refused('<robot name="\udc80"/>', r'not Unicode text \(character 13\)')


def test_paths_that_cannot_be_read(tmp_path):
    missing = tmp_path / 'none.urdf'
    assert_refused(missing, r"^file '.*none\.urdf': cannot be read: No such file")
    assert_refused(str(missing), r"^file '.*none\.urdf': cannot be read: No such file")
    assert_refused(tmp_path, 'cannot be read: it is a folder, and a regular file is needed')
    assert_refused('nul\0byte', 'cannot be read: embedded null byte')
    assert_refused('x' * 1_000_000, "^file '…x{300}': cannot be read: File name too long")


def test_xacro_is_not_urdf():
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
        '<xacro:include filename="arm.xacro"/></robot>'
    )
    assert_refused(text, "^line 2: .*'xacro:include'.* expand the file with xacro first")


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
