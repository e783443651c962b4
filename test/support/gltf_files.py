"""glTF files: a tetrahedron of 1, 2 and 3 m, in all the ways in which they can hold one."""

import base64
import copy
import json
import struct

import numpy as np

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
