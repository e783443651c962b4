"""What is drawn of a robot: mesh files, visuals and collision shapes, and their models."""

from dataclasses import replace

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.page.browser import project
from support.solids import binary, DATA, document, text
from support.urdf_texts import joint_xml, robot_xml

from ik_service import Robot
from ik_service.extras.viewer.scene import parts as drawn_parts
from ik_service.extras.viewer.scene.parts import (
    collision_parts,
    DrawnMesh,
    MeshError,
    MeshLoader,
    read_mesh,
    read_visuals,
    robot_parts,
    skeleton,
)
from ik_service.model.description import read_description
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.solids import Box, Cylinder, Sphere

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.common.transforms import rigid_transform
from ik_service.extras.viewer.scene.parts import DrawnPart
from ik_service.extras.viewer.scene.scene import (
    ArmModel,
    GHOST,
    RobotScene,
    TipTrail,
    WorldModel,
)

trimesh = pytest.importorskip('trimesh', reason='trimesh comes with the extra viewer')


@pytest.fixture
def tree(tmp_path):
    """A package in a source tree, with a mesh of 1 × 2 × 3 m."""
    package = tmp_path / 'arm_description'
    (package / 'urdf').mkdir(parents=True)
    (package / 'package.xml').write_text('<package/>')
    (package / 'meshes').mkdir()
    trimesh.creation.box(extents=(1.0, 2.0, 3.0)).export(package / 'meshes' / 'link 1.stl')
    return package


def extent(meshes):
    (mesh,) = meshes
    return (mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)).tolist()


def test_reads_and_scales(tree):
    path = tree / 'meshes' / 'link 1.stl'
    assert extent(read_mesh(path, (1.0, 1.0, 1.0))) == pytest.approx([1.0, 2.0, 3.0])
    assert extent(read_mesh(path, (0.1, 1.0, 2.0))) == pytest.approx([0.1, 2.0, 6.0])


def test_a_mirrored_mesh_is_not_inside_out(tree):
    for scale in [(1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-1.0, -1.0, 1.0)]:
        (mesh,) = read_mesh(tree / 'meshes' / 'link 1.stl', scale)
        corners = mesh.vertices[mesh.faces]
        volume = np.einsum(
            'ij,ij->', corners[:, 0], np.cross(corners[:, 1], corners[:, 2])
        )  # six times that of the solid; negative inside out
        assert volume == pytest.approx(36.0)


RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
TRIANGLE = """
  <geometry id="g{0}"><mesh>
    <source id="p{0}"><float_array id="f{0}" count="9">0 0 {0} 1 0 {0} 0 1 {0}</float_array>
      <technique_common><accessor source="#f{0}" count="3" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v{0}"><input semantic="POSITION" source="#p{0}"/></vertices>
    <triangles count="1" material="m"><input semantic="VERTEX" source="#v{0}" offset="0"/>
      <p>0 1 2</p></triangles></mesh></geometry>"""
EFFECT = """
  <effect id="e{0}"><profile_COMMON><technique sid="c"><phong><diffuse>
    <color>{1} {2} {3} 1</color></diffuse></phong></technique></profile_COMMON></effect>"""
NODE = """
  <node><instance_geometry url="#g{0}"><bind_material><technique_common>
    <instance_material symbol="m" target="#m{0}"/></technique_common></bind_material>
  </instance_geometry></node>"""


def collada(colors):
    """A Collada file with a triangle of each colour, one above the other."""
    count = range(len(colors))
    effects = ''.join(EFFECT.format(k, *color) for k, color in enumerate(colors))
    materials = ''.join(
        f'<material id="m{k}"><instance_effect url="#e{k}"/></material>' for k in count
    )
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset/>
<library_effects>{effects}</library_effects><library_materials>{materials}</library_materials>
<library_geometries>{''.join(TRIANGLE.format(k) for k in count)}</library_geometries>
<library_visual_scenes><visual_scene id="s">{''.join(NODE.format(k) for k in count)}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_the_parts_of_a_file_keep_their_colours(tmp_path):
    pytest.importorskip('collada', reason='pycollada comes with the extra viewer')
    path = tmp_path / 'a.dae'
    path.write_text(collada([RED, BLUE, RED]))
    red, blue = read_mesh(path, (1.0, 1.0, 2.0))
    assert (red.color, len(red.faces)) == (RED, 2)
    assert (blue.color, len(blue.faces)) == (BLUE, 1)
    assert sorted(red.vertices[red.faces][:, 0, 2].tolist()) == [0.0, 4.0]
    assert blue.vertices[blue.faces][0, :, 2].tolist() == [2.0, 2.0, 2.0]


