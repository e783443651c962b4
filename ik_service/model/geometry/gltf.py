"""
Triangles of glTF files, for checks of collisions and for the page alike.

Neither of their readers is used, since each loses shapes in silence: Assimp (in Coal) reads
vertices of 16 bits as 0, and Coal leaves out the transform of the outermost node; trimesh leaves
out fans and sparse values, and takes compressed triangles for the data beside them. Here a file
is read whole, or refused with the reason. Names are those of the specification
(https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
import json
import struct
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import numpy as np

from ik_service.common.quaternions import normalized_quaternion, rotation_from_quaternion_xyzw

MOST_TRIANGLES = 2_000_000  # triangles of a file, at most; as many as an STL file of 100 MiB holds

_MAGIC, _JSON, _BIN = b'glTF', b'JSON', b'BIN\0'  # of a binary file, and of its chunks
_POINTS, _TRIANGLES, _STRIP, _FAN = 0, 4, 5, 6  # modes of primitives; 1 to 3 are lines
_TYPES = {5120: 'i1', 5121: 'u1', 5122: '<i2', 5123: '<u2', 5125: '<u4', 5126: '<f4'}
_SIZES = {'SCALAR': 1, 'VEC3': 3}
_NO_TURN = (0.0, 0.0, 0.0, 1.0)  # a quaternion, x, y, z and w
# Extensions that a file may require: those of its looks, and those read here.
_HARMLESS = ('KHR_materials_', 'KHR_texture_', 'EXT_texture_', 'KHR_lights_', 'KHR_xmp')
_READ = 'KHR_mesh_quantization'
_INSTANCES = 'EXT_mesh_gpu_instancing'


class GltfError(ValueError):
    """Error about a glTF file that cannot be read; its text says why."""


@dataclass(frozen=True, eq=False)
class GltfPart:
    """
    Triangles of one material.

    :ivar vertices: (V, 3) [m], in the frame of the file.
    :ivar triangles: (F, 3) indices of vertices.
    :ivar color: red, green and blue of the material, 0 to 1; None where it names none.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    color: tuple[float, float, float] | None


def read_gltf(data: bytes, beside: Callable[[str], bytes]) -> tuple[GltfPart, ...]:
    """
    Read a glTF file of version 2.

    :param data: its content, text (``.gltf``) or binary (``.glb``).
    :param beside: returns the content of a file that it names relative to itself.
    :returns: the triangles of its scene, each node at its pose; lines and points are left out.
    :raises GltfError: the file is faulty, or needs an extension that is not read here.
    :raises OSError: as ``beside``.
    """
    try:
        return tuple(_Reader(data, beside).parts())
    except GltfError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise GltfError(f'it is faulty: {type(error).__name__} {error}') from error
    except (struct.error, RecursionError) as error:
        raise GltfError(f'it is faulty: {error}') from error


