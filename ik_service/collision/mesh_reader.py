"""
Reading of the mesh files of a robot for collision checks, whole or not at all.

Triangles of STL, OBJ, OFF, PLY and Collada files are read by Python code, and not by Coal's
reader: that keeps Python's lock while it reads, which would stop the commands of an arm, and is
fragile (PLY files that are cut off crash it, comments in OFF files hang it, polygons lose
triangles, and what it does not know it passes over). Polygons are parted into fans, and into ears
where those would leave them.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
import re
import struct
from typing import Any

import numpy as np

from ik_service.collision.collada import Faces, read_collada
from ik_service.collision.shapes import FARTHEST, Mesh, MOST_TRIANGLES
from ik_service.common.files import read_regular
from ik_service.exceptions import ArgumentError
from ik_service.model.geometry.gltf import GltfPart, read_gltf
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import collada_unit, MeshError, MeshFiles, read_beside


def parted(vertices: np.ndarray, polygons: np.ndarray) -> np.ndarray:
    """
    Return polygons as triangles, n − 2 of each.

    A polygon is seen along its mean normal (of Newell). If all triangles of the fan about its
    first corner have the same sense there, they are its parts. Else ears are cut off, triangles of
    neighbouring corners that hold no other corner (Meisters, "Polygons have ears", 1975). Where a
    polygon crosses itself, and none is left, the rest becomes a fan.

    :param vertices: (k, 3).
    :param polygons: (m, n) indices of the corners of each.
    :returns: (m · (n − 2), 3) indices of the corners of each triangle.
    """
    count = polygons.shape[1]
    if count == 3:
        return polygons
    middle = np.arange(1, count - 1)
    fans = np.stack([np.broadcast_to(polygons[:, :1], (len(polygons), count - 2)),
                     polygons[:, middle], polygons[:, middle + 1]], axis=2)  # fmt: skip
    a, b, c = (vertices[fans[:, :, i]] for i in range(3))
    areas = np.cross(b - a, c - a)  # (m, n − 2, 3), doubled
    normals = areas.sum(axis=1)
    for row in np.flatnonzero(((areas @ normals[:, :, None])[:, :, 0] < 0.0).any(axis=1)):
        fans[row] = polygons[row][[*_ears(vertices[polygons[row]], normals[row])]]
    return fans.reshape(-1, 3)


def _ears(corners: np.ndarray, normal: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield the triangles of one polygon as indices of its corners (n, 3)."""
    axis = int(np.argmax(np.abs(normal)))
    points = np.delete(corners, axis, axis=1)
    if (normal[axis] < 0.0) != (axis == 1):  # clockwise as it is seen here
        points = points * [1.0, -1.0]
    ring = np.arange(len(points))
    while len(ring) > 3:
        for _ in range(len(ring)):
            if _is_ear(points[ring]):
                break
            ring = np.roll(ring, -1)
        yield ring[0], ring[1], ring[2]
        ring = np.roll(np.delete(ring, 1), 1)  # the next ear is likely beside it
    yield ring[0], ring[1], ring[2]


_ROUNDING = 1e-10  # area that may be none, as part of the square around a polygon


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _is_ear(points: np.ndarray) -> bool:
    """Return whether the first three points of a ring make a triangle without the others."""
    corners, others = points[:3], points[3:]
    sides = np.roll(corners, -1, axis=0) - corners
    bent, nothing = _cross(sides[0], sides[1]), _ROUNDING * np.ptp(points, axis=0).max() ** 2
    if abs(bent) <= nothing:
        return True  # three in a row, whatever else is there
    away = others[:, None] - corners  # (k, 3, 2)
    inside = _cross(sides, away) >= -nothing
    same = (others[:, None] == corners).all(axis=2).any(axis=1)  # of a ring that touches itself
    return bool(bent > 0.0) and not (inside.all(axis=1) & ~same).any()


