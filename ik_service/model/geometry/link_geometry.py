"""
Shapes of the ``<visual>`` and ``<collision>`` elements of a URDF.

The kinematic model does without them (:mod:`ik_service.model.urdf`), so they are read here,
element by element: a faulty one ends nothing but itself. Unknown elements are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from xml.etree.ElementTree import Element

import numpy as np

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.model.description import RobotDescription
from ik_service.model.geometry.solids import Box, Capsule, Cylinder, Sphere


class NoExtentError(ValueError):
    """
    A shape has no surface, so that it is no obstacle: it is a line or a point.

    :param lengths: its sizes [m], or factors.
    :ivar sizes: them as text.
    """

    def __init__(self, lengths: tuple[float, ...]) -> None:
        self.sizes = ' '.join(f'{length:g}' for length in lengths)
        super().__init__(f'it has no extent: {self.sizes}')


@dataclass(frozen=True)
class MeshFile:
    """
    Mesh in a file.

    :ivar filename: as it stands in the URDF.
    :ivar scale: factors along x, y and z.
    """

    filename: str
    scale: tuple[float, float, float]


Geometry = Box | Capsule | Cylinder | Sphere | MeshFile

_SHAPES = ('box', 'capsule', 'cylinder', 'sphere', 'mesh')
_SHAPE_NAMES = f'{", ".join(_SHAPES[:-1])} or {_SHAPES[-1]}'


def parsed_element(element: Element) -> tuple[Geometry, np.ndarray]:
    """
    Return the shape of a ``<visual>`` or ``<collision>``, and its pose.

    :returns: the shape, and (4, 4) T_link_shape [m].
    :raises NoExtentError: the shape has no surface; a box without height still is a plate.
    :raises ValueError: the element is faulty.
    """
    count = len(element.findall('geometry'))
    if count != 1:
        raise ValueError(f'it has {"more than one" if count else "no"} <geometry>')
    return _geometry(element), origin_matrix(element)


def numbers(element: Element, attribute: str, default: str | None = None) -> list[float]:
    """
    Return the numbers of an attribute, which blanks part.

    :param attribute: the name of the attribute.
    :param default: the value for a missing one; without it a missing one is an error.
    :raises ValueError: it is missing, or something in it is no number.
    """
    text = element.get(attribute, default)
    if text is None:
        raise ValueError(f'<{element.tag}> has no {attribute}')
    try:
        if not text.isascii() or '_' in text:  # which float() alone would take
            raise ValueError(f'{text[:80]!r} is no number')
        return [float(word) for word in text.split()]
    except ValueError as error:
        raise ValueError(f'<{element.tag}> {attribute}: {error}') from error


def _geometry(element: Element) -> Geometry:
    children = [*element.iterfind('geometry/*')]
    shapes = [child for child in children if child.tag in _SHAPES]
    if len(shapes) != 1:
        found = ', '.join(child.tag for child in children) or 'nothing'
        raise ValueError(f'<geometry> has to hold one {_SHAPE_NAMES}, not {found}')
    (shape,) = shapes
    if shape.tag == 'mesh':
        return _mesh(shape)
    if shape.tag == 'box':
        x, y, z = _lengths(shape, 'size', 3)
        _check_extent(x, y, z)
        return Box((x, y, z))
    (radius,) = _lengths(shape, 'radius')
    if shape.tag == 'sphere':
        _check_extent(radius)
        return Sphere(radius)
    (length,) = _lengths(shape, 'length')
    if shape.tag == 'capsule':
        _check_extent(radius)
        return Capsule(radius, length) if length > 0.0 else Sphere(radius)
    _check_extent(radius)
    return Cylinder(radius, length)


def _mesh(element: Element) -> MeshFile:
    filename = element.get('filename')
    if filename is None:
        raise ValueError('<mesh> has no filename')
    scale = numbers(element, 'scale', '1')
    if len(scale) == 1:  # that of all directions
        scale *= 3
    if len(scale) != 3 or not all(map(math.isfinite, scale)):
        raise ValueError(f'scale {element.get("scale")} of {filename} is unusable')
    _check_extent(*scale)
    return MeshFile(filename, (scale[0], scale[1], scale[2]))


def _lengths(element: Element, attribute: str, count: int = 1) -> list[float]:
    lengths = numbers(element, attribute)
    if len(lengths) != count:
        raise ValueError(f'<{element.tag}> {attribute}: {count} number(s) needed')
    for length in lengths:
        if not 0.0 <= length < math.inf:
            raise ValueError(f'{length} is no length')
    return lengths


def _check_extent(*lengths: float) -> None:
    if lengths.count(0.0) > len(lengths) // 2:  # two of a box or mesh, or the radius
        raise NoExtentError(lengths)


def origin_matrix(element: Element) -> np.ndarray:
    """Return (4, 4) of the only ``<origin>``, the identity without; raises ValueError."""
    origins = element.findall('origin')
    if not origins:
        return np.eye(4)
    if len(origins) > 1:
        raise ValueError('it has more than one <origin>')
    if 'quat_xyzw' in origins[0].attrib:
        raise ValueError('<origin> quat_xyzw is not supported; give rpy')
    xyz, rpy = (numbers(origins[0], attribute, '0 0 0') for attribute in ('xyz', 'rpy'))
    if len(xyz) != 3 or len(rpy) != 3:
        raise ValueError('<origin> needs three numbers for xyz and rpy each')
    if not all(map(math.isfinite, (*xyz, *rpy))):
        raise ValueError('<origin> holds a number that is not finite')
    return transform_from_xyz_rpy(xyz, rpy)


@dataclass(frozen=True, eq=False)
class CollisionGeometry:
    """
    Shape that stands for a link, or a part of it, in collision checks.

    :ivar link: the link's name.
    :ivar geometry: the shape; None where the element is faulty.
    :ivar T_link_geometry: (4, 4) pose of the shape's centre in the link's frame [m].
    :ivar fault: the fault of the element; empty for none.
    :ivar remark: why it is no obstacle although nothing is wrong, such as a box without extent;
        then there is no shape and no fault. Stands in :attr:`ik_service.Robot.remarks`.
    """

    link: str
    geometry: Geometry | None
    T_link_geometry: np.ndarray
    fault: str = ''
    remark: str = ''


def read_collision_geometry(description: RobotDescription) -> tuple[CollisionGeometry, ...]:
    """Read the shapes for collision checks of a description, in document order."""
    found = []
    for link, element in description.elements_of_links('collision'):
        try:
            geometry, T = parsed_element(element)
            found.append(CollisionGeometry(link, geometry, T))
        except NoExtentError as error:
            remark = f'a collision shape without extent ({error.sizes}) is no obstacle'
            found.append(CollisionGeometry(link, None, np.eye(4), remark=remark))
        except ValueError as error:
            found.append(CollisionGeometry(link, None, np.eye(4), str(error)))
    return tuple(found)
