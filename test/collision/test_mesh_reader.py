"""Content of mesh files that Coal's reader takes in part or not at all: read whole, or refused."""

import numpy as np
import pytest

from ik_service.collision import collada as collada_reader
from ik_service.collision.mesh_reader import MeshReader
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import MeshError


def read(tmp_path, suffix, content):
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / f'a.{suffix}').write_bytes(data)
    return MeshReader(tmp_path / 'arm.urdf').read(MeshFile(f'a.{suffix}', (1.0, 1.0, 1.0)))


SHOWN = '<instance_geometry url="#g"/>'
ONE = '0 0 0 1 0 0 0 1 0'
TWO = f'{ONE} 5 0 0 6 0 0 5 1 0'


def triangle(first, material='a'):
    """A triangle of three corners in a row; each material is a mesh."""
    return (
        f'<triangles material="{material}" count="1"><input semantic="VERTEX" source="#v" '
        f'offset="0"/><p>{first} {first + 1} {first + 2}</p></triangles>'
    )


FIRST = triangle(0)
FAN = (
    '<trifans count="1"><input semantic="VERTEX" source="#v" offset="0"/>'
    '<p>0 2 3 5 4</p></trifans>'
)


def collada(nodes=f'<node>{SHOWN}</node>', corners=ONE, primitives=FIRST):
    count = len(corners.split())
    return (
        '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        '<library_geometries><geometry id="g"><mesh>'
        f'<source id="s"><float_array id="f" count="{count}">{corners}</float_array>'
        f'<technique_common><accessor source="#f" count="{count // 3}" stride="3">'
        '<param name="X" type="float"/><param name="Y" type="float"/>'
        '<param name="Z" type="float"/></accessor></technique_common></source>'
        f'<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{primitives}'
        '</mesh></geometry></library_geometries><library_visual_scenes>'
        f'<visual_scene id="vs">{nodes}</visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#vs"/></scene></COLLADA>'
    )


def node(inner):
    return f'<node><translate>5 0 0</translate><rotate>0 0 1 0</rotate>{SHOWN}{inner}</node>'


AGAIN = '<instance_node url="#n"/>'
CORNERS = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 0 0\nv 6 0 0\nv 5 1 0\n'

FACET = (
    'facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n'
)
PLY = (
    'ply\nformat {} 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n'
    'element face 2\nproperty list uchar int vertex_indices\nend_header\n'
)
ROWS = '0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 2 1 0\n'
BINARY = np.array(ROWS.split()[:9], '<f4').tobytes() + b'\3\0\0\0\0\1\0\0\0\2\0\0\0' * 2
CAMERA = 'element camera 1\nproperty int n\nelement vertex'


@pytest.mark.parametrize(
    ('suffix', 'content', 'triangles', 'farthest'),
    [
        ('dae', collada(corners=TWO, primitives=FIRST + triangle(3, 'b')), 2, 6.0),
        ('dae', collada(nodes=node(node(node(node(''))))), 4, 21.0),
        (
            'dae',
            collada(nodes=f'<node id="n">{SHOWN}</node>{node(AGAIN)}'),
            3,
            6,
        ),
        ('obj', f'{CORNERS}usemtl a\nf 1 2 3\nusemtl b\nf 4 5 6\n', 2, 6.0),
        ('obj', f'{CORNERS}f 1 2 3\n  f 4 5 \\\r\n6\r\n', 2, 6.0),
        ('obj', f'{CORNERS}f 1 2 3\nf 4 5 \\\n6\n'.replace('\n', '\r'), 2, 6.0),
        ('obj', f'{CORNERS}f 1 2 3\nf 4 5 6\n'.replace('v ', 'v  '), 2, 6.0),  # as of 3ds Max
        ('obj', 'v 9 9 9\nv 0 0 0\nv .5 .5 0\nv 0 1 0\nf -3 -2 -1\n', 1, 0.5),
        ('obj', f'{CORNERS}f 1/-1 2/-1 3/-1\nf 4//1 5//1 6//1\n', 2, 6.0),
        ('stl', f'solid facet vertex\n{FACET}endsolid endfacet\n', 1, 1.0),
        ('ply', PLY.format('ascii') + ROWS.replace('3 2', '\n3 2'), 2, 1.0),
        ('ply', PLY.format('ascii').replace('element vertex', CAMERA) + f'7\n{ROWS}', 2, 1.0),
        ('ply', PLY.format('binary_little_endian').encode() + BINARY, 2, 1.0),
        ('off', f'OFF # c\n#\n3 2 0\n{ROWS}', 2, 1.0),
        ('dae', collada(corners=TWO, primitives=FAN), 3, 6.0),
        ('dae', collada(corners=TWO, primitives=FAN.replace('fans', 'strips')), 3, 6.0),
        (
            'dae',
            collada(f'<node><rotate>0 0 2 180</rotate><scale>-1 1 1</scale>{SHOWN}</node>'),
            1,
            1.0,
        ),
        ('dae', collada(f'<node><lookat>3 0 0 3 0 9 0 1 0</lookat>{SHOWN}</node>'), 1, 3.0),
    ],
)
def test_every_mesh_of_a_file_is_read_with_its_own_corners(
    tmp_path, suffix, content, triangles, farthest
):
    mesh = read(tmp_path, suffix, content)
    assert len(mesh.triangles) == triangles
    assert mesh.vertices[mesh.triangles][..., 0].max() == pytest.approx(farthest)


