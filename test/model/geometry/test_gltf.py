"""glTF files: read as the specification says, or refused."""

import json

import numpy as np
import pytest
from support.solids import binary, changed, DATA, data_uri, document, text, TRIANGLES, VERTICES

from ik_service.model.geometry import gltf
from ik_service.model.geometry.gltf import GltfError, read_gltf

HALF = 0.5**0.5


def nothing_beside(name):
    raise AssertionError(name)


def read(document, beside=nothing_beside):
    """The corners (F, 3, 3) of all triangles."""
    parts = read_gltf(document if isinstance(document, bytes) else text(document), beside)
    return np.concatenate([part.vertices[part.triangles] for part in parts])


def box(corners):
    return corners.min(axis=(0, 1)).tolist(), corners.max(axis=(0, 1)).tolist()


PLAIN = VERTICES[TRIANGLES]


@pytest.mark.parametrize(
    'content',
    [
        text(document()),
        binary(document()),
        binary(document()) + b'more',
        b' ' + text(document()),
        text(document(scene=None)),
        text(document(extensionsRequired=['KHR_materials_unlit', 'KHR_texture_transform'])),
        text(document(extensionsUsed=['KHR_draco_mesh_compression'])),  # with what stands in
    ],
)
def test_text_and_binary_files_are_read(content):
    np.testing.assert_array_equal(read(content), PLAIN)


def test_buffers_beside_the_file_are_read_once():
    names = []
    uri = 'a%20b.bin'
    found = read(
        document(buffers=[{'byteLength': len(DATA), 'uri': uri}]),
        lambda name: names.append(name) or DATA,
    )
    np.testing.assert_array_equal(found, PLAIN)
    assert names == ['a b.bin']


@pytest.mark.parametrize(
    ('nodes', 'lowest', 'highest'),
    [
        ([{'mesh': 0, 'scale': [0.1, 1, 2], 'translation': [1, 0, 0]}], (1, 0, 0), (1.1, 2, 6)),
        ([{'mesh': 0, 'rotation': [HALF, 0, 0, HALF]}], (0, -3, 0), (1, 0, 2)),
        ([{'mesh': 0, 'rotation': [3, 0, 0, 3]}], (0, -3, 0), (1, 0, 2)),
        (
            [
                {'children': [1], 'rotation': [HALF, 0, 0, HALF]},
                {'mesh': 0, 'translation': [0, 0, 1]},
            ],
            (0, -4, 0),
            (1, -1, 2),
        ),
        (
            [{'mesh': 0, 'matrix': [2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1]}],
            (5, 6, 7),
            (7, 12, 19),
        ),
        (
            [{'mesh': 0, 'children': [1]}, {'mesh': 0, 'translation': [9, 0, 0]}],
            (0, 0, 0),
            (10, 2, 3),
        ),
        ([{'mesh': 0}, {'mesh': 0, 'translation': [9, 0, 0]}], (0, 0, 0), (1, 2, 3)),  # not shown
    ],
)
def test_meshes_stand_where_their_nodes_are(nodes, lowest, highest):
    corners = box(read(document(nodes=nodes)))
    np.testing.assert_allclose(corners, [lowest, highest], atol=1e-6)


def test_the_scene_that_is_named_counts():
    nodes = [{'mesh': 0}, {'mesh': 0, 'translation': [9, 0, 0]}]
    found = read(document(nodes=nodes, scenes=[{'nodes': [0]}, {'nodes': [1]}], scene=1))
    np.testing.assert_array_equal(found, np.add(PLAIN, [9, 0, 0]))


def signed_volume(corners):
    a, b, c = np.moveaxis(corners, 1, 0)
    return np.einsum('ij,ij->', a, np.cross(b, c)) / 6


def test_mirrored_meshes_are_not_inside_out():
    assert signed_volume(PLAIN) == pytest.approx(1.0)
    assert signed_volume(
        read(document(nodes=[{'mesh': 0, 'scale': [1, -1, 1]}]))
    ) == pytest.approx(1)


@pytest.mark.parametrize(
    ('mode', 'rows', 'expected'),
    [
        (4, [0, 1, 2, 1, 3, 2], [[0, 1, 2], [1, 3, 2]]),
        (5, [0, 1, 2, 3, 1], [[0, 1, 2], [1, 3, 2], [2, 3, 1]]),
        (6, [0, 1, 2, 3], [[1, 2, 0], [2, 3, 0]]),
        (6, [0, 1], np.empty((0, 3), int)),
    ],
)
def test_lists_strips_and_fans(mode, rows, expected):
    primitive = {'attributes': {'POSITION': 0}, 'indices': 1, 'mode': mode}
    data = VERTICES.tobytes() + np.array(rows, '<u2').tobytes()
    found = document(data, meshes=[{'primitives': [primitive]}])
    found['bufferViews'][1]['byteLength'] = 2 * len(rows)
    found['accessors'][1]['count'] = len(rows)
    np.testing.assert_array_equal(read(found), VERTICES[expected])


