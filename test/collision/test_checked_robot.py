"""Mesh files of links: read, refused, or skipped on request."""

import itertools
import os

import numpy as np
import pytest
from support.solids import at, binary, cube, DATA, document, slider, solid, text, write_stl

from ik_service import Box, CollisionChecker, Robot, Sphere
from ik_service.collision import checked_robot, mesh_reader
from ik_service.collision.mesh_reader import MeshReader
from ik_service.exceptions import CollisionGeometryError
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import MeshError

pytest.importorskip('coal', reason='Coal comes with the extra collision')

VERTICES, TRIANGLES = cube(2.0)


def mesh(filename, scale=''):
    return solid(f'<mesh filename="{filename}"{scale}/>')


def robot(folder, filename, scale=''):
    path = folder / 'arm.urdf'
    path.write_text(slider(solid(), mesh(filename, scale), gap=3.0))
    return Robot.from_urdf(path)


def obj(path):
    lines = [f'v {x} {y} {z}' for x, y, z in VERTICES.tolist()]
    lines += [f'f {a + 1} {b + 1} {c + 1}' for a, b, c in TRIANGLES.tolist()]
    path.write_text('\n'.join(lines))


@pytest.mark.parametrize('suffix', ['stl', 'STL', 'obj'])
def test_meshes_are_read_and_scaled(tmp_path, suffix):
    path = tmp_path / f'cube.{suffix}'
    obj(path) if suffix == 'obj' else write_stl(path, VERTICES, TRIANGLES)
    checker = CollisionChecker(robot(tmp_path, path.name, ' scale="0.5 0.1 -1"'))
    small = Box((0.02, 0.02, 0.02))
    for place, touches in (
        (at(3.5), True),
        (at(3.52), False),
        (at(3.0, 0.1), True),
        (at(3.0, 0.12), False),
        (at(3.0, 0, -1.0), True),
        (at(3.0), False),  # inside
    ):
        checker.add('probe', small, place)
        assert checker.in_collision({}) == touches


def test_a_mesh_is_read_once(tmp_path):
    write_stl(tmp_path / 'cube.stl', VERTICES, TRIANGLES)
    reader = MeshReader(tmp_path / 'arm.urdf')
    file = MeshFile('cube.stl', (1.0, 1.0, 1.0))
    assert reader.read(file) is reader.read(MeshFile('cube.stl', (1.0, 1.0, 1.0)))
    assert len(reader.read(file).triangles) == 12


@pytest.mark.parametrize('suffix', ['stl', 'dae', 'gltf'])
def test_a_pointer_of_git_lfs_is_named_with_what_fetches_its_content(tmp_path, suffix):
    pointer = f'version https://git-lfs.github.com/spec/v1\noid sha256:{"0" * 64}\nsize 9\n'
    (tmp_path / f'a.{suffix}').write_text(pointer)
    with pytest.raises(MeshError, match=f'a.{suffix} is not there: .* pointer .* `git lfs pull`'):
        MeshReader(tmp_path / 'arm.urdf').read(MeshFile(f'a.{suffix}', (1.0, 1.0, 1.0)))


@pytest.mark.parametrize('suffix', ['glb', 'gltf', 'GLB'])
def test_gltf_is_read_and_scaled(tmp_path, suffix):
    path = tmp_path / f'a.{suffix}'
    path.write_bytes(text(document()) if suffix == 'gltf' else binary(document()))
    found = MeshReader(tmp_path / 'arm.urdf').read(MeshFile(path.name, (0.5, 1.0, -1.0)))
    assert len(found.triangles) == 4
    np.testing.assert_allclose(found.vertices.min(axis=0), [0.0, 0.0, -3.0])
    np.testing.assert_allclose(found.vertices.max(axis=0), [0.5, 2.0, 0.0])
    checker = CollisionChecker(robot(tmp_path, path.name))
    for place, touches in ((at(3.0, 0.0, 2.9), True), (at(3.0, 0.0, 3.1), False)):
        checker.add('probe', Box((0.02, 0.02, 0.02)), place)
        assert checker.in_collision({}) == touches


def separate(uri):
    return text(document(buffers=[{'byteLength': len(DATA), 'uri': uri}]))