def test_a_file_with_too_many_colours_has_none(tmp_path):
    pytest.importorskip('collada', reason='pycollada comes with the extra viewer')
    path = tmp_path / 'a.dae'
    path.write_text(collada([(k / 40, 0.0, 0.0) for k in range(40)]))
    (mesh,) = read_mesh(path, (1.0, 1.0, 1.0))
    assert (mesh.color, len(mesh.faces)) == (None, 40)


def test_a_collada_file_without_its_reader_names_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / 'a.dae'
    path.write_text(collada([RED]))
    monkeypatch.setattr(drawn_parts, 'find_spec', lambda _name: None)
    with pytest.raises(MeshError, match=r'pycollada.*ik_service\[viewer\]'):
        read_mesh(path, (1.0, 1.0, 1.0))


def test_a_file_without_a_mesh_is_an_error(tmp_path, monkeypatch):
    nonsense = tmp_path / 'a.stl'
    nonsense.write_text('nonsense')
    with pytest.raises(MeshError, match=r'a\.stl holds no triangles'):
        read_mesh(nonsense, (1.0, 1.0, 1.0))
    unknown = tmp_path / 'a.xyzzy'
    unknown.write_text('nonsense')
    with pytest.raises(MeshError, match='cannot be read'):
        read_mesh(unknown, (1.0, 1.0, 1.0))
    monkeypatch.setattr(drawn_parts, 'LARGEST_FILE', 4)
    with pytest.raises(MeshError, match='longer than'):
        read_mesh(nonsense, (1.0, 1.0, 1.0))


def test_the_loader_reports_each_name_once(tree):
    warnings = []
    loader = MeshLoader(tree / 'urdf' / 'arm.urdf', warnings.append)
    for scale in [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0)]:
        assert loader.get(MeshFile('../meshes/gone.stl', scale)) == ()
        assert loader.get(MeshFile('/etc/passwd', scale)) == ()
    assert warnings == [
        'the mesh ../meshes/gone.stl is not found; it is drawn as a box',
        'the mesh /etc/passwd is refused: it lies outside of the folders that meshes come from, '
        f'which are packages and {tree}, where the URDF is; package_dirs names more; it is drawn '
        'as a box',
    ]
    good = MeshFile('../meshes/link 1.stl', (1.0, 1.0, 1.0))
    assert loader.get(good) is loader.get(good) != ()
    assert len(warnings) == 2


@pytest.mark.parametrize('suffix', ['glb', 'gltf'])
def test_gltf_has_the_size_and_the_colours_of_its_materials(tmp_path, suffix):
    primitive = document()['meshes'][0]['primitives'][0]
    found = document(
        meshes=[{'primitives': [{**primitive, 'material': number} for number in (0, 1, 0)]}],
        materials=[
            {'pbrMetallicRoughness': {'baseColorFactor': [*color, 1]}} for color in (RED, BLUE)
        ],
        nodes=[{'mesh': 0, 'scale': [10, 10, 10]}],
    )
    path = tmp_path / f'a.{suffix}'
    path.write_bytes(text(found) if suffix == 'gltf' else binary(found))
    red, blue = read_mesh(path, (0.1, -0.1, 0.1))
    assert (red.color, len(red.faces), blue.color, len(blue.faces)) == (RED, 8, BLUE, 4)
    assert extent([blue]) == pytest.approx([1.0, 2.0, 3.0])
    a, b, c = np.moveaxis(blue.vertices[blue.faces], 1, 0)
    assert np.einsum('ij,ij->', a, np.cross(b, c)) == pytest.approx(6.0)


