"""Folders of packages, and files of joint limits."""

import math
import os
from pathlib import Path
import pickle

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.exceptions import ArgumentError, JointLimitsError
from ik_service.model.geometry.mesh_files import MeshError, MeshFiles
from ik_service.model.joint_limits_file import MAX_BYTES, parse_joint_limits
from ik_service.model.motion_bounds import JointBounds
from ik_service.model.package_folders import (
    manifest_name,
    own_package,
    PackageFolders,
    parse_package_dirs,
)
from ik_service.robot import Robot

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


def test_a_folder_around_the_description_needs_no_manifest_below_the_home_folder(
    tmp_path, monkeypatch
):
    folder, beside = package(tmp_path / 'robots' / 'alone'), package(tmp_path / 'robots' / 'hand')
    urdf = folder / 'urdf' / 'arm.urdf'
    assert found(f'package://alone/{MESH}', urdf) == folder / MESH
    with pytest.raises(MeshError, match='lies outside'):
        found('package://alone/../hand/meshes/link.stl', urdf)
    with pytest.raises(MeshError, match='no such package'):
        found(f'package://{beside.name}/{MESH}', urdf)
    monkeypatch.setenv('HOME', str(folder))
    with pytest.raises(MeshError, match='no such package'):
        found(f'package://alone/{MESH}', urdf)


@pytest.mark.parametrize('urdf', ['arm.urdf', 'urdf/arm.urdf'])
@pytest.mark.parametrize('name', ['arm', None])
def test_a_folder_of_the_description_is_a_package_of_its_name_where_there_is_no_other(
    tmp_path, urdf, name
):
    folder = package(tmp_path / 'arm', name)
    (folder / 'urdf' / 'meshes').mkdir(parents=True)
    (folder / 'urdf' / MESH).write_text('of the urdf')
    urdf = folder / urdf
    nearest = urdf.parent / MESH
    assert found('package://meshes/link.stl', urdf) == nearest
    if name and nearest != folder / MESH:
        nearest.unlink()
        assert found('package://meshes/link.stl', urdf) == folder / MESH
    (tmp_path / 'secret.stl').write_text('secret')
    (urdf.parent / 'linked').symlink_to(tmp_path)
    with pytest.raises(MeshError, match='no such package'):
        found('package://meshes/other.stl', urdf)
    for parent in (f'meshes/{os.path.relpath(tmp_path, nearest.parent)}', 'linked'):
        for file in ('secret.stl', 'missing.stl'):  # not told apart
            with pytest.raises(MeshError, match='lies outside'):
                found(f'package://{parent}/{file}', urdf)


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


@pytest.mark.parametrize('levels', [0, 1, 4])
def test_packages_in_folders_that_the_user_names(tmp_path, levels):
    place = tmp_path / 'place'
    folder = package(place.joinpath(*'wxyz'[:levels]), 'arm')
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
    assert bounds.acceleration(chain.joints).tolist() == [3.75, 4.0, inf, inf, inf, inf, inf]
    assert bounds.jerk(chain.joints).tolist() == [500.0, inf, inf, inf, inf, inf, inf]
    assert bounds.velocity(chain.joints).tolist() == [1.5, inf, inf, 100.0, inf, inf, inf]
    assert bounds.velocity_scaling == 0.1
    assert chain.velocity[0] == 1.5
    assert np.array_equal(chain.velocity[1:], plain.velocity[1:])
    assert (chain.lower[3], chain.upper[3]) == (-2.0, plain.upper[3])


def test_angles_have_units_where_the_file_says_so():
    text = 'joint_limits:\n  j: {{max_velocity: !degrees {}, max_jerk: !radians 2}}\n'
    bounds = parse_joint_limits(text.format('180')).joints['j']
    assert (bounds.velocity, bounds.jerk) == (math.pi, 2.0)
    with pytest.raises(JointLimitsError, match='max_velocity has to be a finite number'):
        parse_joint_limits(text.format('fast'))


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


def test_an_unknown_key_that_is_false_limits_nothing():
    text = 'joint_limits: {a: {max_velocity: 1, has_jerk: %s}}'
    assert parse_joint_limits(text % 'false').joints['a'] == JointBounds(velocity=1.0)
    with pytest.raises(JointLimitsError, match='has no has_jerk; known are'):
        parse_joint_limits(text % 'true')


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
    '[' * 1000: 'no YAML',
}


@pytest.mark.parametrize('text', WRONG, ids=lambda text: text[:40])
def test_wrong_content_is_refused_with_what_would_be_right(text):
    with pytest.raises(JointLimitsError, match=WRONG[text]):
        parse_joint_limits(text)


def test_limits_of_a_gripper_that_is_not_mounted_are_ignored(robot):
    limits = [f'{name}: {{max_velocity: 0.1}}' for name in robot.movable_joint_names]
    bounds = parse_joint_limits(f'joint_limits: {{finger: {{}}, {", ".join(limits)}}}')
    assert set(robot.with_limits(bounds).chain().velocity) == {0.1}
    with pytest.raises(JointLimitsError, match='no movable joint called finger'):
        robot.with_limits(parse_joint_limits(f'joint_limits: {{finger: {{}}, {limits[0]}}}'))


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