REFUSED = [
    ('stl', f'solid a\n{FACET}endsolid\nsolid b\n{FACET}', 'cut off'),
    (
        'stl',
        f'solid a\n{FACET}endsolid\n'.replace('endloop', 'vertex 1 1 0\nendloop'),
        'three corners',
    ),
    ('ply', PLY.format('ascii') + ROWS[:-8], 'cut off'),
    ('ply', PLY.format('ascii') + ROWS + '3 0 1 2\n', 'longer'),
    ('ply', PLY.format('ascii') + ROWS.replace('1 2', '1 7'), 'has not 3 of the 3'),
    ('ply', PLY.format('binary_little_endian').encode() + BINARY[:-9], 'cut off'),
    ('ply', PLY.format('ascii') + ROWS.replace('1 0 0\n0', '1 0 0 0\n'), 'longer'),
    ('ply', PLY.format('ascii').replace('end_', f'element x {9**20}\nend_') + ROWS, 'no prop'),
    ('ply', PLY.format('ascii').replace('uchar int', 'uchar float') + ROWS, 'of type float'),
    ('ply', PLY.format('ascii').replace('element face', 'element part') + ROWS, 'and faces'),
    ('ply', PLY.format('ascii').replace('end_', 'element tristrips 0\nend_') + ROWS, 'strips'),
    ('off', f'OFF\n3 1 0\n{ROWS}', 'as many rows'),
    ('off', f'OFF\n3 2 0\n{ROWS.replace("1 2", "1 7")}', 'has not 3 of the 3'),
    *(('obj', f'{CORNERS}f 1 2 3\n{f}', f"'{f}' cannot") for f in ('f 4 5', 'f4 5 6', 'v0 0 0')),
    ('stl', f'solid a\n{FACET}endsolid\n{FACET}endsolid\n', 'cut off'),
    ('obj', f'{CORNERS}v 0 0\nf 1 2 3\n', "'v 0 0' cannot"),
    ('obj', f'{CORNERS}f 1 2 3\nsurf 0 1 0 1 1 2 3\n', 'surf'),
    ('dae', collada(f'<node><skew>45 0 1 0 1 0 0</skew>{SHOWN}</node>'), 'skew'),
    ('dae', collada(primitives=FIRST.replace('<p>', '<p>x ')), 'indices'),
    ('dae', collada(primitives=FIRST.replace('<p>', '<p>0 ')), 'hold 4 corners'),
    ('dae', collada(primitives=FIRST.replace('"1"', '"999999999999"')), 'hold 3 corners'),
    ('dae', collada(f'<node><translate>1,0 0 0</translate>{SHOWN}</node>'), '1,0'),
    ('dae', collada(f'<node><translate>nan 0 0</translate>{SHOWN}</node>'), '3 finite numbers'),
    ('obj', f'v 1{"1" * 1_000_000}e\n', "'v 111.* cannot"),  # and at once
    ('obj', f'{CORNERS}v 0x1 0 0\nf 1 2 3\n', "'v 0x1 0 0' cannot"),
    ('dae', collada().replace('<scene>', '<!-- ').replace('</scene>', '-->'), 'no scene'),
]


@pytest.mark.parametrize(('suffix', 'content', 'reason'), REFUSED)
def test_what_would_be_read_in_part_is_refused(tmp_path, suffix, content, reason):
    with pytest.raises(MeshError, match=reason):
        read(tmp_path, suffix, content)


def test_a_node_in_itself_is_refused_before_it_is_read_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(collada_reader, '_faces', None)
    with pytest.raises(MeshError, match='one in itself'):
        read(tmp_path, 'dae', collada(f'<node id="n">{SHOWN}<instance_node url="#n"/></node>'))


def _turned(x, y, generator):
    """A polygon (n, 3) that is turned by chance, and the area of it."""
    turn = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    return np.c_[x, y, 0 * x] @ turn.T, abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def _star(corners, seed):
    """A polygon with corners in all directions, near and far."""
    generator = np.random.default_rng(seed)
    angles = 2 * np.pi * (np.arange(corners) + generator.uniform(0.0, 0.9, corners)) / corners
    return _turned(
        *generator.uniform(0.1, 1.0, corners) * [np.cos(angles), np.sin(angles)], generator
    )


def _comb(seed):
    """A polygon with many corners on two lines, which rounding puts beside them."""
    x = np.arange(6.0)
    x, y = np.r_[0.0, x, x[::-1]][:-1], np.r_[0.0, np.where(x % 2, 0.2, 3.0), 0 * x][:-1]
    return _turned(x, y, np.random.default_rng(seed))


POLYGONS = [*(_star(4 + 3 * seed, seed) for seed in range(8)), *(_comb(s) for s in (13, 35, 78))]


@pytest.mark.parametrize(('points', 'area'), POLYGONS)
def test_polygons_are_parted_into_triangles_of_their_area(tmp_path, points, area):
    rows = [*('v {} {} {}'.format(*point) for point in points.tolist()), 'f']
    mesh = read(
        tmp_path, 'obj', '\n'.join(rows) + ' '.join(f' {1 + i}' for i in range(len(points)))
    )
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    assert len(mesh.triangles) <= len(points) - 2
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2 == pytest.approx(area)
