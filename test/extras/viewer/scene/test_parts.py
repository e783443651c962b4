import math
from pathlib import Path

import numpy as np
import pytest

from ik_service import Robot
from ik_service.exceptions import UrdfError
from ik_service.extras.viewer.scene.meshes import Mesh, MeshLoader
from ik_service.extras.viewer.scene.parts import (
    collision_parts,
    read_visuals,
    robot_parts,
    skeleton,
)
from ik_service.model.description import read_description
from ik_service.model.geometry.link_geometry import Box, Capsule, Cylinder, MeshFile, Sphere

ARMS = sorted((Path(__file__).parents[4] / 'urdf').glob('*.urdf'))


def robot(visual, materials=''):
    return f'<robot name="r">{materials}<link name="a"><visual>{visual}</visual></link></robot>'


def only(text):
    visuals = read_visuals(read_description(text))
    assert visuals.warnings == ()
    (visual,) = visuals.visuals
    return visual


@pytest.mark.parametrize(
    ('element', 'geometry'),
    [
        ('<box size="1 2 3"/>', Box((1.0, 2.0, 3.0))),
        ('<cylinder radius="0.1" length="0.5"/>', Cylinder(0.1, 0.5)),
        ('<capsule radius="0.1" length="0.5"/>', Capsule(0.1, 0.5)),
        ('<sphere radius="0.2"/>', Sphere(0.2)),
        ('<mesh filename="package://p/a.stl"/>', MeshFile('package://p/a.stl', (1.0, 1.0, 1.0))),
        ('<mesh filename="a.stl" scale="1 -1 2"/>', MeshFile('a.stl', (1.0, -1.0, 2.0))),
    ],
)
def test_reads_each_geometry(element, geometry):
    visual = only(robot(f'<geometry>{element}</geometry>'))
    assert (visual.link, visual.geometry, visual.color) == ('a', geometry, None)
    assert (visual.T_link_geometry == np.eye(4)).all()


def test_reads_the_origin():
    origin = '<origin xyz="1 2 3" rpy="0.3 -0.2 0.9"/>'
    T = only(robot(f'{origin}<geometry><sphere radius="1"/></geometry>')).T_link_geometry
    assert T[:3, 3].tolist() == [1.0, 2.0, 3.0]
    assert math.atan2(T[1, 0], T[0, 0]) == pytest.approx(0.9)  # yaw
    assert -math.asin(T[2, 0]) == pytest.approx(-0.2)  # pitch
    assert math.atan2(T[2, 1], T[2, 2]) == pytest.approx(0.3)  # roll


def test_colors_by_name_and_in_place():
    sphere = '<geometry><sphere radius="1"/></geometry>'
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    assert only(robot(f'{sphere}<material name="red"/>', red)).color == (1.0, 0.0, 0.0)
    inline = '<material name=""><color rgba="0 0.5 2 1"/></material>'
    assert only(robot(sphere + inline)).color == (0.0, 0.5, 1.0)
    assert only(robot(f'{sphere}<material name="unknown"/>')).color is None


@pytest.mark.parametrize(
    ('visual', 'words'),
    [
        ('', 'it has no <geometry>'),
        ('<geometry/>', 'not nothing'),
        ('<geometry><cone radius="1" length="1"/></geometry>', 'not cone'),
        ('<geometry><sphere radius="-1"/></geometry>', '-1.0 is no length'),
        ('<geometry><sphere radius="nan"/></geometry>', 'nan is no length'),
        ('<geometry><sphere radius="wide"/></geometry>', 'wide'),
        ('<geometry><box size="1 2"/></geometry>', 'a visual is not shown'),
        ('<geometry><mesh filename="a.stl" scale="0 1 1"/></geometry>', 'it has no extent: 0 1 1'),
        (
            '<geometry><sphere radius="1"/></geometry>'
            '<material><color rgba="nan 0 0 1"/></material>',
            'is no colour',
        ),
        ('<origin xyz="inf 0 0"/><geometry><sphere radius="1"/></geometry>', 'not finite'),
    ],
)
def test_a_faulty_visual_is_left_out_and_reported(visual, words, capfd):
    good = '<visual><geometry><sphere radius="1"/></geometry></visual>'
    visuals = read_visuals(read_description(robot(visual).replace('</link>', f'{good}</link>')))
    assert [v.geometry for v in visuals.visuals] == [Sphere(1.0)]
    (warning,) = visuals.warnings
    assert warning.startswith("link 'a': a visual is not shown")
    assert words in warning
    assert capfd.readouterr().err == ''


