import numpy as np
import pytest
from support.solids import binary, DATA, document, text

from ik_service.extras.viewer.scene import meshes
from ik_service.extras.viewer.scene.meshes import MeshError, MeshLoader, read_mesh
from ik_service.model.geometry.link_geometry import MeshFile

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
    monkeypatch.setattr(meshes, 'find_spec', lambda _name: None)
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
    monkeypatch.setattr(meshes, 'LARGEST_FILE', 4)
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
        f'which are packages and {tree}, where the URDF is; it is drawn as a box',
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
    monkeypatch.setattr(meshes, 'LARGEST_SUM', 2 * length)
    warnings = []
    loader = MeshLoader(tree / 'urdf' / 'arm.urdf', warnings.append)
    read = [
        loader.get(MeshFile('../meshes/link 1.stl', (scale, 1.0, 1.0)))
        for scale in (1.0, 2.0, 3.0)
    ]
    assert [len(found) for found in read] == [1, 1, 0]
    assert 'longer than 0 MiB together' in warnings[0]
