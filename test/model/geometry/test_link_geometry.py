"""Collision geometry and inertias of links."""

from xml.etree import ElementTree

import numpy as np
import pytest

from ik_service import Robot
from ik_service.exceptions import UrdfError
from ik_service.model.description import read_description
from ik_service.model.geometry.inertias import complete_inertias, DENSITY, NOMINAL_MASS
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
        ('<mesh filename="a.stl" scale=" 0.001 "/>', MeshFile('a.stl', (0.001, 0.001, 0.001))),
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
        '<box size="0 0 2"/>',
        '<sphere radius="0"/>',
        '<cylinder radius="0" length="0.1"/>',
        '<capsule radius="0" length="0.1"/>',
        '<mesh filename="a.stl" scale="1 0 0"/>',
    ],
)
def test_shapes_without_extent_are_no_obstacle_and_remarked(geometry):
    text = f'<collision><geometry>{geometry}</geometry></collision>'
    (found,) = read_collision_geometry(robot(text))
    assert (found.geometry, found.fault) == (None, '')
    assert 'without extent' in found.remark


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('<geometry><capsule radius="1"/></geometry>', '<capsule> has no length'),
        ('<geometry><box/></geometry>', '<box> has no size'),
        ('<geometry><mesh/></geometry>', '<mesh> has no filename'),
        ('<geometry><box size="1 1"/></geometry>', 'size: 3 number(s) needed'),
        ('<geometry><box size="1 1_0 1"/></geometry>', "'1 1_0 1' is no number"),
        ('<geometry><sphere radius="1 2"/></geometry>', 'radius: 1 number(s) needed'),
        (
            '<geometry><sphere radius="wide"/></geometry>',
            "could not convert string to float: 'wide'",
        ),
        ('<geometry><mesh filename="a" scale="1 2"/></geometry>', 'scale 1 2 of a is unusable'),
        ('<geometry><capsule/><box/></geometry>', 'not capsule, box'),
        ('<geometry><box size="0 -1 0"/></geometry>', 'is no length'),
        ('<geometry><sphere radius="nan"/></geometry>', 'is no length'),
        ('<geometry><sphere radius="inf"/></geometry>', 'is no length'),
        ('<geometry><cylinder radius="0" length="-1"/></geometry>', 'is no length'),
        ('<geometry><capsule radius="0.1" length="-0.1"/></geometry>', 'is no length'),
        ('<geometry><torus/></geometry>', 'one box, capsule, cylinder, sphere or mesh, not torus'),
        ('<origin/><origin/><geometry><sphere radius="1"/></geometry>', 'more than one <origin>'),
        ('<origin xyz="1 2"/><geometry><sphere radius="1"/></geometry>', 'three numbers'),
        (
            '<origin quat_xyzw="0 1 0 0"/><geometry><sphere radius="1"/></geometry>',
            '<origin> quat_xyzw is not supported; give rpy',
        ),
    ],
)
def test_a_fault_is_named(text, words):
    (found,) = read_collision_geometry(robot(f'<collision>{text}</collision>'))
    assert (found.geometry, found.remark) == (None, '')
    assert words in found.fault


BOX = '<geometry><box size="0.1 0.2 0.5"/></geometry>'
BALL = '<geometry><sphere radius="0.1"/></geometry>'
MESH = '<geometry><mesh filename="package://nowhere/arm.dae"/></geometry>'
FLAT = '<geometry><cylinder radius="0.1" length="0"/></geometry>'