def test_unknown_elements_are_ignored_silently(capfd):
    extra = '<gazebo reference="a"/><custom x="1"><y/></custom>'
    text = robot('<custom/><geometry><sphere radius="1"/></geometry>', extra)
    assert len(read_visuals(read_description(text)).visuals) == 1
    assert capfd.readouterr().err == ''


def test_refuses_entities():
    bomb = '<!DOCTYPE robot [<!ENTITY a "aaaa">]><robot name="&a;"/>'
    with pytest.raises(UrdfError, match='DOCTYPE'):
        read_visuals(read_description(bomb))


@pytest.mark.parametrize('path', ARMS, ids=lambda path: path.stem)
def test_all_visuals_of_our_own_arms_are_read(path):
    visuals = read_visuals(read_description(path.read_text()))
    assert visuals.warnings == ()
    assert len(visuals.visuals) > 6
    assert all(visual.color for visual in visuals.visuals)


TEXT = """<robot name="r">
  <link name="a">{a}</link><link name="b">{b}</link><link name="c"/>
  <joint name="turn" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0 0 0.4"/></joint>
  <joint name="bend" type="continuous"><parent link="b"/><child link="c"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/></joint>
</robot>"""
BALL = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
MESH = '<visual><geometry><mesh filename="none.stl"/></geometry></visual>'


def read(a='', b=''):
    text = TEXT.format(a=a, b=b)
    return Robot.from_urdf(text), read_visuals(read_description(text))


def test_a_missing_mesh_is_a_box():
    warnings = []
    parts = robot_parts(*read(BALL, MESH), MeshLoader(None, warnings.append))
    assert [(part.link, type(part.geometry)) for part in parts] == [('a', Sphere), ('b', Box)]
    assert len(warnings) == 1


def test_collision_shapes_are_parts_without_what_is_faulty_or_has_no_extent():
    shapes = [
        '<sphere radius="0.1"/>',
        '<box size="1 1 0"/>',
        '<box size="1 1"/>',
        '<capsule radius="0.1" length="0.5"/>',
        '<mesh filename="none.stl"/>',
    ]
    text = ''.join(f'<collision><geometry>{shape}</geometry></collision>' for shape in shapes)
    robot, _ = read(BALL, text)
    warnings = []
    parts = collision_parts(robot, MeshLoader(None, warnings.append))
    assert [(part.link, type(part.geometry)) for part in parts] == [
        ('b', Sphere),
        ('b', Mesh),
        ('b', Box),
    ]
    assert len(warnings) == 1


def test_a_capsule_is_drawn_as_triangles():
    capsule = '<visual><geometry><capsule radius="0.1" length="0.5"/></geometry></visual>'
    (part,) = robot_parts(*read(capsule), MeshLoader(None, print))
    assert isinstance(part.geometry, Mesh)
    np.testing.assert_allclose(np.ptp(part.geometry.vertices, axis=0), [0.2, 0.2, 0.7], atol=1e-6)


def test_a_robot_without_visuals_is_a_skeleton():
    parts = robot_parts(*read(), MeshLoader(None, print))
    bones = [part for part in parts if isinstance(part.geometry, Cylinder)]
    assert [(part.link, part.geometry.length) for part in bones] == [('a', 0.4), ('b', 0.3)]
    assert sum(isinstance(part.geometry, Sphere) for part in parts) == 2


def test_a_bone_of_the_skeleton_ends_at_the_joint():
    robot, _ = read()
    (bone,) = (
        part
        for part in skeleton(robot)
        if part.link == 'b' and isinstance(part.geometry, Cylinder)
    )
    half = np.array([0.0, 0.0, bone.geometry.length / 2, 0.0])
    middle, along = bone.T_link_geometry[:, 3], bone.T_link_geometry @ half
    ends = sorted([(middle - along)[:3].tolist(), (middle + along)[:3].tolist()])
    assert np.allclose(ends, [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    R = bone.T_link_geometry[:3, :3]
    assert np.allclose(R @ R.T, np.eye(3))
    assert np.isclose(np.linalg.det(R), 1.0)
