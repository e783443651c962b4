"""
Shapes of the ``<visual>`` and ``<collision>`` elements of a URDF.

The kinematic model does without them (:mod:`ik_service.model.urdf`), so they are read here, by
urdf_parser_py, element by element: a faulty one ends nothing but itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
import math
from xml.etree import ElementTree

import numpy as np
from urdf_parser_py import urdf as urdf_xml

from ik_service.common.transforms import transform_from_xyz_rpy

_KNOWN: dict[str, tuple[str, ...]] = {  # elements and attributes that are read
    'visual': (),
    'collision': (),
    'origin': ('xyz', 'rpy'),
    'geometry': (),
    'box': ('size',),
    'cylinder': ('radius', 'length'),
    'sphere': ('radius',),
    'mesh': ('filename', 'scale'),
    'material': ('name',),
    'color': ('rgba',),
}
_CHILDREN: dict[str, Collection[str]] = {
    'visual': ('origin', 'geometry', 'material'),
    'collision': ('origin', 'geometry'),
    'material': ('color',),
    'geometry': _KNOWN.keys() - {'visual', 'collision', 'origin', 'geometry', 'material', 'color'},
}


class NoExtentError(ValueError):
    """A shape has no extent along some direction, so that it is no obstacle."""


@dataclass(frozen=True)
class Box:
    """
    Box.

    :ivar size: its extent along x, y and z [m].
    """

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Cylinder:
    """
    Cylinder about its z axis.

    :ivar radius: its radius [m].
    :ivar length: its length [m].
    """

    radius: float
    length: float


@dataclass(frozen=True)
class Sphere:
    """
    Sphere.

    :ivar radius: its radius [m].
    """

    radius: float


@dataclass(frozen=True)
class MeshFile:
    """
    Mesh in a file.

    :ivar filename: as it stands in the URDF.
    :ivar scale: factors along x, y and z.
    """

    filename: str
    scale: tuple[float, float, float]


Geometry = Box | Cylinder | Sphere | MeshFile


def parsed_element(
    element: ElementTree.Element,
) -> tuple[Geometry, np.ndarray, urdf_xml.Material | None]:
    """
    Return shape, place and material of a ``<visual>`` or ``<collision>``.

    :param element: the element.
    :returns: its shape, (4, 4) T_link_shape [m], and the material where there is one.
    :raises Exception: it is faulty; urdf_parser_py raises whatever its helpers raise.
    """
    count = len(element.findall('geometry'))
    if count != 1:
        raise ValueError(f'it has {"more than one" if count else "no"} <geometry>')
    kind = urdf_xml.Visual if element.tag == 'visual' else urdf_xml.Collision
    parsed = kind.from_xml_string(ElementTree.tostring(known_part(element)))
    material = parsed.material if element.tag == 'visual' else None
    return _geometry(parsed.geometry), _origin_matrix(parsed.origin), material


def known_part(element: ElementTree.Element) -> ElementTree.Element:
    """
    Return a copy with what urdf_parser_py knows; it writes to stderr about all else.

    :param element: a ``<visual>``, ``<collision>`` or ``<material>``.
    :raises ValueError: a ``<geometry>`` in it is none.
    """
    copy = ElementTree.Element(element.tag)
    for attribute in _KNOWN[element.tag]:
        value = element.get(attribute)
        if value is not None:
            # One factor is one for all directions; urdf_parser_py takes three.
            one = attribute == 'scale' and len(value.split()) == 1
            copy.set(attribute, f'{value} {value} {value}' if one else value)
    known = _CHILDREN.get(element.tag, ())
    copy.extend([known_part(child) for child in element if child.tag in known])
    if element.tag == 'material' and copy.get('name') is None:
        copy.set('name', '')
    if element.tag == 'geometry' and len(copy) != 1:
        shapes = ', '.join(child.tag for child in element) or 'nothing'
        raise ValueError(f'<geometry> has to hold one box, cylinder, sphere or mesh, not {shapes}')
    return copy


def _geometry(geometry: urdf_xml.GeometricType) -> Geometry:
    if isinstance(geometry, urdf_xml.Box):
        return Box(_three(geometry.size))
    if isinstance(geometry, urdf_xml.Cylinder):
        return Cylinder(*_lengths(geometry.radius, geometry.length))
    if isinstance(geometry, urdf_xml.Sphere):
        return Sphere(*_lengths(geometry.radius))
    scale = [1.0, 1.0, 1.0] if geometry.scale is None else [*map(float, geometry.scale)]
    if len(scale) != 3 or not all(map(math.isfinite, scale)) or 0.0 in scale:
        raise ValueError(f'scale {geometry.scale} of {geometry.filename} is unusable')
    return MeshFile(str(geometry.filename), (scale[0], scale[1], scale[2]))


def _three(values: list[float]) -> tuple[float, float, float]:
    x, y, z = _lengths(*values)
    return x, y, z


def _lengths(*values: float) -> tuple[float, ...]:
    lengths = tuple(map(float, values))
    for length in lengths:
        if not 0.0 <= length < math.inf:
            raise ValueError(f'{length:g} is no length')
    if 0.0 in lengths:
        raise NoExtentError(' '.join(f'{length:g}' for length in lengths))
    return lengths


def _origin_matrix(origin: urdf_xml.Pose | None) -> np.ndarray:
    """
    Return the transform of an ``<origin>``.

    :returns: (4, 4) [m]; the identity without an origin.
    :raises ValueError: a number is not finite.
    """
    if origin is None:
        return np.eye(4)
    xyz, rpy = origin.xyz or (0.0, 0.0, 0.0), origin.rpy or (0.0, 0.0, 0.0)
    if not all(map(math.isfinite, (*xyz, *rpy))):
        raise ValueError('<origin> holds a number that is not finite')
    return transform_from_xyz_rpy(xyz, rpy)