def test_files_that_a_mesh_names_lie_in_its_folder(tmp_path):
    folder = tmp_path / 'meshes'
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / 'c.mtl').write_text('newmtl red\nKd 1 0 0\n')
        (place / 'a.bin').write_bytes(DATA)
    shape = 'mtllib {}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl red\nf 1/1 2/1 3/1\n'
    for name, is_red in (('c.mtl', True), ('../c.mtl', False), ('gone.mtl', False)):
        (folder / 'a.obj').write_text(shape.format(name))
        (mesh,) = read_mesh(folder / 'a.obj', (1.0, 1.0, 1.0))
        assert (mesh.color == RED) == is_red
    for name, is_read in (('a.bin', True), ('../a.bin', False), ('gone.bin', False)):
        found = document(buffers=[{'byteLength': len(DATA), 'uri': name}])
        (folder / 'a.gltf').write_bytes(text(found))
        if is_read:
            assert extent(read_mesh(folder / 'a.gltf', (1.0, 1.0, 1.0))) == [1.0, 2.0, 3.0]
        else:
            with pytest.raises(MeshError, match=r'cannot be read: .*(in the folder|No such file)'):
                read_mesh(folder / 'a.gltf', (1.0, 1.0, 1.0))


def test_archives_are_not_unpacked(tmp_path):
    (tmp_path / 'a.zip').write_bytes(b'PK')
    with pytest.raises(MeshError, match=r'it is none of \.stl, \.dae'):
        read_mesh(tmp_path / 'a.zip', (1.0, 1.0, 1.0))


def test_all_meshes_together_are_bounded(tree, monkeypatch):
    length = (tree / 'meshes' / 'link 1.stl').stat().st_size
    monkeypatch.setattr(drawn_parts, 'LARGEST_SUM', 2 * length)
    warnings = []
    loader = MeshLoader(tree / 'urdf' / 'arm.urdf', warnings.append)
    read = [
        loader.get(MeshFile('../meshes/link 1.stl', (scale, 1.0, 1.0)))
        for scale in (1.0, 2.0, 3.0)
    ]
    assert [len(found) for found in read] == [1, 1, 0]
    assert 'longer than 0 MiB together' in warnings[0]


ARMS = sorted((REPOSITORY / 'urdf').glob('*.urdf'))


def robot(visual, materials=''):
    return f'<robot name="r">{materials}<link name="a"><visual>{visual}</visual></link></robot>'


def only(text):
    (visual,), warnings = read_visuals(read_description(text))
    assert not warnings
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
        ('<geometry><mesh filename="a.stl" scale="0 1 0"/></geometry>', 'it has no extent: 0 1 0'),
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
    description = read_description(robot(visual).replace('</link>', f'{good}</link>'))
    (shown,), (warning,) = read_visuals(description)
    assert shown.geometry == Sphere(1.0)
    assert warning.startswith("link 'a': a visual is not shown")
    assert words in warning
    assert capfd.readouterr().err == ''


def test_unknown_elements_are_ignored_silently(capfd):
    extra = '<gazebo reference="a"/><custom x="1"><y/></custom>'
    text = robot('<custom/><geometry><sphere radius="1"/></geometry>', extra)
    assert len(read_visuals(read_description(text))[0]) == 1
    assert capfd.readouterr().err == ''


@pytest.mark.parametrize('path', ARMS, ids=lambda path: path.stem)
def test_all_visuals_of_our_own_arms_are_read(path):
    visuals, warnings = read_visuals(read_description(path.read_text()))
    assert not warnings
    assert len(visuals) > 6
    assert all(visual.color for visual in visuals)


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
    return Robot.from_urdf(text), read_visuals(read_description(text))[0]


def test_collision_shapes_are_parts_without_what_is_faulty_or_has_no_extent():
    shapes = [
        '<sphere radius="0.1"/>',
        '<box size="1 0 0"/>',
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
        ('b', DrawnMesh),
        ('b', Box),
    ]
    assert len(warnings) == 1


def test_a_capsule_is_drawn_as_triangles():
    capsule = '<visual><geometry><capsule radius="0.1" length="0.5"/></geometry></visual>'
    (part,) = robot_parts(*read(capsule), MeshLoader(None, print))
    assert isinstance(part.geometry, DrawnMesh)
    np.testing.assert_allclose(np.ptp(part.geometry.vertices, axis=0), [0.2, 0.2, 0.7], atol=1e-6)


