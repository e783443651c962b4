"""Units of Collada files, and the same size of a mesh in the checker and on the page."""

import io

import numpy as np
import pytest
from support.collada_files import collada_text, HIGHEST, LOWEST

from ik_service.collision.checked_robot import MeshReader
from ik_service.model.geometry.collada import collada_unit
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import MeshError

UNITS = [
    ('', 1.0),
    ('<unit meter="0.001" name="millimeter"/>', 0.001),
    ('<unit name="inch" meter="0.0254"/>', 0.0254),
    ("<unit  name='centimeter'\n meter = '1e-2' ></unit>", 0.01),
    ('<unit name="meter"/>', 1.0),
    ('<!-- <unit meter="7"/> --><unit meter="2.5"/>', 2.5),
]


@pytest.mark.parametrize(('unit', 'meters'), UNITS)
def test_the_unit_is_that_of_the_document(unit, meters):
    text = collada_text(unit)
    later = '<library_cameras><asset><unit meter="9"/></asset></library_cameras></COLLADA>'
    for written in (text, text.replace('</COLLADA>', later)):
        file = io.BytesIO(written.encode())
        assert collada_unit(file) == meters
        assert file.tell() == 0


@pytest.mark.parametrize('encoding', ['utf-16', 'utf-8-sig'])
def test_the_unit_is_read_in_other_encodings(encoding):
    text = collada_text('<unit meter="0.01"/>').encode(encoding)
    assert collada_unit(io.BytesIO(text)) == 0.01


def test_prefixed_elements_are_read():
    text = '<c:COLLADA><c:asset><c:unit meter="0.1"/></c:asset></c:COLLADA>'
    assert collada_unit(io.BytesIO(text.encode())) == 0.1
    assert collada_unit(io.BytesIO(b'')) == 1.0


@pytest.mark.parametrize('value', ['0', '-1', 'nan', 'inf', 'x', ''])
def test_a_unit_that_is_no_length_is_told(value):
    with pytest.raises(ValueError, match=f'<unit meter="{value}"> is no length'):
        collada_unit(io.BytesIO(collada_text(f'<unit meter="{value}"/>').encode()))


def _assert_size(vertices, factors):
    for corner, found in ((LOWEST, vertices.min(axis=0)), (HIGHEST, vertices.max(axis=0))):
        np.testing.assert_allclose(
            found, np.multiply(corner, factors), atol=1e-4 * np.max(factors)
        )


@pytest.mark.parametrize('suffix', ['dae', 'DAE'])
@pytest.mark.parametrize('up', ['X_UP', 'Y_UP', 'Z_UP'])
@pytest.mark.parametrize(('unit', 'meters'), UNITS)
def test_the_checker_scales_vertices_by_unit_and_urdf(tmp_path, unit, meters, up, suffix):
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    (tmp_path / f'a.{suffix}').write_text(collada_text(unit, up))
    mesh = MeshReader(tmp_path / 'arm.urdf').read(MeshFile(f'a.{suffix}', (1.0, 2.0, 0.5)))
    assert len(mesh.triangles) == 8
    _assert_size(mesh.vertices, np.multiply(meters, (1.0, 2.0, 0.5)))


@pytest.mark.parametrize('up', ['X_UP', 'Y_UP', 'Z_UP'])
@pytest.mark.parametrize(('unit', 'meters'), UNITS)
def test_the_page_shows_the_same_size(tmp_path, unit, meters, up):
    pytest.importorskip('collada', reason='pycollada comes with the extra viewer')
    from ik_service.extras.viewer.scene.meshes import read_mesh

    path = tmp_path / 'a.dae'
    path.write_text(collada_text(unit, up))
    meshes = read_mesh(path, (1.0, 2.0, 0.5))
    _assert_size(np.vstack([mesh.vertices for mesh in meshes]), np.multiply(meters, (1, 2, 0.5)))


def test_a_faulty_unit_is_a_fault_of_the_mesh(tmp_path):
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    (tmp_path / 'a.dae').write_text(collada_text('<unit meter="0"/>'))
    with pytest.raises(MeshError, match='is no length'):
        MeshReader(tmp_path / 'arm.urdf').read(MeshFile('a.dae', (1.0, 1.0, 1.0)))