def inertial(mass, *moments):
    xx, yy, zz = moments
    return (
        f'<inertial><origin xyz="0 0 0.1"/><mass value="{mass}"/><inertia ixx="{xx}" iyy="{yy}" '
        f'izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def robot_with(content, tool='', extra=''):
    """A link that turns about the base, and a tool that is fixed to it."""
    return Robot.from_urdf(f"""<robot name="r"><link name="base">{inertial(0, 0, 0, 0)}</link>
      <link name="arm">{content}</link><link name="tool">{tool}</link>{extra}
      <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
      <joint name="flange" type="fixed"><parent link="arm"/><child link="tool"/></joint>
    </robot>""")


def link(completed, name='arm'):
    return ElementTree.fromstring(completed.text).find(f"link[@name='{name}']")


def moments(element):
    return [float(element.find('inertial/inertia').get(name)) for name in ('ixx', 'iyy', 'izz')]


def said(completed):
    return completed.shaped, completed.corrected, completed.nominal


def test_a_given_inertia_is_unchanged_and_shapes_are_ignored():
    given = inertial(2, 0.1, 0.2, 0.25)
    completed = complete_inertias(
        robot_with(f'{given}<collision>{BOX}</collision><visual>{MESH}</visual>')
    )
    assert said(completed) == ((), (), ())
    assert [part.tag for part in link(completed)] == ['inertial']
    assert moments(link(completed)) == [0.1, 0.2, 0.25]


@pytest.mark.parametrize('nothing', ['', inertial(0, 0, 0, 0), inertial(-1, 1, 1, 1)])
def test_without_an_inertia_collision_shapes_are_used_before_visuals(nothing):
    both = f'{nothing}<visual>{BALL}</visual><collision>{BOX}</collision>'
    completed = complete_inertias(robot_with(both))
    assert said(completed) == (('arm',), (), ())
    assert [part.tag for part in link(completed)] == ['collision']
    assert link(completed).find('collision/geometry/box') is not None


@pytest.mark.parametrize('collision', ['', MESH, FLAT])
def test_visuals_are_used_where_no_collision_shape_has_a_volume(collision):
    completed = complete_inertias(
        robot_with(f'<collision>{collision}</collision><visual>{BALL}</visual>')
    )
    assert completed.shaped == ('arm',)
    assert [part.tag for part in link(completed)] == ['collision']
    assert link(completed).find('collision/geometry/sphere') is not None


def test_a_part_without_shapes_gets_a_nominal_sphere():
    completed = complete_inertias(robot_with(f'<visual>{MESH}</visual>'))
    assert said(completed) == ((), (), ('arm',))
    assert float(link(completed).find('inertial/mass').get('value')) == NOMINAL_MASS
    radius = (3.0 * NOMINAL_MASS / (4.0 * 3.141592653589793 * DENSITY)) ** (1 / 3)
    assert moments(link(completed)) == pytest.approx([0.4 * NOMINAL_MASS * radius**2] * 3)


def test_rigidly_attached_links_add_their_inertia_to_the_part():
    completed = complete_inertias(robot_with('', tool=f'<collision>{BALL}</collision>'))
    assert said(completed) == (('tool',), (), ())
    assert not len(link(completed))


@pytest.mark.parametrize(
    ('given', 'expected'),
    [((1.0, 0.1, 0.1), 0.4), ((0.3, 0.3, 0.0), 0.2), ((-1.0, 0.1, 0.3), None)],
)
def test_an_unphysical_inertia_tensor_becomes_isotropic(given, expected):
    completed = complete_inertias(robot_with(inertial(3, *given)))
    assert said(completed) == ((), ('arm',), ())
    first, second, third = moments(link(completed))
    assert first == second == third > 0.0
    assert expected is None or first == pytest.approx(expected)
    assert link(completed).find('inertial/origin').get('xyz') == '0 0 0.1', 'where it was'


def test_immobile_links_need_no_mass():
    completed = complete_inertias(robot_with(inertial(1, 1, 1, 1)))
    assert not len(link(completed, 'base'))


@pytest.mark.parametrize(
    ('content', 'word'),
    [
        (inertial('heavy', 1, 1, 1), 'heavy'),
        (inertial(1, 'nan', 1, 1), 'nan'),
        ('<collision><geometry><box size="1 a 1"/></geometry></collision>', '1 a 1'),
    ],
)
def test_invalid_numbers_are_named(content, word):
    with pytest.raises(UrdfError, match=f"^link 'arm': .*'{word}' is not a finite number"):
        complete_inertias(robot_with(content))


def test_extensions_with_undeclared_prefixes_are_ignored():
    completed = complete_inertias(
        robot_with(inertial(1, 1, 1, 1), extra='<sensor:camera name="eye"/>')
    )
    assert 'camera' not in completed.text


def test_a_faulty_joint_is_rigid_for_an_engine():
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link/>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 0"/>'
        '<origin xyz="0 0 1"/><limit lower="0" upper="1"/><mimic joint="k"/></joint>'
        '<joint name="k" type="continuous"><parent link="b"/><child link="c"/></joint></robot>'
    )
    completed = complete_inertias(Robot.from_urdf_text(text))
    root = ElementTree.fromstring(completed.text)
    faulty = root.find("joint[@name='j']")
    assert faulty.get('type') == 'fixed'
    assert [part.tag for part in faulty] == ['parent', 'child', 'origin']
    assert [link.get('name') for link in root.iterfind('link')] == ['a', 'b', 'c']
    assert completed.nominal == ('c',)
