from pathlib import Path

import numpy as np
import pytest

from ik_service import Robot
from ik_service.extras.viewer.scene.meshes import Mesh, MeshLoader
from ik_service.extras.viewer.scene.parts import (
    collision_parts,
    read_visuals,
    robot_parts,
    skeleton,
)
from ik_service.model.description import read_description
from ik_service.model.geometry.solids import Box, Cylinder, Sphere

ARMS = sorted((Path(__file__).parents[4] / 'urdf').glob('*.urdf'))


def robot(visual, materials=''):
    return f'<robot name="r">{materials}<link name="a"><visual>{visual}</visual></link></robot>'


def only(text):
    visuals = read_visuals(read_description(text))
    assert visuals.warnings == ()
    (visual,) = visuals.visuals
    return visual


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


def read(a='', b=''):
    text = TEXT.format(a=a, b=b)
    return Robot.from_urdf(text), read_visuals(read_description(text))


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
    assert [(part.link, part.geometry.height) for part in bones] == [('a', 0.4), ('b', 0.3)]
    assert sum(isinstance(part.geometry, Sphere) for part in parts) == 2


def test_a_bone_of_the_skeleton_ends_at_the_joint():
    robot, _ = read()
    (bone,) = (
        part
        for part in skeleton(robot)
        if part.link == 'b' and isinstance(part.geometry, Cylinder)
    )
    half = np.array([0.0, 0.0, bone.geometry.height / 2, 0.0])
    middle, along = bone.T_link_geometry[:, 3], bone.T_link_geometry @ half
    ends = sorted([(middle - along)[:3].tolist(), (middle + along)[:3].tolist()])
    assert np.allclose(ends, [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    R = bone.T_link_geometry[:3, :3]
    assert np.allclose(R @ R.T, np.eye(3))
    assert np.isclose(np.linalg.det(R), 1.0)