def test_vertices_in_a_row_need_no_indices_and_lines_are_left_out():
    triangle = {'attributes': {'POSITION': 0}}
    found = document(
        meshes=[{'primitives': [triangle, *({**triangle, 'mode': m} for m in range(4))]}]
    )
    found['accessors'][0]['count'] = 3
    np.testing.assert_array_equal(read(found), VERTICES[None, :3])


@pytest.mark.parametrize(
    ('dtype', 'component', 'normalized', 'factor'),
    [
        ('<i2', 5122, False, 1.0),
        ('<u2', 5123, True, 1 / 65535),
        ('i1', 5120, True, 1 / 127),
        ('u1', 5121, False, 1.0),
    ],
)
def test_quantised_vertices_in_rows_that_are_longer(dtype, component, normalized, factor):
    rows = np.zeros((4, 8), dtype)
    rows[:, :3] = VERTICES
    found = document(rows.tobytes() + TRIANGLES.tobytes())
    view, accessor = found['bufferViews'][0], found['accessors'][0]
    view.update(byteLength=rows.nbytes, byteStride=rows.strides[0])
    found['bufferViews'][1]['byteOffset'] = rows.nbytes
    accessor.update(componentType=component, normalized=normalized)
    found['extensionsRequired'] = ['KHR_mesh_quantization']
    np.testing.assert_allclose(read(found), PLAIN.astype(float) * factor, rtol=1e-12)


@pytest.mark.parametrize('on_zeros', [False, True])
def test_sparse_values_replace_others(on_zeros):
    data = (
        DATA
        + np.array([0, 3], '<u2').tobytes()
        + np.array([[-9, 0, 0], [0, 0, 9]], '<f4').tobytes()
    )
    found = document(data)
    found['bufferViews'] += [
        {'buffer': 0, 'byteOffset': 72, 'byteLength': 4},
        {'buffer': 0, 'byteOffset': 76, 'byteLength': 24},
    ]
    found['accessors'][0]['sparse'] = {
        'count': 2,
        'indices': {'bufferView': 2, 'componentType': 5123},
        'values': {'bufferView': 3},
    }
    expected = VERTICES.copy()
    if on_zeros:
        del found['accessors'][0]['bufferView']
        expected[:] = 0
    expected[[0, 3]] = [[-9, 0, 0], [0, 0, 9]]
    np.testing.assert_array_equal(read(found), expected[TRIANGLES])


def test_colours_of_materials():
    materials = [{'pbrMetallicRoughness': {'baseColorFactor': [0.1, 2.0, 0.3, 1]}}, {}]
    primitive = document()['meshes'][0]['primitives'][0]
    primitives = [{**primitive, 'material': 0}, {**primitive, 'material': 1}, primitive]
    parts = read_gltf(
        text(document(materials=materials, meshes=[{'primitives': primitives}])), nothing_beside
    )
    assert [part.color for part in parts] == [(0.1, 1.0, 0.3), None, None]