def test_buffers_lie_in_the_folder_of_the_gltf_file(tmp_path, monkeypatch):
    folder = tmp_path / 'meshes'
    (folder / 'below').mkdir(parents=True)
    for path in (tmp_path / 'out.bin', folder / 'in.bin', folder / 'below' / 'in.bin'):
        path.write_bytes(DATA)
    (folder / 'link.bin').symlink_to(tmp_path / 'out.bin')
    os.mkfifo(folder / 'pipe.bin')
    mesh_file = MeshFile('meshes/a.gltf', (1.0, 1.0, 1.0))
    for uri in ('in.bin', 'below/in.bin', '../meshes/in.bin', './in%2Ebin'):
        (folder / 'a.gltf').write_bytes(separate(uri))
        assert len(MeshReader(tmp_path / 'arm.urdf').read(mesh_file).triangles) == 4
    for uri, reason in (
        *((name, 'is not in the folder of the mesh') for name in ('../out.bin', '/dev/zero')),
        *(('link.bin', 'is not in the folder'), ('pipe.bin', 'it is a pipe')),
        *(('gone.bin', 'No such file'), ('file:///etc/passwd', 'No such file'), ('', 'is not in')),
    ):
        (folder / 'a.gltf').write_bytes(separate(uri))
        with pytest.raises(MeshError, match=reason):
            MeshReader(tmp_path / 'arm.urdf').read(mesh_file)
    (folder / 'a.gltf').write_bytes(separate('in.bin'))
    size = (folder / 'a.gltf').stat().st_size
    monkeypatch.setattr(mesh_reader, 'LARGEST_SUM', size + len(DATA) - 1)
    with pytest.raises(MeshError, match='together'):
        MeshReader(tmp_path / 'arm.urdf').read(mesh_file)


def test_gltf_without_triangles_is_no_mesh(tmp_path):
    (tmp_path / 'a.glb').write_bytes(binary(document(nodes=[{}])))
    with pytest.raises(MeshError, match='there are 0'):
        MeshReader(tmp_path / 'arm.urdf').read(MeshFile('a.glb', (1.0, 1.0, 1.0)))


def garbage(path):
    path.write_bytes(b'garbage' * 30)


def empty(path):
    path.touch()


def without_numbers(path):
    write_stl(path, VERTICES * np.nan, TRIANGLES)


def too_many_triangles(path):
    """The file says that it holds 100 million, and ends."""
    write_stl(path, VERTICES, TRIANGLES)
    data = bytearray(path.read_bytes())
    data[80:84] = (10**8).to_bytes(4, 'little')
    path.write_bytes(data)


def cut_off(path):
    """Text that ends after its first facet: Coal's reader takes that facet for the whole."""
    lines = ['solid', 'facet normal 0 0 1', 'outer loop', *['vertex 0 0 0'] * 3, 'endloop']
    path.write_text('\n'.join([*lines, 'endfacet', '']))


def folder(path):
    path.mkdir()


def pipe(path):
    os.mkfifo(path)


def outside(path):
    path.symlink_to('/etc/hostname')


def absent(path):
    pass


FAULTS = [garbage, empty, without_numbers, too_many_triangles, cut_off]
FAULTS += [folder, pipe, outside, absent]


@pytest.mark.parametrize('make', FAULTS)
def test_a_mesh_that_cannot_be_used_is_refused_or_skipped(tmp_path, make):
    make(tmp_path / 'link.stl')
    arm = robot(tmp_path, 'link.stl')
    with pytest.raises(CollisionGeometryError, match=r'link\.stl') as caught:
        CollisionChecker(arm)
    assert (caught.value.link, caught.value.file) == ('b', 'link.stl')
    assert '\n' not in str(caught.value)
    checker = CollisionChecker(arm, missing_meshes='skip')
    assert dict(checker.unchecked) == {'b': caught.value.reason}
    checker.add('wall', Box((9.0, 9.0, 0.1)))
    assert checker.contacts({}) == (('a', 'wall'),)


