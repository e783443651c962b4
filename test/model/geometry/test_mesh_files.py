from contextlib import nullcontext, suppress
import io
import os
from pathlib import Path

import numpy as np
import pytest

from ik_service.collision.mesh_reader import MeshReader
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import collada_unit, MeshError, MeshFiles


def collada_text(unit='', up='Z_UP'):
    """A tetrahedron of 100, 200 and 300 units: nested, turned and doubled; and shown again."""
    points = '0 0 0 100 0 0 0 200 0 0 0 300'
    params = ''.join(f'<param name="{axis}" type="float"/>' for axis in 'XYZ')
    return (
        '<?xml version="1.0"?><COLLADA version="1.4.1"'
        ' xmlns="http://www.collada.org/2005/11/COLLADASchema">'
        '<asset><created>2020-01-01T00:00:00</created><modified>2020-01-01T00:00:00</modified>'
        f'{unit}<up_axis>{up}</up_axis></asset>'
        '<library_geometries><geometry id="g"><mesh><source id="p">'
        f'<float_array id="a" count="12">{points}</float_array><technique_common>'
        f'<accessor source="#a" count="4" stride="3">{params}</accessor></technique_common>'
        '</source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>'
        '<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>'
        '<library_visual_scenes><visual_scene id="s">'
        '<node id="n"><translate>10 0 0</translate><node id="m"><rotate>0 0 1 90</rotate>'
        '<scale>2 2 2</scale><instance_geometry url="#g"/></node></node>'
        '<node id="o"><translate>0 0 500</translate><instance_geometry url="#g"/></node>'
        '</visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


LOWEST, HIGHEST = (-390.0, 0.0, 0.0), (100.0, 200.0, 800.0)
"""Corners of the box around what :func:`collada_text` shows, in its units."""


MESH = 'meshes/link 1.stl'
HOME_FOLDERS = ('installed', 'linked', 'source')


def package(folder, source=None):
    """Make a package; as links into a source, as colcon build --symlink-install does."""
    (folder / 'meshes').mkdir(parents=True)
    (folder / 'urdf').mkdir()
    for name in ('package.xml', MESH, 'urdf/arm.urdf'):
        if source is None:
            (folder / name).write_text(str(folder))
        else:
            (folder / name).symlink_to(source / name)
    return folder


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Packages and what is beside them; ``secret.stl`` may never be found."""
    prefix = tmp_path / 'prefix'
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    source = package(tmp_path / 'ws' / 'linked')
    package(prefix / 'share' / 'linked', source)
    package(prefix / 'share' / 'installed')
    package(tmp_path / 'ws' / 'source')
    for name in ('installed', 'linked'):
        (index / name).touch()
    (tmp_path / 'plain' / 'meshes').mkdir(parents=True)
    (tmp_path / 'plain' / MESH).write_text('plain')
    for folder in (tmp_path, tmp_path / 'ws', prefix, prefix / 'share'):
        (folder / 'secret.stl').write_text('secret')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    pytest.importorskip('ament_index_python', reason='it says where packages are installed')
    return tmp_path


def found(filename, urdf=None):
    return MeshFiles(urdf).find(filename)


def from_topic(filename):
    return found(filename)


def from_file(world, filename):
    return found(filename, world / 'ws' / 'source' / 'urdf' / 'arm.urdf')


@pytest.mark.parametrize('name', ['installed', 'linked'])
@pytest.mark.parametrize(
    'form',
    [
        'package://{}/meshes/link%201.stl',
        'package://{}/meshes/link 1.stl',
        'PACKAGE://{}//meshes/./../meshes/link 1.stl',
        'file://{share}/{}/meshes/link%201.stl',
        'file://localhost{share}/{}/meshes/link%201.stl',
        'file:{share}/{}/meshes/link%201.stl',
        '{share}/{}/meshes/link 1.stl',
    ],
)
def test_a_mesh_of_an_installed_package_is_found(world, name, form):
    share = world / 'prefix' / 'share'
    place = from_topic(form.format(name, share=share))
    assert place.samefile(share / name / MESH)
    assert place == place.resolve()


def test_a_mesh_is_found_around_the_file_of_the_urdf(world):
    own = world / 'ws' / 'source' / MESH
    for name in ('package://source/meshes/link%201.stl', '../meshes/link 1.stl', str(own)):
        assert from_file(world, name) == own
    beside = world / 'ws' / 'linked' / MESH
    assert from_file(world, 'package://linked/meshes/link 1.stl').samefile(beside)
    urdf = world / 'plain' / 'arm.urdf'
    assert found(MESH, urdf) == world / 'plain' / MESH
    assert found(f'./{MESH}', urdf) == world / 'plain' / MESH


@pytest.mark.parametrize('package_name', HOME_FOLDERS)
@pytest.mark.parametrize(
    'path',
    [
        '../secret.stl',
        '../../secret.stl',
        'meshes/../../secret.stl',
        '%2e%2e/secret.stl',
        '%2E%2E%2Fsecret.stl',
        'meshes/%2e%2e/%2e%2e/secret.stl',
        '..%2f..%2fsecret.stl',
        '/../secret.stl',
        '//../secret.stl',
        './../secret.stl',
        '',
        '..',
        '.',
        '../installed-not/secret.stl',
    ],
)
def test_nothing_above_a_package_is_read(world, package_name, path):
    with pytest.raises(MeshError, match='is refused: it lies outside of the folders'):
        from_file(world, f'package://{package_name}/{path}')


@pytest.mark.parametrize(
    'path',
    [
        '%252e%252e/secret.stl',  # decoded once, it is a name like any other
        '%25%32%65%25%32%65/secret.stl',
        '..\\secret.stl',
        '%c0%ae%c0%ae/secret.stl',
        '．．/secret.stl',
        '...',
        'meshes/' + 'a' * 300,
        'a/' * 400,
    ],
)
def test_other_spellings_of_paths_are_refused(world, path):
    with pytest.raises(MeshError, match=r'is not found$'):
        from_topic(f'package://installed/{path}')


@pytest.mark.parametrize(
    'name',
    [
        'package://..',
        'package://../secret.stl',
        'package://%2e%2e/secret.stl',
        'package://./installed/meshes/link 1.stl',
        'package:///secret.stl',
        'package://share%2fsecret.stl/',
        'package://installed%2f..%2f../secret.stl',
        'package://installed@x/a.stl',
        'package://installed:80/a.stl',
        'package://[x/a.stl',
        'package://ws/secret.stl',  # a folder around the URDF that is no package
        'package://plain/meshes/link 1.stl',
        'package:secret.stl',
    ],
)
def test_a_wrong_package_name_is_not_found(world, name):
    with pytest.raises(MeshError, match='is not found: no such package'):
        from_file(world, name)
    with pytest.raises(MeshError, match='is not found'):
        from_topic(name)


@pytest.mark.parametrize(
    'form',
    [
        '{}/secret.stl',
        'file://{}/secret.stl',
        'file:{}/secret.stl',
        'file://localhost{}/secret.stl',
        'file://{}/%73ecret.stl',
        'file://{}/prefix/share/installed/../secret.stl',
        'file://{}/prefix/share/installed/%2e%2e/secret.stl',
        '{}/ws/source/urdf/../../secret.stl',
        '/etc/passwd',
        'file:///dev/zero',
        '/proc/self/environ',
        '/',
        '//etc/passwd',
        'file:////etc/passwd',
    ],
)
def test_no_other_file_is_read_by_its_full_name(world, form):
    with pytest.raises(MeshError, match='is refused: it lies outside of the folders'):
        from_topic(form.format(world))
    with pytest.raises(MeshError, match='is refused: it lies outside of the folders'):
        from_file(world, form.format(world))


def test_nothing_above_the_folder_of_the_urdf_is_read(world):
    for name in ('../secret.stl', 'x/../../secret.stl', 'meshes/../../secret.stl', '..', '.'):
        with pytest.raises(MeshError, match=r'where the URDF is; package_dirs names more$'):
            found(name, world / 'plain' / 'arm.urdf')
    for name in ('../../secret.stl', '../x/../../secret.stl', '../../source-not/secret.stl', '..'):
        with pytest.raises(MeshError, match=r'where the URDF is; package_dirs names more$'):
            from_file(world, name)


def test_a_description_that_came_as_text_has_no_folder(world, monkeypatch):
    monkeypatch.chdir(world)
    for name in ('secret.stl', './secret.stl', 'plain/secret.stl', '~/secret.stl'):
        with pytest.raises(MeshError, match='there is no folder that its name is relative to'):
            from_topic(name)


def test_links_are_followed_before_it_is_decided(world):
    share = world / 'prefix' / 'share'
    out = share / 'installed' / 'meshes' / 'out.stl'
    out.symlink_to(world / 'secret.stl')
    (share / 'linked' / 'up').symlink_to(world)
    for name in ('installed/meshes/out.stl', 'linked/up/secret.stl', 'linked/up/plain/' + MESH):
        with pytest.raises(MeshError, match='is refused: it lies outside of the folders'):
            from_topic(f'package://{name}')
    with pytest.raises(MeshError, match='is refused'):
        from_topic(f'file://{out}')


def test_circular_and_broken_links_are_not_found(world):
    meshes = world / 'prefix' / 'share' / 'installed' / 'meshes'
    (meshes / 'a.stl').symlink_to('b.stl')
    (meshes / 'b.stl').symlink_to('a.stl')
    (meshes / 'c.stl').symlink_to('gone.stl')
    assert os.path.lexists(from_topic('package://installed/meshes/a.stl'))  # not readable
    with pytest.raises(MeshError, match=r'is not found$'):
        from_topic('package://installed/meshes/c.stl')


@pytest.mark.parametrize(
    ('names', 'reason'),
    [
        (
            ('http://x/a.stl', 'ftp://x/a', 'model://a/b', 'data:,x', 'C:/a.stl'),
            'it is named by package://, file:// or a path',
        ),
        (('file://elsewhere/a.stl',), 'the path after file:// has to begin with /'),
        (('', 'file://'), 'the name is empty'),
    ],
)
def test_other_addresses_are_refused(world, names, reason):
    for name in names:
        with pytest.raises(MeshError, match=f'is not found: {reason}'):
            from_file(world, name)


def test_names_with_control_characters(world):
    for name in ('package://installed/a%00.stl', 'a\0.stl', 'package://installed/%0aa.stl'):
        with pytest.raises(MeshError, match='control characters'):
            from_file(world, name)
    with pytest.raises(MeshError, match='longer than 1024 characters') as caught:
        from_file(world, 'package://installed/' + 'a/' * 100_000)
    assert len(str(caught.value)) < 250
    with pytest.raises(MeshError) as caught:
        from_file(world, 'evil\n\x1b[31m[INFO] all is well.stl')
    assert '\n' not in str(caught.value)
    assert '\x1b' not in str(caught.value)


def test_without_an_installation_there_are_no_packages(world, monkeypatch):
    monkeypatch.delenv('AMENT_PREFIX_PATH')
    with pytest.raises(MeshError, match='is not found: no such package'):
        from_topic('package://installed/meshes/link 1.stl')
    with pytest.raises(MeshError, match='is refused'):
        from_topic('/etc/passwd')
    assert from_file(world, f'../{MESH}') == world / 'ws' / 'source' / MESH


def test_a_package_keeps_its_name(world):
    """A folder with the name of a package, but without its manifest, is not taken for it."""
    (world / 'ws' / 'meshes_only' / 'meshes').mkdir(parents=True)
    (world / 'ws' / 'meshes_only' / MESH).write_text('x')
    with pytest.raises(MeshError, match=r'beside the URDF with a package\.xml'):
        from_file(world, f'package://meshes_only/{MESH}')
    assert isinstance(from_file(world, f'package://source/{MESH}'), Path)


PIECES = (
    *('package://', 'file://', 'file:', 'installed', 'linked', 'source', 'ws', 'prefix', 'share'),
    *('..', '.', '/', '//', '%2e', '%2f', '%00', '%', '%25', '\\', '~', ':', '@', '?', '#', ' '),
    *('secret.stl', 'plain', 'meshes', 'link 1.stl', 'urdf', 'up', 'é', '\udcff', '\0', '\n'),
)


def test_any_name_leads_into_a_package_or_nowhere(world):
    share, ws = world / 'prefix' / 'share', world / 'ws'
    (share / 'linked' / 'up').symlink_to(world)
    homes = [share / 'installed', share / 'linked', ws / 'source', ws / 'linked']
    finders = [MeshFiles(None), MeshFiles(ws / 'source' / 'urdf' / 'arm.urdf')]
    rng = np.random.default_rng(3)
    found_some = 0
    for _ in range(1_500):
        pieces = rng.choice([*PIECES, str(world), str(share)], rng.integers(1, 9))
        name = rng.choice(['', 'package://', f'file://{share}/']) + '/'.join(pieces)
        for finder in finders:
            with suppress(MeshError):
                place = finder.find(str(name))
                assert any(home in place.parents for home in homes), name
                found_some += 1
    assert found_some > 5


UNITS = [
    ('', 1.0),
    ('<unit meter="0.001" name="millimeter"/>', 0.001),
    ('<unit name="inch" meter="0.0254"/>', 0.0254),
    ("<unit  name='centimeter'\n meter = '1e-2' ></unit>", 0.01),
    ('<unit name="meter"/>', 1.0),
    ('<!-- <unit meter="7"/> --><unit meter="2.5"/>', 2.5),
    ('<extra><technique profile="x"><unit meter="7"/></technique></extra>', 1.0),
    ('<extra><unit meter="7"/></extra><unit meter="2.5"/>', 2.5),
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
    text = '<c:COLLADA xmlns:c="c"><c:asset><c:unit meter="0.1"/></c:asset></c:COLLADA>'
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
    from ik_service.extras.viewer.scene.parts import read_mesh

    path = tmp_path / 'a.dae'
    path.write_text(collada_text(unit, up))
    meshes = read_mesh(path, (1.0, 2.0, 0.5))
    _assert_size(np.vstack([mesh.vertices for mesh in meshes]), np.multiply(meters, (1, 2, 0.5)))


@pytest.mark.parametrize(
    ('unit', 'more', 'message'),
    [
        ('', '<node><instance_geometry url="b.dae#g"/></node>', 'it shows b.dae#g, which is not'),
        ('', '<!-- <instance_node url="#gone"/> -->', ''),
        ('<unit meter="0"/>', '', 'is no length'),
    ],
)
def test_faults_of_collada_files_are_those_of_the_mesh(tmp_path, unit, more, message):
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    text = collada_text(unit).replace('</visual_scene>', f'{more}</visual_scene>')
    (tmp_path / 'a.dae').write_text(text)
    with pytest.raises(MeshError, match=message) if message else nullcontext():
        MeshReader(tmp_path / 'arm.urdf').read(MeshFile('a.dae', (1.0, 1.0, 1.0)))