PRIMITIVE = ('meshes', 0, 'primitives', 0)
FAULTS = [
    (changed(('asset', 'version'), '1.0'), 'of version 1.0'),
    (changed(('scene',), 1), r'there is no scenes\[1\]'),
    (changed(('scene',), -1), r'there is no scenes\[-1\]'),
    (changed(('scenes',), []), r'there is no scenes\[0\]'),
    (changed(('scenes', 0, 'nodes'), [5]), r'there is no nodes\[5\]'),
    (changed(('nodes', 0, 'children'), [0]), 'node 0 stands in two places'),
    (changed(('nodes', 0, 'mesh'), 3), r'there is no meshes\[3\]'),
    (changed(('nodes', 0, 'skin'), 0), 'with a skin'),
    (changed(('nodes', 0, 'weights'), [0.0, 1.0]), 'weighted targets'),
    (changed(('meshes', 0, 'weights'), [1.0]), 'weighted targets'),
    (changed(('nodes', 0, 'extensions'), {'EXT_mesh_gpu_instancing': {}}), 'EXT_mesh_gpu_inst'),
    (changed(('nodes', 0, 'scale'), [1, float('nan'), 1]), 'not finite'),
    (changed(('nodes', 0, 'scale'), [1, 1]), 'cannot reshape'),
    (changed(('nodes', 0, 'rotation'), [0, 0, 0, 0]), 'no quaternion'),
    (changed(('nodes', 0, 'rotation'), [0, 0, 1]), 'not enough values'),
    (changed(('nodes', 0, 'matrix'), [1] * 15), 'cannot reshape'),
    (changed((*PRIMITIVE, 'mode'), 7), 'mode 7 is unknown'),
    (changed((*PRIMITIVE, 'attributes'), {}), 'KeyError'),
    (changed((*PRIMITIVE, 'attributes', 'POSITION'), 1), 'not of type VEC3'),
    (changed((*PRIMITIVE, 'indices'), 0), 'not of type SCALAR'),
    (changed(('accessors', 1, 'componentType'), 5122), 'holds no indices'),
    (changed(('accessors', 1, 'componentType'), 9), 'KeyError'),
    (changed(('accessors', 1, 'count'), 11), 'make no triangles'),
    (changed(('accessors', 1, 'count'), 13), 'shorter than what it has to hold'),
    (changed(('accessors', 1, 'count'), -3), 'is no size'),
    (changed(('accessors', 1, 'count'), 3e0), 'is no size'),
    (changed(('accessors', 0, 'count'), 3), 'beyond the 3 vertices'),
    (changed(('accessors', 0, 'count'), 10**9), 'holds more than'),
    (changed(('accessors', 0), {**document()['accessors'][0], 'bufferView': 7}), 'bufferViews'),
    (
        changed(('accessors', 0), {'componentType': 5126, 'count': 4, 'type': 'VEC3'}),
        'has no values',
    ),
    (changed(('bufferViews', 0, 'byteStride'), 8), 'shorter than what it has to hold'),
    (changed(('bufferViews', 0, 'byteStride'), 16), 'shorter than what it has to hold'),
    (changed(('bufferViews', 1, 'byteOffset'), 70), 'shorter than what it has to hold'),
    (changed(('bufferViews', 1, 'byteOffset'), -2), 'is no size'),
    (changed(('buffers', 0, 'byteLength'), 73), 'buffer 0 is shorter than it says'),
    (changed(('buffers', 0), {'byteLength': 72}), 'buffer 0 names no data'),
    (changed(('buffers', 0, 'uri'), 'data:;base64,a$b'), 'no base64'),
    (changed(('buffers', 0, 'uri'), 7), 'AttributeError'),
    (changed(('extensionsRequired',), ['KHR_draco_mesh_compression']), 'KHR_draco'),
    (changed(('extensionsRequired',), ['EXT_meshopt_compression']), 'which is not read'),
    (
        changed(('buffers', 0, 'uri'), data_uri(b'\0\0\xc0\x7f' + DATA[4:])),
        'numbers that are not finite',
    ),
]  # fmt: skip


@pytest.mark.parametrize(('found', 'words'), FAULTS)
def test_a_faulty_file_is_refused(found, words):
    with pytest.raises(GltfError, match=words):
        read(json.loads(json.dumps(found)))


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'no glTF'),
        (b'no', 'no glTF'),
        (b'[]', 'is faulty'),
        (b'7', 'is faulty'),
        (b'{}', 'asset'),
        (b'[' * 100_000, 'is faulty'),
        (b'\xff\xfe\0\xd8', 'no glTF'),
        (b'glTF', 'is faulty'),
        (b'glTF\1\0\0\0\x0c\0\0\0', 'version 1'),
        (binary(document())[:-1], 'cut off'),
        (binary(document())[:12] + b'\xff\xff\xff\x7fJSON' + binary(document())[20:], 'cut off'),
    ],
)
def test_what_is_no_gltf_is_refused(content, words):
    with pytest.raises(GltfError, match=words):
        read(content)


def test_a_small_file_holds_no_endless_scene(monkeypatch):
    monkeypatch.setattr(gltf, 'MOST_TRIANGLES', 100)
    nodes = [{'mesh': 0}] * 26
    with pytest.raises(GltfError, match='more than 100 triangles'):
        read(document(nodes=nodes, scenes=[{'nodes': [*range(26)]}]))
    assert len(read(document(nodes=nodes, scenes=[{'nodes': [*range(25)]}]))) == 100


@pytest.mark.parametrize('seed', range(2))
def test_trimesh_reads_the_same_of_what_it_writes(seed):
    trimesh = pytest.importorskip('trimesh', reason='trimesh comes with the extra viewer')
    rng = np.random.default_rng(seed)
    scene = trimesh.Scene()
    parent = None
    for number in range(5):
        T = trimesh.transformations.random_rotation_matrix(rng.random(3))
        T[:3, :3] *= rng.uniform(0.3, 2.0)
        T[:3, 3] = rng.normal(size=3)
        body = trimesh.creation.icosphere(1, rng.uniform(0.1, 1.0))
        scene.add_geometry(body, f'n{number}', parent_node_name=parent, transform=T)
        parent = f'n{number}' if rng.random() < 0.6 else None
    expected = np.concatenate([body.triangles for body in scene.dump()])
    files = scene.export(file_type='gltf')
    for found in (
        read(scene.export(file_type='glb')),
        read(files['model.gltf'], lambda name: files[name]),
    ):
        assert len(found) == len(expected)
        rows = np.sort(found.reshape(-1, 9), axis=0), np.sort(expected.reshape(-1, 9), axis=0)
        np.testing.assert_allclose(*rows, atol=1e-5)