@pytest.mark.parametrize(
    'filename',
    ['package://nobody/link.stl', 'link.xyz', 'http://host/link.stl', '/dev/zero', '../link.stl'],
)
def test_a_mesh_that_must_not_be_read_is_refused(tmp_path, filename):
    write_stl(tmp_path / 'link.xyz', VERTICES, TRIANGLES)
    (tmp_path / 'urdf').mkdir()
    (tmp_path / 'urdf' / 'link.xyz').symlink_to(tmp_path / 'link.xyz')
    with pytest.raises(CollisionGeometryError):
        CollisionChecker(robot(tmp_path / 'urdf', filename))


def test_a_shape_inside_of_another_element_is_not_passed_over(tmp_path):
    visual = f'<visual><geometry><sphere radius="1"/></geometry>{solid()}</visual>'
    arm = Robot.from_urdf(slider(solid(), visual))
    with pytest.raises(CollisionGeometryError, match='inside of another element'):
        CollisionChecker(arm)
    assert [*CollisionChecker(arm, missing_meshes='skip').unchecked] == ['b']


def test_text_without_a_file_has_no_folder_for_meshes():
    arm = Robot.from_urdf(slider(solid(), mesh('link.stl')))
    with pytest.raises(CollisionGeometryError, match='no folder'):
        CollisionChecker(arm)


def test_files_have_limits(tmp_path, monkeypatch):
    write_stl(tmp_path / 'cube.stl', VERTICES, TRIANGLES)
    monkeypatch.setattr(mesh_reader, 'LARGEST_SUM', 1000)
    reader = MeshReader(tmp_path / 'arm.urdf')
    reader.read(MeshFile('cube.stl', (1.0, 1.0, 1.0)))
    with pytest.raises(MeshError, match='together'):
        reader.read(MeshFile('cube.stl', (2.0, 1.0, 1.0)))
    monkeypatch.setattr(mesh_reader, 'LARGEST_FILE', 100)
    with pytest.raises(MeshError, match='longer'):
        MeshReader(tmp_path / 'arm.urdf').read(MeshFile('cube.stl', (1.0, 1.0, 1.0)))


@pytest.mark.parametrize(
    'geometry',
    [
        *('', '<box size="1 1"/>', '<box size="-1 1 1"/>', '<sphere radius="nan"/>', '<capsule/>'),
        *('<cylinder radius="-1" length="1"/>', '<box size="1 1 1"/><sphere radius="1"/>'),
    ],
)
def test_a_faulty_element_is_refused_or_skipped(geometry):
    arm = Robot.from_urdf(slider(solid(), solid(geometry)))
    with pytest.raises(CollisionGeometryError) as caught:
        CollisionChecker(arm)
    assert (caught.value.link, caught.value.file) == ('b', '')
    checker = CollisionChecker(arm, missing_meshes='skip')
    assert (*checker.unchecked,) == ('b',)


def test_shapes_without_extent_are_left_out_and_nothing_else():
    arm = Robot.from_urdf(slider(solid(), solid('<box size="0 1 0"/>') + solid(), gap=0.5))
    checker = CollisionChecker(arm)
    assert checker.unchecked == {}
    assert any('without extent' in remark for remark in arm.remarks)


@pytest.mark.parametrize(
    'shape', ['<box size="0.4 0 0.4"/>', '<cylinder radius="0.2" length="0"/>']
)
def test_plates_are_obstacles(shape):
    arm = Robot.from_urdf(slider(solid(), solid(shape)))
    checker = CollisionChecker(arm)
    for x, touches in ((0.5, True), (0.79, True), (0.81, False)):
        checker.add('ball', Sphere(0.1), at(x))
        assert checker.in_collision({}) == touches
    assert arm.remarks == ()


BOX = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'


def row(*, shapes=('base', 'c')):
    """Three slides in a row, at whose end a box meets that of the base at 0."""
    links = ('base', 'a', 'b', 'c')
    body = ''.join(f'<link name="{link}">{BOX if link in shapes else ""}</link>' for link in links)
    body += ''.join(
        f'<joint name="j_{child}" type="prismatic">'
        f'<parent link="{parent}"/><child link="{child}"/>'
        '<axis xyz="1 0 0"/><limit lower="0" upper="1"/></joint>'
        for parent, child in itertools.pairwise(links)
    )
    return f'<robot name="test">{body}</robot>'


