"""Arms with collision geometry as URDF text, and mesh files."""

import base64
import copy
import json
import struct

import numpy as np

BOX = '<box size="0.1 0.1 0.1"/>'


def solid(geometry=BOX, xyz='0 0 0', rpy='0 0 0'):
    return (
        f'<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{geometry}</geometry></collision>'
    )


def slider(*geometries, gap=0.5, names='abcdefgh'):
    """Blocks in a row along x, each on a slider of ±10 m along x on the first one."""
    links, joints = '', ''
    for i, geometry in enumerate(geometries):
        links += f'<link name="{names[i]}">{geometry}</link>'
        if i:
            joints += (
                f'<joint name="to_{names[i]}" type="prismatic"><parent link="{names[0]}"/>'
                f'<child link="{names[i]}"/><origin xyz="{gap * i} 0 0"/><axis xyz="1 0 0"/>'
                '<limit lower="-10" upper="10" velocity="1" effort="1"/></joint>'
            )
    return f'<robot name="row">{links}{joints}</robot>'


def hinge(name, parent, child, xyz='0 0 0', kind='revolute', limits='lower="-1" upper="1"'):
    limit = '' if kind == 'fixed' else f'<limit {limits} velocity="1" effort="1"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 0 1"/>{limit}</joint>'
    )


def folding_arm_xml():
    """Two links of 1 m on a wide post, which the outer one hits when it folds back."""
    link = solid('<box size="1 0.1 0.1"/>', '0.5 0 0')
    post = solid('<box size="0.8 0.8 0.1"/>')
    return (
        f'<robot name="r"><link name="post">{post}</link>'
        f'<link name="inner">{link}</link><link name="outer">{link}</link>'
        + hinge('shoulder', 'post', 'inner', limits='lower="-3.1" upper="3.1"')
        + hinge('elbow', 'inner', 'outer', '1 0 0', limits='lower="2.2" upper="3.1"')
        + '</robot>'
    )


def cube(size=0.1):
    """Corners (8, 3) and triangles (12, 3) of a cube."""
    vertices = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size / 2
    triangles = [
        *((0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7), (0, 5, 1), (0, 4, 5)),
        *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
    ]
    return vertices, np.array(triangles)


def write_stl(path, vertices, triangles):
    corners = np.asarray(vertices)[np.asarray(triangles)]
    rows = np.zeros(len(corners), [('n', '<f4', 3), ('v', '<f4', (3, 3)), ('a', '<u2')])
    rows['v'] = corners
    path.write_bytes(bytes(80) + struct.pack('<I', len(rows)) + rows.tobytes())
    return path


def at(x=0.0, y=0.0, z=0.0):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


VERTICES = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], '<f4')
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], '<u2')
DATA = VERTICES.tobytes() + TRIANGLES.tobytes()


def data_uri(data):
    return 'data:application/octet-stream;base64,' + base64.b64encode(data).decode()


def document(data=DATA, **changes):
    """The plain document, with some of its entries replaced; None takes one out."""
    found = {
        'asset': {'version': '2.0'},
        'buffers': [{'byteLength': len(data), 'uri': data_uri(data)}],
        'bufferViews': [
            {'buffer': 0, 'byteOffset': 0, 'byteLength': 48},
            {'buffer': 0, 'byteOffset': 48, 'byteLength': 24},
        ],
        'accessors': [
            {'bufferView': 0, 'componentType': 5126, 'count': 4, 'type': 'VEC3'},
            {'bufferView': 1, 'componentType': 5123, 'count': 12, 'type': 'SCALAR'},
        ],
        'meshes': [{'primitives': [{'attributes': {'POSITION': 0}, 'indices': 1}]}],
        'nodes': [{'mesh': 0}],
        'scenes': [{'nodes': [0]}],
        'scene': 0,
    }
    found.update(changes)
    return {name: value for name, value in found.items() if value is not None}


def changed(path, value):
    """The plain document with one entry somewhere in it replaced."""
    found = copy.deepcopy(document())
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return found


def text(document):
    return json.dumps(document).encode()


def binary(document, data=DATA):
    """A .glb file with the data in its own chunk."""
    document = {**document, 'buffers': [{'byteLength': len(data)}]}
    chunks = b''
    for kind, content, fill in ((b'JSON', text(document), b' '), (b'BIN\0', data, b'\0')):
        content += fill * (-len(content) % 4)
        chunks += struct.pack('<I4s', len(content), kind) + content
    return struct.pack('<4sII', b'glTF', 2, 12 + len(chunks)) + chunks