class _Reader:
    """Reader of one file."""

    def __init__(self, data: bytes, beside: Callable[[str], bytes]) -> None:
        text, self._own = _chunks(data)
        try:
            self._document = json.loads(text)
        except ValueError as error:
            raise GltfError(f'it is no glTF: {error}') from error
        self._beside = beside
        self._buffers: dict[int, bytes] = {}
        self._left = MOST_TRIANGLES
        version = str(self._document['asset']['version'])
        if not version.startswith('2.'):
            raise GltfError(f'it is of version {version[:20]} of glTF, not 2.0')
        for name in self._document.get('extensionsRequired', ()):
            if name != _READ and not name.startswith(_HARMLESS):
                raise GltfError(f'it needs the extension {name[:80]}, which is not read')

    def parts(self) -> Iterator[GltfPart]:
        """Yield the parts of the scene."""
        scene = self._item('scenes', self._document.get('scene', 0))
        pending = [(number, np.eye(4)) for number in scene.get('nodes', ())]
        seen: set[int] = set()
        while pending:
            number, T_file_parent = pending.pop()
            if number in seen:
                raise GltfError(f'node {number} stands in two places')
            seen.add(number)
            node = self._item('nodes', number)
            T = T_file_parent @ _transform(node)
            pending += [(child, T) for child in node.get('children', ())]
            if 'mesh' in node:
                yield from self._mesh(node, T)

    def _mesh(self, node: dict[str, Any], T: np.ndarray) -> Iterator[GltfPart]:
        mesh = self._item('meshes', node['mesh'])
        if 'skin' in node:
            raise GltfError('a mesh with a skin, which bones move, is not read')
        if any(node.get('weights', mesh.get('weights', ()))):
            raise GltfError('a mesh of weighted targets is not read')
        if _INSTANCES in node.get('extensions', ()):
            raise GltfError(f'the extension {_INSTANCES} is not read')
        for primitive in mesh['primitives']:
            mode = primitive.get('mode', _TRIANGLES)
            if mode not in range(_POINTS, _FAN + 1):
                raise GltfError(f'a primitive of mode {mode!r} is unknown')
            if mode < _TRIANGLES:
                continue
            points = self._accessor(primitive['attributes']['POSITION'], 'VEC3')
            triangles = _triangles(self._indices(primitive, len(points)), mode)
            self._left -= len(triangles)
            if self._left < 0:
                raise GltfError(f'it holds more than {MOST_TRIANGLES} triangles')
            if np.linalg.det(T[:3, :3]) < 0.0:  # mirrored, which would turn it inside out
                triangles = triangles[:, ::-1]
            yield GltfPart(points @ T[:3, :3].T + T[:3, 3], triangles, self._color(primitive))

    def _indices(self, primitive: dict[str, Any], count: int) -> np.ndarray:
        if 'indices' not in primitive:
            return np.arange(count)
        indices = self._accessor(primitive['indices'], 'SCALAR')[:, 0]
        if not (indices < count).all():
            raise GltfError(f'an index is beyond the {count} vertices')
        return indices.astype(np.int64)

    def _color(self, primitive: dict[str, Any]) -> tuple[float, float, float] | None:
        if 'material' not in primitive:
            return None
        material = self._item('materials', primitive['material'])
        factor = material.get('pbrMetallicRoughness', {}).get('baseColorFactor')
        if factor is None:
            return None
        red, green, blue = (min(max(float(value), 0.0), 1.0) for value in factor[:3])
        return red, green, blue

    def _accessor(self, number: object, kind: str) -> np.ndarray:
        """Return the values of an accessor (count, 1 or 3), as floats or whole numbers."""
        accessor = self._item('accessors', number)
        if accessor['type'] != kind:
            raise GltfError(f'accessor {number} is not of type {kind}')
        dtype, count = np.dtype(_TYPES[accessor['componentType']]), _whole(accessor['count'])
        if count > 3 * MOST_TRIANGLES:
            raise GltfError(f'accessor {number} holds more than {3 * MOST_TRIANGLES} values')
        shape = count, _SIZES[kind]
        if 'bufferView' in accessor:
            values = self._view(accessor, dtype, shape).copy()
        elif 'sparse' in accessor:
            values = np.zeros(shape, dtype)
        else:
            raise GltfError(f'accessor {number} has no values')
        if 'sparse' in accessor:
            self._replace(values, accessor['sparse'])
        if kind == 'SCALAR':
            if dtype.kind != 'u':
                raise GltfError(f'accessor {number} holds no indices')
            return values
        points = values.astype(np.float64)
        if accessor.get('normalized') and dtype.kind != 'f':
            points = np.maximum(points / np.iinfo(dtype).max, -1.0)
        if not np.isfinite(points).all():
            raise GltfError(f'accessor {number} holds numbers that are not finite')
        return points

    def _replace(self, values: np.ndarray, sparse: dict[str, Any]) -> None:
        indices, count = sparse['indices'], _whole(sparse['count'])
        dtype = np.dtype(_TYPES[indices['componentType']])
        if dtype.kind != 'u':
            raise GltfError('sparse values have no indices')
        rows = self._view(indices, dtype, (count, 1))[:, 0]
        values[rows] = self._view(sparse['values'], values.dtype, (count, values.shape[1]))

    def _view(self, place: dict[str, Any], dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
        """Return an array where an accessor says that it is in a buffer."""
        view = self._item('bufferViews', place['bufferView'])
        start, offset = _whole(view.get('byteOffset', 0)), _whole(place.get('byteOffset', 0))
        data = self._buffer(view['buffer'])[start : start + _whole(view['byteLength'])]
        row = dtype.itemsize * shape[1]
        stride = _whole(view.get('byteStride', row))
        if stride < row or (shape[0] and offset + (shape[0] - 1) * stride + row > len(data)):
            raise GltfError('a buffer is shorter than what it has to hold')
        return np.ndarray(shape, dtype, data, offset, (stride, dtype.itemsize))

    def _buffer(self, number: object) -> memoryview:
        buffer = self._item('buffers', number)
        key = _whole(number)
        if key not in self._buffers:
            uri = buffer.get('uri')
            if uri is None and (key != 0 or self._own is None):
                raise GltfError(f'buffer {key} names no data')
            self._buffers[key] = self._own or b'' if uri is None else self._data(uri)
        data = self._buffers[key]
        if len(data) < _whole(buffer['byteLength']):
            raise GltfError(f'buffer {key} is shorter than it says')
        return memoryview(data)

    def _data(self, uri: str) -> bytes:
        if not uri.startswith('data:'):
            return self._beside(unquote(uri))
        head, _, text = uri.partition(',')
        if not head.endswith(';base64'):
            return unquote_to_bytes(text)
        try:
            return base64.b64decode(text, validate=True)
        except ValueError as error:
            raise GltfError(f'a buffer is no base64: {error}') from error

    def _item(self, kind: str, number: object) -> dict[str, Any]:
        """Return an element of the document by its number; Python's negative ones are none."""
        items = self._document.get(kind, ())
        if not isinstance(number, int) or not 0 <= number < len(items):
            raise GltfError(f'there is no {kind}[{number!r}]')
        item: dict[str, Any] = items[number]
        return item


def _chunks(data: bytes) -> tuple[bytes, bytes | None]:
    """Return the text of a file, and the data that it holds itself."""
    if not data.startswith(_MAGIC):
        return data, None
    _, version, length = struct.unpack_from('<4sII', data)
    if version != 2 or length > len(data):
        raise GltfError(f'it is binary glTF of version {version}, or cut off')
    found: dict[bytes, bytes] = {}
    start = 12
    while start + 8 <= length:
        size, kind = struct.unpack_from('<I4s', data, start)
        if start + 8 + size > length:
            raise GltfError('it is cut off')
        found.setdefault(kind, data[start + 8 : start + 8 + size])
        start += 8 + size
    return found.get(_JSON, b''), found.get(_BIN)


def _transform(node: dict[str, Any]) -> np.ndarray:
    """Return (4, 4) of a node in the one above it: a matrix by columns, or its three factors."""
    if 'matrix' in node:
        T = np.array(node['matrix'], float).reshape(4, 4).T
    else:
        T = np.eye(4)
        quaternion, norm = normalized_quaternion([*map(float, node.get('rotation', _NO_TURN))])
        if not norm > 0.0:
            raise GltfError('the rotation of a node is no quaternion')
        scale = np.array(node.get('scale', (1.0, 1.0, 1.0)), float).reshape(3)
        T[:3, :3] = rotation_from_quaternion_xyzw(*quaternion) * scale
        T[:3, 3] = np.array(node.get('translation', (0.0, 0.0, 0.0)), float).reshape(3)
    if not np.isfinite(T).all():
        raise GltfError('the transform of a node is not finite')
    return T


def _triangles(indices: np.ndarray, mode: int) -> np.ndarray:
    """Return (F, 3) the corners of the triangles of a list, a strip or a fan."""
    if mode == _TRIANGLES:
        if len(indices) % 3:
            raise GltfError(f'{len(indices)} corners make no triangles')
        return indices.reshape(-1, 3)
    first, second, third = indices[:-2], indices[1:-1], indices[2:]
    if mode == _FAN:
        return np.column_stack([second, third, np.full(len(third), indices[:1])])
    odd = np.arange(len(third)) % 2 == 1  # every other one of a strip goes round in reverse
    return np.column_stack([first, np.where(odd, third, second), np.where(odd, second, third)])


def _whole(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**62:
        raise GltfError(f'{value!r} is no size'[:80])
    return value