def spelt(how):
    text = row()
    return {
        'plain': text,
        'default': text.replace('<robot ', '<robot xmlns="http://a" '),
        'a prefix': text.replace('<collision', '<u:collision').replace(
            '</collision', '</u:collision'
        ),
        'undeclared elsewhere': text.replace(
            '</robot>', '<gazebo><controller:p3d a:b="c"/></gazebo></robot>'
        ),
        'left-over xacro': text.replace('<link name="c"', '<xacro:arg name="z"/><link name="c"'),
    }[how]


SPELLINGS = (
    'plain', 'default', 'a prefix', 'undeclared elsewhere', 'left-over xacro',
)  # fmt: skip


def checker_of(robot, **kwargs):
    # With an SRDF that disables a pair all others are checked.
    srdf = '<robot name="test"><disable_collisions link1="a" link2="b"/></robot>'
    return CollisionChecker(robot.with_srdf_text(srdf), **kwargs)


@pytest.mark.parametrize('how', SPELLINGS)
def test_shapes_are_seen_however_the_robot_is_spelt(how):
    checker = checker_of(Robot.from_urdf_text(spelt(how)))
    assert checker.contacts([0.0, 0.0, 0.0]) == (('base', 'c'),)
    assert not checker.in_collision([0.5, 0.0, 0.0])
    assert not checker.unchecked


def test_shapes_are_seen_through_xacro(tmp_path):
    pytest.importorskip('xacro')
    path = tmp_path / 'row.urdf.xacro'
    text = spelt('default').replace('<link name="a"></link>', '<xacro:m l="a"/>')
    macro = '<xacro:macro name="m" params="l"><link name="${l}"/></xacro:macro>'
    text = text.replace('<link name="base"', f'{macro}<link name="base"')
    path.write_text(text.replace('xmlns=', 'xmlns:xacro="http://www.ros.org/wiki/xacro" xmlns='))
    checker = checker_of(Robot.from_urdf(path))
    assert checker.contacts([0.0, 0.0, 0.0]) == (('base', 'c'),)


def test_a_checker_with_fewer_shapes_than_the_text_holds_is_refused(monkeypatch):
    robot = Robot.from_urdf_text(row())
    read = checked_robot.read_collision_geometry
    monkeypatch.setattr(checked_robot, 'read_collision_geometry', lambda text: read(text)[:1])
    for missing_meshes in ('refuse', 'skip'):
        with pytest.raises(CollisionGeometryError, match=r'holds 2 .* of which 1'):
            checker_of(robot, missing_meshes=missing_meshes)


@pytest.mark.parametrize(
    ('old', 'new', 'link', 'reason'),
    [
        ('<axis', '<origin xyz="0 0"/><axis', 'c', "joint 'j_a' cannot be placed: <origin> xyz"),
        ('</robot>', f'<link>{BOX}</link></robot>', '<link> at line 1', 'is no link of the robot'),
        ('<box size="0.2 0.2 0.2"/>', '<box/>', 'base', '<box> has no size'),
        ('<geometry>', '<geometry><sphere radius="1"/>', 'base', 'hold one'),
        ('</geometry>', '</geometry><geometry><sphere radius="1"/></geometry>', 'base', 'more th'),
    ],
)
def test_shapes_that_cannot_be_used_are_refused_or_named(old, new, link, reason):
    robot = Robot.from_urdf_text(row().replace(old, new, 1))
    with pytest.raises(CollisionGeometryError, match=reason) as caught:
        checker_of(robot)
    assert caught.value.link == link
    checker = checker_of(robot, missing_meshes='skip')
    assert reason in checker.unchecked[link]


def test_a_joint_that_cannot_move_stands_at_zero():
    text = row().replace(
        '</robot>',
        f'<link name="d">{BOX}</link><joint name="e" type="revolute"><parent link="a"/>'
        '<child link="d"/></joint></robot>',
    )
    robot = Robot.from_urdf_text(text)
    assert robot.remarks == ("joint 'e' cannot be used: a revolute joint needs a <limit>",)
    checker = checker_of(robot)
    reason = f'{robot.remarks[0]}; checked with that joint at zero alone'
    assert dict(checker.unchecked) == {'d': reason}
    assert ('base', 'd') in checker.contacts(np.zeros(3))
    assert checker.contacts([0.5, 0.3, 0.0]) == ()
