"""
Faces of Collada files, placed by the nodes of the scene.

Assimp's own reader is not used: it gives all primitives of one node the corners of the first,
drops triangles of fans, scales by ``<rotate>`` whose axis is no unit vector, and takes what is
no number for one. Names are those of the specification
(https://www.khronos.org/files/collada_spec_1_4.pdf).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
import math
import re
from typing import TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from ik_service.common.transforms import rigid_transform, rotation_about_axis

Faces = tuple[np.ndarray, np.ndarray | Sequence[Sequence[int]]]
"""Vertices (V, 3) [unit of the file], and for each face the indices of its corners."""

_SHAPES = ('triangles', 'polylist', 'polygons', 'trifans', 'tristrips')
_NUMBERS = {'matrix': 16, 'translate': 3, 'rotate': 4, 'scale': 3, 'lookat': 9}  # of transforms
_MOST_NODES = 10_000
_T = TypeVar('_T')


def read_collada(data: bytes) -> Iterator[Faces]:
    """
    Yield the faces of each primitive, wherever the scene shows it; lines are left out.

    :param data: the content of the file.
    :raises ValueError: it is faulty, or shows what is not read, such as a skin.
    """
    root = ElementTree.fromstring(data)
    for element in root.iter():
        element.tag = element.tag.rpartition('}')[2]
    named = {f'#{element.get("id")}': element for element in root.iter() if element.get('id')}
    meshes = {
        f'#{geometry.get("id")}': mesh
        for geometry in root.iter('geometry')
        for mesh in geometry.iterfind('mesh')
    }
    for T, instance in [*_shown(root)]:  # of a node in itself none is read
        for primitive in _named(instance, 'url', meshes):
            faces = _faces(primitive) if primitive.tag in _SHAPES else ()
            if len(faces):
                vertices = _vertices(primitive, named)
                yield vertices @ T[:3, :3].T + T[:3, 3], faces


def _shown(root: Element) -> Iterator[tuple[np.ndarray, Element]]:
    """Yield each instance of a geometry in a scene, with its pose (4, 4) there."""
    scenes, nodes = (
        {f'#{element.get("id")}': element for element in root.iter(tag)}
        for tag in ('visual_scene', 'node')
    )
    shown = root.find('scene/instance_visual_scene')
    if shown is None:
        raise ValueError('it has no scene')
    pending = [(np.eye(4), _named(shown, 'url', scenes))]
    visited = 0
    while pending:
        T, node = pending.pop()
        for tag in ('instance_controller', 'skew'):
            if node.find(tag) is not None:
                raise ValueError(f'its <{tag}> is not read')
        for child in node:
            if child.tag in _NUMBERS:
                T = T @ _transform(child)
        visited += 1
        if visited > _MOST_NODES:
            raise ValueError(f'it shows more than {_MOST_NODES} nodes, or one in itself')
        pending += [(T, child) for child in node.iterfind('node')]
        inner = node.iterfind('instance_node')
        pending += [(T, _named(each, 'url', nodes)) for each in inner]
        for instance in node.iterfind('instance_geometry'):
            yield T, instance


def _transform(element: Element) -> np.ndarray:
    values = _floats(element)
    if len(values) != _NUMBERS[element.tag] or not np.isfinite(values).all():
        raise ValueError(f'its <{element.tag}> needs {_NUMBERS[element.tag]} finite numbers')
    if element.tag == 'matrix':
        if values[12:].tolist() != [0.0, 0.0, 0.0, 1.0]:
            raise ValueError('the last row of a <matrix> is not 0 0 0 1')
        return values.reshape(4, 4)
    if element.tag == 'translate':
        return rigid_transform(position=values)
    if element.tag == 'scale':
        return np.diag([*values, 1.0])
    if element.tag == 'rotate':
        axis = values[:3] / (np.linalg.norm(values[:3]) or 1.0)
        return rigid_transform(rotation_about_axis(axis, math.radians(values[3])))
    eye, interest, up = values.reshape(3, 3)  # a camera's, which looks along −z
    back = eye - interest
    right = np.cross(up, back)
    if not right.any():
        raise ValueError('its <lookat> has no direction')
    axes = [right, np.cross(back, right), back]
    return rigid_transform(np.column_stack([a / np.linalg.norm(a) for a in axes]), eye)


def _faces(primitive: Element) -> Sequence[Sequence[int]]:
    """Return the indices of the corners of each face."""
    offsets = {
        entry.get('semantic'): int(entry.get('offset', '0'))
        for entry in primitive.iterfind('input')
    }
    if primitive.find('ph') is not None:
        raise ValueError('its <polygons> with holes are not read')
    step, rows = max(offsets.values(), default=0) + 1, []
    for element in primitive.iterfind('p'):
        indices = _indices(primitive, element)
        if len(indices) % step:
            raise ValueError(f'its <{primitive.tag}> are cut off')
        rows.append(indices[offsets.get('VERTEX', 0) :: step])
    if primitive.tag == 'triangles':
        corners, count = sum(map(len, rows)), int(primitive.get('count', '0'))
        if corners != 3 * count:
            raise ValueError(f'its <triangles> are said to be {count}, and hold {corners} corners')
        return _parts(primitive, [3] * (corners // 3), rows)
    if primitive.tag == 'polylist':
        counts = [_indices(primitive, element) for element in primitive.iterfind('vcount')]
        return _parts(primitive, [*chain(*counts)], rows)
    if primitive.tag == 'polygons':
        return rows
    strip = primitive.tag == 'tristrips'
    return [
        (row[i] if strip else row[0], row[i + 1], row[i + 2])
        for row in rows
        for i in range(len(row) - 2)
    ]


def _parts(
    primitive: Element, counts: Sequence[int], rows: Sequence[Sequence[int]]
) -> Sequence[Sequence[int]]:
    """Part rows of indices into faces of so many corners each."""
    row = (*chain(*rows),)
    if sum(counts) != len(row):
        raise ValueError(f'its <{primitive.tag}> hold {len(row)} corners, not {sum(counts)}')
    return [row[end - count : end] for count, end in zip(counts, accumulate(counts), strict=True)]


def _indices(primitive: Element, element: Element) -> list[int]:
    words = [*_words(element)]
    if len(element) or not all(word.isdecimal() for word in words):
        raise ValueError(f'its <{primitive.tag}> hold something else than indices')
    return [int(word) for word in words]


def _vertices(primitive: Element, named: Mapping[str, Element]) -> np.ndarray:
    """Return the vertices (V, 3) that a primitive names."""
    for semantic in ('VERTEX', 'POSITION'):
        entry = primitive.find(f'input[@semantic="{semantic}"]')
        if entry is None:
            raise ValueError(f'its <{primitive.tag}> name no {semantic}')
        primitive = _named(entry, 'source', named)
    accessor = primitive.find('technique_common/accessor')
    if accessor is None:
        raise ValueError('a <source> has no <accessor>')
    values = _floats(_named(accessor, 'source', named))
    count, stride, offset = (
        int(accessor.get(name, default))
        for name, default in (('count', '0'), ('stride', '1'), ('offset', '0'))
    )
    names = [param.get('name', '') for param in accessor.iterfind('param')]
    columns = [names.index(axis) if axis in names else i for i, axis in enumerate('XYZ')]
    if count < 0 or offset < 0 or stride <= max(columns) or len(values) < offset + count * stride:
        raise ValueError('a <source> is shorter than what it has to hold')
    return values[offset : offset + count * stride].reshape(count, stride)[:, columns]


def _floats(element: Element) -> np.ndarray:
    return np.fromiter((float(word) for word in _words(element)), np.float64)


def _words(element: Element) -> Iterator[str]:
    """Yield the words of a text one by one, not keeping Python's lock for all of them."""
    return (match[0] for match in re.finditer(r'\S+', element.text or ''))


def _named(element: Element, attribute: str, elements: Mapping[str, _T]) -> _T:
    name = element.get(attribute, '')
    if name not in elements:
        raise ValueError(f'it shows {name[:80]}, which is not in the file')
    return elements[name]
