import os
import time

import numpy as np
import pytest

from ik_service.viewer.scene import meshes
from ik_service.viewer.scene.meshes import MeshError, MeshLoader, read_mesh
from ik_service.viewer.scene.visuals import MeshFile

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


def extent(mesh):
    return (mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)).tolist()


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
    with pytest.raises(MeshError, match=r'a\.stl holds no triangles'):
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
    library = MeshLoader(tree / 'urdf' / 'arm.urdf', said.append)
    for scale in [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0)]:
        assert library.get(MeshFile('../meshes/gone.stl', scale)) is None
        assert library.get(MeshFile('/etc/passwd', scale)) is None
    assert said == [
        'the mesh ../meshes/gone.stl is not found; it is drawn as a box',
        'the mesh /etc/passwd is refused: it lies outside of the folders that meshes come from, '
        f'which are packages and {tree}, where the URDF is; it is drawn as a box',
    ]
    good = MeshFile('../meshes/link 1.stl', (1.0, 1.0, 1.0))
    assert library.get(good) is library.get(good) is not None
    assert len(said) == 2


def test_a_pipe_and_a_folder_are_no_meshes(tree):
    os.mkfifo(tree / 'meshes' / 'pipe.stl')
    (tree / 'meshes' / 'folder.stl').mkdir()
    said = []
    library = MeshLoader(tree / 'urdf' / 'arm.urdf', said.append)
    for name in ('pipe', 'folder'):
        assert library.get(MeshFile(f'../meshes/{name}.stl', (1.0, 1.0, 1.0))) is None
    assert len(said) == 2
    assert 'pipe.stl cannot be read: it is a pipe, and a regular file is needed' in said[0]
    assert 'folder.stl cannot be read: it is a folder' in said[1]


def test_archives_are_not_unpacked(tmp_path):
    (tmp_path / 'a.zip').write_bytes(b'PK')
    with pytest.raises(MeshError, match=r'it is none of \.stl, \.dae'):
        read_mesh(tmp_path / 'a.zip', (1.0, 1.0, 1.0))


def test_all_meshes_together_are_bounded(tree, monkeypatch):
    length = (tree / 'meshes' / 'link 1.stl').stat().st_size
    monkeypatch.setattr(meshes, 'LARGEST_SUM', 2 * length)
    said = []
    library = MeshLoader(tree / 'urdf' / 'arm.urdf', said.append)
    read = [
        library.get(MeshFile('../meshes/link 1.stl', (scale, 1.0, 1.0)))
        for scale in (1.0, 2.0, 3.0)
    ]
    assert [mesh is not None for mesh in read] == [True, True, False]
    assert 'longer than 0 MiB together' in said[0]


def test_ten_thousand_bad_names_take_no_time(tree):
    said = []
    library = MeshLoader(tree / 'urdf' / 'arm.urdf', said.append)
    start = time.process_time()
    for number in range(10_000):
        assert library.get(MeshFile(f'{number}.stl', (1.0, 1.0, 1.0))) is None
    assert time.process_time() - start < 5.0
    assert len(said) == 10_000
