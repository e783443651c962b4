"""Collision elements of a URDF."""

import numpy as np
import pytest

from ik_service.model.description import read_description
from ik_service.model.geometry.link_geometry import MeshFile, read_collision_geometry
from ik_service.model.geometry.solids import Box, Capsule, Cylinder, Sphere


def robot(collision):
    return read_description(f'<robot name="r"><link name="a">{collision}</link></robot>')


@pytest.mark.parametrize(
    ('geometry', 'expected'),
    [
        ('<box size="1 2 3"/>', Box((1.0, 2.0, 3.0))),
        ('<cylinder radius="0.1" length="0.2"/>', Cylinder(0.1, 0.2)),
        ('<capsule radius="0.1" length="0.2"/>', Capsule(0.1, 0.2)),
        ('<capsule radius="0.1" length="0"/>', Sphere(0.1)),
        ('<sphere radius="0.1"/>', Sphere(0.1)),
        ('<mesh filename="a.stl"/>', MeshFile('a.stl', (1.0, 1.0, 1.0))),
        ('<mesh filename="a.stl" scale="1 -2 3"/>', MeshFile('a.stl', (1.0, -2.0, 3.0))),
    ],
)
def test_shapes_and_places_are_read(geometry, expected):
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    (found,) = read_collision_geometry(
        robot(
            f'<visual><geometry><sphere radius="9"/></geometry></visual>'
            f'<collision name="c">{origin}<geometry>{geometry}</geometry><extra/></collision>'
        )
    )
    assert (found.link, found.geometry, found.fault) == ('a', expected, '')
    np.testing.assert_allclose(
        found.T_link_geometry,
        [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]],
        atol=1e-15,
    )


@pytest.mark.parametrize(
    'extra',
    [
        '<material name="grey"><color rgba="1 1 1 1"/></material>',
        '<contact_coefficients mu="1"/>',
        '<visual/><collision/><color rgba="1 1 1 1"/><box size="1 1 1"/>',
        '<origin xyz="0 0 0"><material/><geometry/></origin>',
    ],
)
def test_elements_that_mean_nothing_here_are_passed_over_in_silence(extra, capfd):
    shape = '<geometry><box size="1 1 1"><origin/><material/></box></geometry>'
    (found,) = read_collision_geometry(robot(f'<collision>{extra}{shape}</collision>'))
    assert (found.geometry, found.fault) == (Box((1.0, 1.0, 1.0)), '')
    assert capfd.readouterr() == ('', '')


def test_a_faulty_element_ends_nothing_but_itself():
    good = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    for bad in ('<collision/>', '<collision><geometry/></collision>', good.replace('"1"', '"x"')):
        first, second = read_collision_geometry(robot(bad + good))
        assert first.geometry is None
        assert first.fault
        assert second.geometry == Sphere(1.0)


@pytest.mark.parametrize(
    'geometry',
    [
        '<box size="0 0 0"/>',
        '<box size="1 0 2"/>',
        '<sphere radius="0"/>',
        '<cylinder radius="0.1" length="0"/>',
        '<cylinder radius="0" length="0.1"/>',
        '<capsule radius="0" length="0.1"/>',
        '<mesh filename="a.stl" scale="1 1 0"/>',
    ],
)
def test_shapes_without_extent_are_no_obstacle_and_remarked(geometry):
    text = f'<collision><geometry>{geometry}</geometry></collision>'
    (found,) = read_collision_geometry(robot(text))
    assert (found.geometry, found.fault) == (None, '')
    assert 'without extent' in found.remark


@pytest.mark.parametrize(
    'geometry',
    [
        *('<box size="0 -1 0"/>', '<sphere radius="nan"/>', '<sphere radius="inf"/>'),
        *('<cylinder radius="0" length="-1"/>', '<capsule radius="0.1" length="-0.1"/>'),
    ],
)
def test_sizes_that_cannot_be_are_faults(geometry):
    text = f'<collision><geometry>{geometry}</geometry></collision>'
    (found,) = read_collision_geometry(robot(text))
    assert found.geometry is None
    assert 'is no length' in found.fault
    assert found.remark == ''


def test_one_scale_is_that_of_all_directions():
    text = '<collision><geometry><mesh filename="a.stl" scale=" 0.001 "/></geometry></collision>'
    (found,) = read_collision_geometry(robot(text))
    assert found.geometry == MeshFile('a.stl', (0.001, 0.001, 0.001))


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('<geometry><capsule radius="1"/></geometry>', '<capsule> has no length'),
        ('<geometry><box/></geometry>', '<box> has no size'),
        ('<geometry><mesh/></geometry>', '<mesh> has no filename'),
        ('<geometry><box size="1 1"/></geometry>', 'size: 3 number(s) needed'),
        ('<geometry><sphere radius="1 2"/></geometry>', 'radius: 1 number(s) needed'),
        (
            '<geometry><sphere radius="wide"/></geometry>',
            "could not convert string to float: 'wide'",
        ),
        ('<geometry><mesh filename="a" scale="1 2"/></geometry>', 'scale 1 2 of a is unusable'),
        ('<geometry><capsule/><box/></geometry>', 'not capsule, box'),
        ('<geometry><torus/></geometry>', 'one box, capsule, cylinder, sphere or mesh, not torus'),
        ('<origin/><origin/><geometry><sphere radius="1"/></geometry>', 'more than one <origin>'),
        ('<origin xyz="1 2"/><geometry><sphere radius="1"/></geometry>', 'three numbers'),
    ],
)
def test_a_fault_is_named(text, words):
    (found,) = read_collision_geometry(robot(f'<collision>{text}</collision>'))
    assert found.geometry is None
    assert words in found.fault