def read_triangles(data: bytes, suffix: str) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the triangles of a file; polygons are parted, faces of less than three corners are none.

    :param suffix: of the file's name, such as ``.ply``.
    :returns: (k, 3) vertices in the file's unit, and (m, 3) the indices of each triangle's.
    :raises ValueError: it cannot be read whole.
    """
    points, triangles, first = [], list[np.ndarray](), 0
    for vertices, faces in _READERS[suffix](data):
        if not np.isfinite(vertices).all():
            raise ValueError('a vertex is not finite')
        for corners in _by_size(faces):
            if not ((corners >= 0) & (corners < len(vertices))).all():
                size = corners.shape[1]
                raise ValueError(f'a face has not {size} of the {len(vertices)} vertices')
            triangles.append(first + parted(vertices, corners))
        points.append(vertices)
        first += len(vertices)
        if sum(map(len, triangles)) > MOST_TRIANGLES or first > 3 * MOST_TRIANGLES:
            raise ValueError(f'it holds more than {MOST_TRIANGLES} faces, or thrice the vertices')
    if not triangles:
        raise ValueError('it holds no faces')
    return np.concatenate(points), np.concatenate(triangles)


def _by_size(faces: np.ndarray | Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
    """Yield the faces of at least three corners as arrays, one (m, n) for those of n corners."""
    if isinstance(faces, np.ndarray):
        yield faces
        return
    sizes = [len(face) for face in faces]
    for size in sorted({*sizes} - {0, 1, 2}):
        # Not np.array(), which keeps Python's lock.
        corners = (corner for face in faces if len(face) == size for corner in face)
        yield np.fromiter(corners, np.int64, size * sizes.count(size)).reshape(-1, size)


_FACETS = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])
_NUMBER = rb'([-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+|[-+]?(?:nan|inf))'
_TEXT_STL = re.compile(
    rb'\s*+(?:facet\s++normal(?:\s++\S++){3}\s++outer\s++loop%b\s++endloop\s++endfacet\b'
    rb'|(?P<begin>solid\b)[^\n]*|(?P<end>endsolid\b)[^\n]*)'
    % (rb'\s++vertex\s++%b\s++%b\s++%b' % ((_NUMBER,) * 3) * 3)
)


def _read_stl(data: bytes) -> Iterator[Faces]:
    if len(data) == 84 + 50 * int.from_bytes(data[80:84], 'little'):
        points = np.frombuffer(data, _FACETS, offset=84)['corners'].reshape(-1, 3).astype(float)
    else:
        numbers = (number for row in _text_facets(data) for number in row)
        points = np.fromiter(numbers, float).reshape(-1, 3)
    yield points, np.arange(len(points)).reshape(-1, 3)


def _text_facets(data: bytes) -> Iterator[Iterator[float]]:
    text = data.removeprefix(codecs.BOM_UTF8).replace(b'\r', b'\n').rstrip(b'\0 \t\n')
    inside, place = False, 0
    while place < len(text) or inside:
        match = _TEXT_STL.match(text, place)
        begins = match and match['begin'] is not None
        if match is None or begins == inside:
            raise ValueError(
                'it is cut off, or neither a binary STL file of the length that it says nor a '
                'text of facets with three corners, from solid to endsolid'
            )
        place = match.end()
        if begins or match['end']:
            inside = bool(begins)
        else:
            yield map(float, match.groups()[:9])


_LONG_LINE = re.compile(rb'\\[ \t]*(?:\r\n?|\n)')
_BESIDE_FACES = (b'vt', b'vn', b'vp')
_SURFACES = (b'surf', b'call', b'bzp', b'bsp', b'cdc', b'cdp')


def _read_obj(data: bytes) -> Iterator[Faces]:
    points, faces = list[float](), list[tuple[int, ...]]()
    for line in BytesIO(_LONG_LINE.sub(b' ', data).replace(b'\r', b'\n')):
        word, *values = line.partition(b'#')[0].split() or [b'']
        try:
            if word == b'v':
                points += _vertex_of_obj(values)
            elif word in (b'f', b'fo'):
                faces.append(_face_of_obj(values, len(points) // 3))
            elif (word[:1] in (b'v', b'f') and word not in _BESIDE_FACES) or word in _SURFACES:
                raise ValueError(word)
        except (ValueError, ArithmeticError) as error:
            shown = line.strip()[:60].decode('ascii', 'replace')
            raise ValueError(f'{shown!r} cannot be read') from error
    yield np.array(points).reshape(-1, 3), faces


def _vertex_of_obj(values: Sequence[bytes]) -> list[float]:
    """Return x, y and z, which a fourth number divides; three further ones are a colour."""
    if len(values) not in (3, 4, 6):
        raise ValueError(len(values))
    row = [float(value) for value in values]
    return [number / row[3] for number in row[:3]] if len(row) == 4 else row[:3]


def _face_of_obj(values: Sequence[bytes], count: int) -> tuple[int, ...]:
    """Return the indices of corners; negative ones count back from the last vertex before."""
    if len(values) < 3:
        raise ValueError(len(values))
    corners = (int(value.partition(b'/')[0]) for value in values)
    return tuple(corner - 1 if corner >= 0 else count + corner for corner in corners)


def _read_off(data: bytes) -> Iterator[Faces]:
    lines = BytesIO(re.sub(rb'#.*', b'', data.replace(b'\r', b'\n')))
    rows = filter(None, map(bytes.split, lines))
    counts = next(rows, [])
    head = counts.pop(0) if counts and counts[0].endswith(b'OFF') else b'OFF'
    if b'n' in head or b'BINARY' in counts:
        raise ValueError('an OFF file that is binary or of more dimensions is not read')
    vertices, faces = map(int, (counts or next(rows, []))[:2])
    size = 4 if b'4' in head else 3  # the fourth divides the others
    numbers = (float(number) for row in islice(rows, vertices) for number in row[:size])
    points = np.fromiter(numbers, float, vertices * size).reshape(-1, size)
    if size == 4:
        points = points / points[:, 3:]
    corners = [tuple(map(int, row[: 1 + int(row[0])])) for row in islice(rows, faces)]
    if len(corners) != faces or next(rows, None) is not None:
        raise ValueError('it does not hold as many rows as it says')
    if not all(len(face) == 1 + face[0] for face in corners):
        raise ValueError('a face is cut off')
    yield points[:, :3], [face[1:] for face in corners]


_PLY_HEAD = re.compile(rb'ply\s.*?\bend_header[ \t]*(?:\r\n|\r|\n)', re.DOTALL)
_PLY_CODES = {
    name: code
    for names in (
        'char uchar short ushort int uint float double',
        'int8 uint8 int16 uint16 int32 uint32 float32 float64',
    )
    for name, code in zip(names.split(), 'bBhHiIfd', strict=True)
}


_PlyElements = dict[str, tuple[int, list[list[str]]]]  # by name: number, and words of properties


def _read_ply_head(head: str) -> tuple[str, _PlyElements]:
    """Return the format of the values, and the elements that follow each other."""
    kind, elements = '', _PlyElements()
    for word, *others in filter(None, map(str.split, head.splitlines())):
        if word == 'format':
            kind = others[0]
        elif word == 'element':
            elements[others[0]] = int(others[1]), []
        elif word == 'property':
            [*elements.values()][-1][1].append(others)
    if 'tristrips' in elements or not {'vertex', 'face'} <= elements.keys():
        raise ValueError('it has to hold vertices and faces, without strips')
    return kind, elements


def _read_ply(data: bytes) -> Iterator[Faces]:
    head = _PLY_HEAD.match(data)
    if head is None:
        raise ValueError('it is no PLY file, or cut off')
    kind, elements = _read_ply_head(head[0].decode('ascii', 'replace'))
    values = _PlyValues(data[head.end() :], kind)
    rows = {name: values.rows(*element) for name, element in elements.items()}
    values.check_end()
    names = [words[-1] for words in elements['vertex'][1]]
    columns = [names.index(axis) for axis in 'xyz']
    points = np.array([[row[column] for column in columns] for row in rows['vertex']], float)
    for column, (_, *kinds, name) in enumerate(elements['face'][1]):
        if name.startswith('vertex_ind'):
            if any(_PLY_CODES[kind] in 'fd' for kind in kinds):
                raise ValueError(f'its indices are of type {kinds[-1]}')
            yield points.reshape(-1, 3), [row[column] for row in rows['face']]


class _PlyValues:
    """Values of a PLY file, one after the other: words of lines, or of a binary file numbers."""

    def __init__(self, data: bytes, kind: str) -> None:
        self._order = {'binary_little_endian': '<', 'binary_big_endian': '>'}.get(kind, '')
        self._lines = iter(
            () if self._order else filter(None, map(bytes.split, data.splitlines()))
        )
        self._data: bytes | list[bytes] = data if self._order else []
        self._place = 0

    def rows(self, count: int, properties: list[list[str]]) -> list[Sequence[Any]]:
        """Return the rows of an element: of each property a value, or those of a list."""
        if not properties:
            raise ValueError('an element has no properties')
        if self._order and not any(kind == 'list' for kind, *_ in properties):
            codes = self._order + ''.join(_PLY_CODES[kind] for kind, *_ in properties)
            return [*struct.iter_unpack(codes, self._next(struct.calcsize(codes) * count))]
        return [self._row(properties) for _ in range(count)]

    def check_end(self) -> None:
        self._check_place()
        if next(self._lines, None) is not None:
            raise ValueError('it is longer than it says')

    def _row(self, properties: list[list[str]]) -> list[Any]:
        if not self._order:
            self._check_place()
            self._data, self._place = next(self._lines, []), 0
        row: list[Any] = []
        for kind, *others in properties:
            if kind == 'list':
                row.append(self._take(others[1], int(self._take(others[0], 1)[0])))
            else:
                row.append(self._take(kind, 1)[0])
        return row

    def _take(self, kind: str, count: int) -> Sequence[float]:
        code = _PLY_CODES[kind]
        if count < 0:
            raise ValueError('a list has a negative length')
        if self._order:
            codes = f'{self._order}{count}{code}'
            return struct.unpack(codes, self._next(struct.calcsize(codes)))
        return [*map(float if code in 'fd' else int, self._next(count))]

    def _next(self, count: int) -> Any:  # noqa: ANN401 (bytes or words)
        self._place += count
        if self._place > len(self._data):
            raise ValueError('it is cut off')
        return self._data[self._place - count : self._place]

    def _check_place(self) -> None:
        rest = self._data[self._place :]
        if rest if isinstance(rest, list) else rest.strip():
            raise ValueError('it is longer than it says')


_READERS: dict[str, Callable[[bytes], Iterator[Faces]]] = {
    '.stl': _read_stl,
    '.obj': _read_obj,
    '.off': _read_off,
    '.ply': _read_ply,
    '.dae': read_collada,
}


LARGEST_FILE = 100 * 2**20  # longest mesh file that is read [byte]
LARGEST_SUM = 500 * 2**20  # length of all mesh files of a robot together [byte]

_LFS_POINTER = b'version https://git-lfs.github.com/spec/'  # start of one, by the specification

_GLTF = ('.glb', '.gltf')
_FORMATS = ('.stl', '.obj', '.dae', '.ply', '.off', *_GLTF)


class MeshReader:
    """
    Reader of a robot's mesh files.

    :param urdf: the file of the URDF; None when it came as text.
    """

    def __init__(self, urdf: Path | None, package_dirs: Iterable[Path] = ()) -> None:
        self._files = MeshFiles(urdf, package_dirs)
        self._meshes: dict[MeshFile, Mesh] = {}
        self._sum = 0

    def read(self, mesh: MeshFile) -> Mesh:
        """Return the triangles of a file, scaled; raises MeshError for one that cannot be used."""
        if mesh not in self._meshes:
            path = self._files.find(mesh.filename)
            try:
                self._meshes[mesh] = self._read(path, mesh.scale)
            except ArgumentError as error:
                limit = f'at most {MOST_TRIANGLES} triangles within {FARTHEST:g} m are taken'
                raise MeshError(path, f'cannot be used: {error}; {limit}') from error
            except OSError as error:
                reason = error.strerror or error
                raise MeshError(path, f'cannot be read: {reason}') from error
            except MeshError:
                raise
            except Exception as error:
                raise MeshError(path, f'cannot be read: {error}') from error
        return self._meshes[mesh]

    def _read(self, path: Path, scale: tuple[float, float, float]) -> Mesh:
        suffix = path.suffix.lower()
        if suffix not in _FORMATS:
            raise ValueError(f'it is none of {", ".join(_FORMATS)}')
        data = self._counted(path, read_regular(path, LARGEST_FILE))
        if suffix in _GLTF:
            parts = read_gltf(
                data, lambda name: self._counted(path, read_beside(path, name, LARGEST_FILE))
            )
            return _from_gltf(parts, scale)
        unit = collada_unit(BytesIO(data)) if suffix == '.dae' else 1.0
        scales = unit * np.array(scale)
        vertices, triangles = read_triangles(data, suffix)
        return Mesh(vertices * scales, triangles)

    def _counted(self, path: Path, data: bytes) -> bytes:
        if data.startswith(_LFS_POINTER):
            raise MeshError(
                path,
                'is not there: it, or a file that it names, is a pointer of Git LFS to the '
                'content; `git lfs pull` in its repository fetches that',
            )
        self._sum += len(data)
        if self._sum > LARGEST_SUM:
            raise MeshError(
                path,
                f'is not read: the meshes of this robot are longer than '
                f'{LARGEST_SUM // 2**20} MiB together',
            )
        return data


def _from_gltf(parts: Sequence[GltfPart], scale: tuple[float, float, float]) -> Mesh:
    if not parts:
        raise ArgumentError('triangles', 'there are 0')
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = [part.triangles + start for part, start in zip(parts, starts, strict=True)]
    vertices = np.concatenate([part.vertices for part in parts])
    return Mesh(vertices * scale, np.concatenate(triangles))
