"""
Content of mesh files as Coal's reader takes it whole.

That reader (Assimp, and Coal 3.0.3 around it) crashes on PLY files that are cut off, passes over
some elements in silence, and gives all meshes of one node the corners of the first: a Collada or
OBJ file of two materials holds two. Here such files are refused, or rewritten so that a node has
one mesh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import re
import struct
from typing import TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement


def content_for_coal(data: bytes, suffix: str) -> bytes:
    """
    Return the content of a mesh file that Coal is to read instead, or that content itself.

    :param suffix: of the file's name, such as ``.stl``.
    :raises ValueError: Coal would read a part of it only, or never come back.
    """
    if suffix == '.stl':
        _check_stl(data)
    elif suffix == '.off':
        _check_off(data)
    elif suffix == '.ply':
        _check_ply(data)
    elif suffix == '.obj':
        return _plain_obj(data)
    elif suffix == '.dae':
        return _flat_collada(data)
    return data


def _check_stl(data: bytes) -> None:
    if len(data) == 84 + 50 * int.from_bytes(data[80:84], 'little'):
        return
    facets, end, rest = data.rpartition(b'endfacet')
    if b'endsolid' not in rest:
        raise ValueError('it is cut off, or longer than it says')
    facets = facets[facets.find(b'facet') :]
    if facets.count(b'vertex') > 3 * (facets.count(b'endfacet') + len(end[:1])):
        raise ValueError('a facet has more than three corners')


_NUMBER = rb'[-+]?\d[^\s#]*'
_LOST_IN_OBJ = re.compile(
    rb'^(?:v[ \t]+(?!%b(?:[ \t]+%b){2}(?:[ \t]+%b|(?:[ \t]+%b){3})?[ \t]*(?:#|$))'
    rb'|f(?:[ \t]+\S+){0,2}[ \t]*$'
    rb'|(?:surf|call|bzp|bsp|cdc|cdp)[ \t]).*' % ((_NUMBER,) * 4),
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


def _plain_obj(data: bytes) -> bytes:
    """Return an OBJ file as one mesh, spelt as Coal expects it; what it passes over is refused."""
    data = data.replace(b'\r\n', b'\n').replace(b'\r', b'\n')
    for pattern, written in _REWRITTEN_IN_OBJ:
        data = pattern.sub(written, data)
    lost = _LOST_IN_OBJ.search(data)
    if lost:
        raise ValueError(f'{lost[0][:60].decode("ascii", "replace")!r} cannot be read')
    return data


def _check_off(data: bytes) -> None:
    if b'#' in data:
        raise ValueError('an OFF file with comments cannot be read')
    rows = [line.split() for line in data.splitlines() if line.strip()]
    if rows and rows[0][0].endswith(b'OFF'):
        rows[0] = rows[0][1:]
    vertices, faces = map(int, rows[0][:2] if rows[0] else rows[1][:2])
    faces_from = len(rows) - faces
    if faces_from != vertices + (1 if rows[0] else 2):
        raise ValueError('it does not hold as many rows as it says')
    for row in rows[faces_from:]:
        _check_face([*map(int, row[1 : 1 + int(row[0])])], int(row[0]), vertices)


def _check_face(corners: Sequence[int], count: int, vertices: int) -> None:
    if len(corners) != count or not all(0 <= corner < vertices for corner in corners):
        raise ValueError(f'a face has not {count} of the {vertices} vertices')


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


def _check_ply(data: bytes) -> None:
    """Go through all values that the head of a PLY file tells of."""
    head = _PLY_HEAD.match(data)
    if head is None:
        raise ValueError('it is no PLY file, or cut off')
    kind, elements = _read_ply_head(head[0].decode('ascii', 'replace'))
    values = _PlyValues(data[head.end() :], kind)
    for name, (count, properties) in elements.items():
        if values.binary and not any(kind == 'list' for kind, *_ in properties):
            for kind, _ in properties:
                values.take(kind, count)
            continue
        for _ in range(count):
            values.begin_row()
            for kind, *others in properties:
                if kind != 'list':
                    values.take(kind, 1)
                    continue
                length = int(values.take(others[0], 1)[0])
                found = values.take(others[1], length)
                if name == 'face' and others[2].startswith('vertex_ind'):
                    if 'float' in others[1] or 'double' in others[1]:
                        raise ValueError(f'its indices are of type {others[1]}')
                    _check_face([*map(int, found)], length, elements['vertex'][0])
    values.check_end()


class _PlyValues:
    """Values of a PLY file, one after the other: words of lines, or of a binary file numbers."""

    def __init__(self, data: bytes, kind: str) -> None:
        self._order = {'binary_little_endian': '<', 'binary_big_endian': '>'}.get(kind, '')
        self.binary = bool(self._order)
        self._rows = iter(() if self.binary else filter(None, map(bytes.split, data.splitlines())))
        self._data: bytes | list[bytes] = data if self.binary else []
        self._place = 0

    def begin_row(self) -> None:
        """Go on to the next line of a text."""
        if not self.binary:
            self._check_place()
            self._data, self._place = next(self._rows, []), 0

    def take(self, kind: str, count: int) -> Sequence[bytes | float]:
        codes, start = f'{self._order}{count}{_PLY_CODES[kind]}', self._place
        self._place += struct.calcsize(codes) if self.binary else count
        if self._place > len(self._data):
            raise ValueError('it is cut off')
        if isinstance(self._data, list):
            return self._data[start : self._place]
        return struct.unpack_from(codes, self._data, start)

    def check_end(self) -> None:
        self._check_place()
        if next(self._rows, None) is not None:
            raise ValueError('it is longer than it says')

    def _check_place(self) -> None:
        rest = self._data[self._place :]
        if rest if isinstance(rest, list) else rest.strip():
            raise ValueError('it is longer than it says')


_TRANSFORMS = ('matrix', 'translate', 'rotate', 'scale', 'lookat')
_PRIMITIVES = ('triangles', 'polylist', 'polygons', 'trifans', 'tristrips')
_MOST_NODES, _MOST_TRANSFORMS = 10_000, 1_000  # of a Collada file, and of one of its nodes


def _flat_collada(data: bytes) -> bytes:
    """Return the scene of a Collada file as nodes side by side, a mesh of one primitive each."""
    root = ElementTree.fromstring(data)
    for element in root.iter():
        element.tag = element.tag.rpartition('}')[2]
    flat = Element('COLLADA', version=root.get('version', '1.4.1'))
    library = SubElement(flat, 'library_geometries')
    meshes = {
        f'#{geometry.get("id")}': [*_primitives_apart(geometry, library)]
        for geometry in root.iter('geometry')
        if geometry.find('mesh') is not None
    }
    scene = SubElement(SubElement(flat, 'library_visual_scenes'), 'visual_scene', id='scene')
    SubElement(SubElement(flat, 'scene'), 'instance_visual_scene', url='#scene')
    for transforms, instance in _shown(root):
        for url in _named(instance, meshes):
            node = SubElement(scene, 'node')
            node.extend(transforms)
            SubElement(node, 'instance_geometry', url=url)
    return ElementTree.tostring(flat)


def _primitives_apart(geometry: Element, library: Element) -> Iterator[str]:
    """Move the primitives of a geometry to others, and yield the addresses of these."""
    mesh = geometry.find('mesh')
    assert mesh is not None
    library.append(geometry)
    for primitive in [child for child in mesh if child.tag in _PRIMITIVES]:
        if re.search(r'[^\s\d]', ''.join(primitive.itertext())):  # Assimp would not come back
            raise ValueError(f'its <{primitive.tag}> hold something else than indices')
        mesh.remove(primitive)
        name = f'{geometry.get("id")}/{len(library)}'
        part = SubElement(SubElement(library, 'geometry', id=name), 'mesh')
        part.extend([*mesh.iterfind('vertices'), primitive])
        yield f'#{name}'


def _shown(root: Element) -> Iterator[tuple[Sequence[Element], Element]]:
    """Yield each instance of a geometry in a scene, with the transforms from the scene to it."""
    scenes, nodes = (
        {f'#{element.get("id")}': element for element in root.iter(tag)}
        for tag in ('visual_scene', 'node')
    )
    shown = root.find('scene/instance_visual_scene')
    if shown is None:
        raise ValueError('it has no scene')
    pending: list[tuple[tuple[Element, ...], Element]] = [((), _named(shown, scenes))]
    visited = 0
    while pending:
        above, node = pending.pop()
        for tag in ('instance_controller', 'skew'):
            if node.find(tag) is not None:
                raise ValueError(f'its <{tag}> is not read')
        transforms = (*above, *(child for child in node if child.tag in _TRANSFORMS))
        visited += 1
        if visited > _MOST_NODES or len(transforms) > _MOST_TRANSFORMS:
            raise ValueError(f'it shows more than {_MOST_NODES} nodes, or one in itself')
        pending += [(transforms, child) for child in node.iterfind('node')]
        pending += [(transforms, _named(each, nodes)) for each in node.iterfind('instance_node')]
        for instance in node.iterfind('instance_geometry'):
            yield transforms, instance


_T = TypeVar('_T')


def _named(instance: Element, elements: Mapping[str, _T]) -> _T:
    url = instance.get('url', '')
    if url not in elements:
        raise ValueError(f'it shows {url[:80]}, which is not in the file')
    return elements[url]