@pytest.mark.parametrize('size', [0.01, 1.0])
def test_a_robot_without_visuals_is_a_skeleton_in_proportion(size):
    parts = robot_parts(*read(), MeshLoader(None, print, size=size))
    bones = [part for part in parts if isinstance(part.geometry, Cylinder)]
    assert [(part.link, part.geometry.height) for part in bones] == [('a', 0.4), ('b', 0.3)]
    balls = [part.geometry.radius for part in parts if isinstance(part.geometry, Sphere)]
    assert balls == [0.035 * size] * 2
    assert bones[0].geometry.radius == 0.02 * size


def test_a_rail_is_a_bone_of_the_skeleton():
    rail, ball = skeleton(Robot.from_urdf(robot_xml(joint_xml(kind='prismatic'))))
    assert (rail.geometry.height, ball.link) == (3.0, 'base')
    assert rail.T_link_geometry[:3, 3].tolist() == [0.5, 0.0, 0.0]


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


FACE = DrawnMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], dtype=np.uint32))


@pytest.fixture
def scene(server):
    return server.scene


def parts():
    geometries = (Box((1.0, 2.0, 3.0)), Cylinder(0.1, 0.4), Sphere(0.2), FACE)
    links = ('base', 'base', 'arm/upper', 'arm/upper')
    return [
        DrawnPart(link, geometry, np.eye(4), (1.0, 0.5, 0.0))
        for link, geometry in zip(links, geometries, strict=True)
    ]


def at(x, angle=0.0):
    T = np.eye(4)
    T[0, 3] = x
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return T


