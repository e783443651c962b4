"""
Content of mesh files as Coal's reader takes it whole.

That reader (Assimp, and Coal 3.0.3 around it) is fragile: PLY files that are cut off or hold
other elements before the vertices crash it, comments in OFF files hang it, empty lines cost PLY
files a face, and Collada or OBJ files of two materials their corners. So it is given STL and OBJ
files alone that were looked through before, and as an OBJ file the polygons of other formats,
which are read here.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
import re
import struct
from typing import Any

import numpy as np

from ik_service.collision.collada import Faces, read_collada
from ik_service.collision.shapes import MOST_TRIANGLES


def content_for_coal(data: bytes, suffix: str) -> bytes:
    """
    Return the content of an STL or OBJ file that Coal is to read instead, or that content itself.

    :param suffix: of the file's name, such as ``.stl``.
    :raises ValueError: it cannot be read whole.
    """
    if suffix == '.obj':
        return _plain_obj(data)
    _check_stl(data)
    return data


def read_faces(data: bytes, suffix: str) -> Faces:
    """
    Return the faces of an OFF, PLY or Collada file; those of less than three corners are none.

    :param suffix: of the file's name, such as ``.ply``.
    :raises ValueError: it cannot be read whole.
    """
    read = {'.off': _read_off, '.ply': _read_ply, '.dae': read_collada}[suffix]
    points, found, first = [], list[Sequence[int]](), 0
    for vertices, faces in read(data):
        if not np.isfinite(vertices).all():
            raise ValueError('a vertex is not finite')
        for face in faces:
            if min(face, default=0) < 0 or max(face, default=-1) >= len(vertices):
                raise ValueError(f'a face has not {len(face)} of the {len(vertices)} vertices')
            if len(face) > 2:
                found.append([first + corner for corner in face])
        points.append(vertices)
        first += len(vertices)
        if len(found) > MOST_TRIANGLES or first > 3 * MOST_TRIANGLES:
            raise ValueError(f'it holds more than {MOST_TRIANGLES} faces, or thrice the vertices')
    if not found:
        raise ValueError('it holds no faces')
    return np.concatenate(points), found


def as_obj(vertices: np.ndarray, faces: Sequence[Sequence[int]]) -> bytes:
    """Return faces as an OBJ file."""
    rows = [f'v {x:.9g} {y:.9g} {z:.9g}' for x, y, z in vertices.tolist()]
    rows += ['f ' + ' '.join([str(1 + corner) for corner in face]) for face in faces]
    return '\n'.join(rows).encode()


_NUMBER = rb'[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+'
_CORNER = rb'-?+\d++(?:/-?+\d*+){0,2}+'
_NAME_IN_STL = re.compile(rb'(?<![^\r\n])([ \t]*(?:end)?solid\b)[^\r\n]*')
_TEXT_STL = re.compile(
    rb'(?:solid\s++(?:facet\s++normal(?:\s++\S++){3}\s++outer\s++loop\s++'
    rb'(?:vertex(?:\s++(?:%b|[-+]?nan|[-+]?inf)){3}\s++){3}endloop\s++endfacet\s++)*+'
    rb'endsolid[\s\0]*+)++' % _NUMBER
)


def _check_stl(data: bytes) -> None:
    if len(data) == 84 + 50 * int.from_bytes(data[80:84], 'little'):
        return
    text = data.removeprefix(codecs.BOM_UTF8)
    if not _TEXT_STL.fullmatch(_NAME_IN_STL.sub(rb'\1', text)):
        raise ValueError(
            'it is cut off, or neither a binary STL file of the length that it says nor a text '
            'of facets with three corners, from solid to endsolid'
        )


_LOST_IN_OBJ = re.compile(
    rb'^(?:v(?![tnp]\b)(?!(?:[ \t]++%(n)b){3}(?:[ \t]++%(n)b|(?:[ \t]++%(n)b){3})?[ \t]*+(?:#|$))'
    rb'|fo?+(?!(?:[ \t]++%(c)b){3,}+[ \t]*+(?:#|$))'
    rb'|(?:surf|call|bzp|bsp|cdc|cdp)[ \t]).*' % {b'n': _NUMBER, b'c': _CORNER},
    re.MULTILINE,
)
_REWRITTEN_IN_OBJ = [
    (re.compile(pattern, re.MULTILINE), written)
    for pattern, written in (
        (rb'\\[ \t]*\n', b' '),  # lines that go on
        (rb'^[ \t]+', b''),
        (rb'([ \t][-+]?)\.(?=\d)', rb'\g<1>0.'),
        (rb'^(?:usemtl|mtllib|o|g|s|mg)\b.*', b''),
    )
]
_BESIDE_CORNER = re.compile(rb'(?<=\d)/[-/\d]*')  # numbers of a texture and a normal


def _plain_obj(data: bytes) -> bytes:
    """Return an OBJ file as one mesh, spelt as Coal expects it; what it passes over is refused."""
    data = data.replace(b'\r\n', b'\n').replace(b'\r', b'\n')
    for pattern, written in _REWRITTEN_IN_OBJ:
        data = pattern.sub(written, data)
    lost = _LOST_IN_OBJ.search(data)
    if lost:
        raise ValueError(f'{lost[0][:60].decode("ascii", "replace")!r} cannot be read')
    return _BESIDE_CORNER.sub(b'', data)


def _read_off(data: bytes) -> Iterator[Faces]:
    rows = [line.split() for line in re.sub(rb'#.*', b'', data).splitlines()]
    rows = [row for row in rows if row]
    head = rows[0].pop(0) if rows and rows[0][0].endswith(b'OFF') else b'OFF'
    if b'n' in head or b'BINARY' in rows[0]:
        raise ValueError('an OFF file that is binary or of more dimensions is not read')
    counts, *rows = filter(None, rows)
    vertices, faces = map(int, counts[:2])
    if not 0 <= vertices <= len(rows) == vertices + faces:
        raise ValueError('it does not hold as many rows as it says')
    size = 4 if b'4' in head else 3  # the fourth divides the others
    points = np.array([[*map(float, row[:size])] for row in rows[:vertices]]).reshape(-1, size)
    if size == 4:
        points = points / points[:, 3:]
    corners = [[*map(int, row[: 1 + int(row[0])])] for row in rows[vertices:]]
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
