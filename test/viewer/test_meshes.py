import numpy as np
import pytest

from ik_service.viewer import meshes
from ik_service.viewer.meshes import find_mesh, MeshError, MeshLibrary, read_mesh
from ik_service.viewer.visuals import MeshFile

trimesh = pytest.importorskip('trimesh', reason='trimesh comes with the extra viewer')


@pytest.fixture
def tree(tmp_path):
    """A source tree with a package, its URDF folder and a mesh of 1 × 2 × 3 m."""
    package = tmp_path / 'arm_description'
    (package / 'urdf').mkdir(parents=True)
    (package / 'meshes').mkdir()
    trimesh.creation.box(extents=(1.0, 2.0, 3.0)).export(package / 'meshes' / 'link 1.stl')
    return package


def extent(mesh):
    return (mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)).tolist()


@pytest.mark.parametrize(
    'name',
    [
        'package://arm_description/meshes/link%201.stl',
        'package://arm_description/meshes/link 1.stl',
        '../meshes/link 1.stl',
    ],
)
def test_finds_a_mesh_in_a_source_tree(tree, name):
    assert find_mesh(name, tree / 'urdf').samefile(tree / 'meshes' / 'link 1.stl')


def test_finds_a_mesh_by_its_full_name(tree):
    path = tree / 'meshes' / 'link 1.stl'
    assert find_mesh(str(path), None) == path
    assert find_mesh(f'file://{path}', None) == path
    assert find_mesh(path.as_uri(), None) == path


@pytest.mark.parametrize('name', ['package://nowhere/a.stl', 'http://x/a.stl', 'a.stl', ''])
def test_a_mesh_that_is_not_there_is_named(tree, name):
    with pytest.raises(MeshError, match=f'the mesh {name} is not found'):
        find_mesh(name, tree / 'urdf')


def test_reads_and_scales(tree):
    path = tree / 'meshes' / 'link 1.stl'
    assert extent(read_mesh(path, (1.0, 1.0, 1.0))) == pytest.approx([1.0, 2.0, 3.0])
    assert extent(read_mesh(path, (0.1, 1.0, 2.0))) == pytest.approx([0.1, 2.0, 6.0])


def test_a_mirrored_mesh_is_not_inside_out(tree):
    for scale in [(1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-1.0, -1.0, 1.0)]:
        mesh = read_mesh(tree / 'meshes' / 'link 1.stl', scale)
        corners = mesh.vertices[mesh.faces]
        volume = np.einsum(
            'ij,ij->', corners[:, 0], np.cross(corners[:, 1], corners[:, 2])
        )  # six times that of the solid; negative inside out
        assert volume == pytest.approx(36.0)


def test_what_is_no_mesh_is_told(tmp_path, monkeypatch):
    nonsense = tmp_path / 'a.stl'
    nonsense.write_text('nonsense')
    with pytest.raises(MeshError, match=r'a\.stl'):
        read_mesh(nonsense, (1.0, 1.0, 1.0))
    unknown = tmp_path / 'a.xyzzy'
    unknown.write_text('nonsense')
    with pytest.raises(MeshError, match='cannot be read'):
        read_mesh(unknown, (1.0, 1.0, 1.0))
    monkeypatch.setattr(meshes, 'LARGEST_FILE', 4)
    with pytest.raises(MeshError, match='longer than'):
        read_mesh(nonsense, (1.0, 1.0, 1.0))


def test_the_library_reports_each_name_once(tree):
    said = []
    library = MeshLibrary(tree / 'urdf', said.append)
    for scale in [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0)]:
        assert library.get(MeshFile('package://nowhere/a.stl', scale)) is None
    assert said == ['the mesh package://nowhere/a.stl is not found; it is drawn as a box']
    good = MeshFile('../meshes/link 1.stl', (1.0, 1.0, 1.0))
    assert library.get(good) is library.get(good)
    assert len(said) == 1