def test_parts_move_with_their_links(scene):
    arm = ArmModel(scene, '/arm', ['base', 'bare', 'arm/upper'], parts())
    assert not arm.root.visible
    arm.root.visible = True
    arm.place({'base': at(1.0), 'bare': at(2.0), 'arm/upper': at(3.0, np.pi / 2)})
    assert scene.get_handle_by_name('/arm').visible
    upper = scene.get_handle_by_name('/arm/1')
    assert upper.position.tolist() == [3.0, 0.0, 0.0]
    assert np.allclose(np.abs(upper.wxyz), [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    assert scene.get_handle_by_name('/arm/0/1').radius == 0.1


def test_a_ghost_shows_only_where_it_differs(scene):
    ghost = ArmModel(scene, '/ghost', ['base', 'arm/upper'], parts(), GHOST)
    here = {'base': at(0.0), 'arm/upper': at(1.0)}
    ghost.place({**here, 'arm/upper': at(1.0, 0.1)}, beside=here)
    assert not scene.get_handle_by_name('/ghost/0').visible
    assert scene.get_handle_by_name('/ghost/1').visible
    assert scene.get_handle_by_name('/ghost/0/0').opacity == GHOST.opacity


@pytest.mark.parametrize(('size', 'shown'), [(0.01, True), (1.0, False), (50.0, False)])
def test_a_ghost_of_a_small_arm_shows_small_differences(scene, size, shown):
    ghost = ArmModel(scene, '/ghost', ['base'], parts()[:2], GHOST, size)
    ghost.place({'base': at(0.002)}, beside={'base': at(0.0)})
    assert scene.get_handle_by_name('/ghost/0').visible == shown


@pytest.mark.parametrize('size', [0.005, 1.0, 60.0])
@pytest.mark.parametrize(
    ('base', 'up'),
    [((0, 0, 0), 0.9), ((4, -3, 1), 0.85), ((0, 1, 3), -0.85), ((0, 0, -7), 0.9)],
)
def test_the_camera_sees_arms_of_any_size_wherever_they_stand(server, size, base, up):
    first_joint = size * np.array(base)
    RobotScene(server, ['base'], parts()[:1], size, first_joint, lambda *_: None)
    camera = server.initial_camera
    points = first_joint + size * np.array([[0.0] * 3, [0.0, 0.0, up], [0.4, 0.0, 0.0]])
    eye, look_at = np.array(camera.position), np.array(camera.look_at)
    seen = project(points, eye, look_at, camera.fov, (500, 500))
    assert ((seen > 0.0) & (seen < 500.0)).all()
    assert np.linalg.norm(seen[1] - seen[0]) > 100.0
    assert camera.near < np.linalg.norm(points - eye, axis=1).min() / 10.0
    assert camera.far > np.linalg.norm(points - eye, axis=1).max() * 10.0
    ground = server.scene.get_handle_by_name('/ground')
    assert 0.03 * size < ground.cell_size < 0.4 * size


def test_it_can_be_removed_and_added_again(scene):
    ArmModel(scene, '/arm', ['base'], parts()[:1]).root.remove()
    assert scene.get_handle_by_name('/arm/0') is None
    ArmModel(scene, '/arm', ['base'], parts()[:1]).place({'base': at(5.0)})
    assert scene.get_handle_by_name('/arm/0').position[0] == 5.0


def test_a_robot_without_visible_parts(scene):
    ArmModel(scene, '/arm', ['base'], []).place({'base': at(0.0)})


def test_links_are_highlighted_and_get_their_colours_back(scene):
    arm = ArmModel(scene, '/arm', ['base', 'arm/upper'], parts())
    base, upper = scene.get_handle_by_name('/arm/0/0'), scene.get_handle_by_name('/arm/1/2')
    own = upper.color
    arm.highlight(frozenset({'arm/upper', 'bare'}))
    assert upper.color != own
    assert base.color == own
    arm.highlight(frozenset({'base'}))
    assert upper.color == own
    assert base.color != own


POSES = {'base': np.eye(4), 'arm/hand': rigid_transform(None, (0, 0, 1))}
GREEN = (0.0, 1.0, 0.0)


def part(link, geometry, x=0.0, color=GREEN):
    return DrawnPart(link, geometry, rigid_transform(None, (x, 0, 0)), color)


def test_attached_parts_move_with_their_links(scene):
    world = WorldModel(scene, '/world')
    world.show([part('base', Box((1, 2, 3)), 1.0), part('arm/hand', Sphere(0.1), 2.0)], POSES)
    box, ball = (scene.get_handle_by_name(f'/world/{i}') for i in range(2))
    assert ball.position.tolist() == [2.0, 0.0, 1.0]
    world.place({**POSES, 'arm/hand': rigid_transform(None, (0, 0, 4))})
    assert ball.position.tolist() == [2.0, 0.0, 4.0]
    assert box.position.tolist() == [1.0, 0.0, 0.0]
    assert world.root is scene.get_handle_by_name('/world')
    assert world.root.visible


def test_colours_and_poses_change_in_place_and_shapes_are_exchanged(scene):
    world = WorldModel(scene, '/world')
    parts = [part('base', FACE), part('base', Box((1, 2, 3))), part('base', Sphere(0.1))]
    world.show(parts, POSES)
    nodes = [scene.get_handle_by_name(f'/world/{i}') for i in range(3)]
    moved = part('base', DrawnMesh(FACE.vertices.copy(), FACE.faces), 5.0, RED)
    world.show([moved, part('base', Sphere(0.2))], POSES)
    assert scene.get_handle_by_name('/world/0') is nodes[0]
    assert nodes[0].color == (255, 0, 0)
    assert nodes[0].position.tolist() == [5.0, 0.0, 0.0]
    assert scene.get_handle_by_name('/world/1').radius == 0.2
    assert scene.get_handle_by_name('/world/2') is None
    world.show([replace(moved, opacity=0.5)], POSES)
    assert scene.get_handle_by_name('/world/0').opacity == 0.5
    world.root.remove()
    assert scene.get_handle_by_name('/world') is None


def test_parts_of_links_that_the_robot_does_not_have_are_not_shown(scene):
    world = WorldModel(scene, '/world')
    world.show([part('nowhere', Sphere(0.1)), part('base', Sphere(0.2))], POSES)
    assert scene.get_handle_by_name('/world/0').radius == 0.2
    assert scene.get_handle_by_name('/world/1') is None
    world.place(POSES)


def test_segments_have_a_least_length_and_the_oldest_are_dropped():
    trail = TipTrail(length=3, step=0.09)
    assert trail.segments().shape == (0, 2, 3)
    assert trail.add(np.zeros(3))
    assert not trail.add(np.array([0.05, 0.0, 0.0]))
    for x in (0.1, 0.2, 0.3, 0.4):
        assert trail.add(np.array([x, 0.0, 0.0]))
    segments = trail.segments()
    assert np.allclose(segments[:, :, 0], [[0.1, 0.2], [0.2, 0.3], [0.3, 0.4]])
    colors = trail.colors((200, 0, 0), (100, 0, 0))
    assert colors.shape == segments.shape
    assert colors[0, 0, 0] == 100
    assert colors[-1, -1, 0] == 200
    trail.clear()
    assert len(trail.segments()) == 0
