"""
The ``<visual>`` elements of a URDF.

The kinematic model does without them (:mod:`ik_service.model.sanitize`), so they are read here, by
urdf_parser_py, link by link: a faulty visual is left out and reported, and the robot is shown
without it.

This package stands in for ``viser.extras.ViserUrdf`` with yourdfpy, which was tried (viser 1.1,
yourdfpy 0.0.60): one faulty visual ends it; a robot without visuals, or a link whose mesh is
missing, cannot be seen; colours are too pale, since they pass through glTF without conversion;
ghosts flicker inside the arm and throw shadows; it opens any file that a description names, even
one from a topic; it needs 25 further packages (237 MB). It had one advantage, the colours of
Collada files, which :mod:`~ik_service.viewer.scene.meshes` has adopted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from xml.etree import ElementTree

import numpy as np
from urdf_parser_py import urdf as urdf_xml

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.model.part_names import named
from ik_service.model.safe_xml import read_elements

Color = tuple[float, float, float]

_KNOWN: dict[str, tuple[str, ...]] = {  # elements and attributes that are drawn
    'visual': (),
    'origin': ('xyz', 'rpy'),
    'geometry': (),
    'box': ('size',),
    'cylinder': ('radius', 'length'),
    'sphere': ('radius',),
    'mesh': ('filename', 'scale'),
    'material': ('name',),
    'color': ('rgba',),
}


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


@dataclass(frozen=True)
class Visual:
    """
    Visible part of a link.

    :ivar link: the link's name.
    :ivar geometry: its shape.
    :ivar T_link_geometry: (4, 4) pose of the shape's centre in the link's frame [m].
    :ivar color: red, green and blue, 0 to 1; None where the URDF names none.
    """

    link: str
    geometry: Geometry
    T_link_geometry: np.ndarray
    color: Color | None


@dataclass(frozen=True)
class RobotVisuals:
    """
    Visible parts of a robot.

    :ivar visuals: the parts.
    :ivar warnings: a sentence about each part that is left out.
    """

    visuals: tuple[Visual, ...]
    warnings: tuple[str, ...]


def read_visuals(text: str) -> RobotVisuals:
    """
    Read the visible parts of a robot.

    :param text: URDF text.
    :raises UrdfError: the text is no URDF, or is hostile.
    """
    read_elements(text)  # bounds, and no document types: what follows can be parsed as a tree
    root = ElementTree.fromstring(text.strip())
    colors = dict(_colors(root))
    visuals: list[Visual] = []
    warnings: list[str] = []
    for link in root.findall('link'):
        for element in link.findall('visual'):
            name = link.get('name', '')
            try:
                visuals.append(_visual(name, element, colors))
            except Exception as error:  # urdf_parser_py raises whatever its helpers raise
                warnings.append(f'{named("link", name)}: a visual is not shown: {error}')
    return RobotVisuals(tuple(visuals), tuple(warnings))


def _visual(link: str, element: ElementTree.Element, colors: dict[str, Color]) -> Visual:
    if element.find('geometry') is None:
        raise ValueError('it has no <geometry>')
    parsed = urdf_xml.Visual.from_xml_string(ElementTree.tostring(_known_part(element)))
    color = None
    if parsed.material is not None:
        own = parsed.material.color
        color = _color(own.rgba) if own is not None else colors.get(parsed.material.name)
    return Visual(link, _geometry(parsed.geometry), _origin_matrix(parsed.origin), color)


def _colors(root: ElementTree.Element) -> Iterator[tuple[str, Color]]:
    """Yield the names and colours of the robot's materials."""
    for material in root.findall('material'):
        color = material.find('color')
        if color is None:
            continue
        try:
            parsed = urdf_xml.Material.from_xml_string(ElementTree.tostring(_known_part(material)))
            yield parsed.name, _color(parsed.color.rgba)
        except Exception:  # as above; what refers to it is drawn in the colour for none
            continue


def _known_part(element: ElementTree.Element) -> ElementTree.Element:
    """Return a copy with what urdf_parser_py knows; it writes to stderr about all else."""
    copy = ElementTree.Element(element.tag)
    for attribute in _KNOWN[element.tag]:
        value = element.get(attribute)
        if value is not None:
            copy.set(attribute, value)
    copy.extend([_known_part(child) for child in element if child.tag in _KNOWN])
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
        return Cylinder(_length(geometry.radius), _length(geometry.length))
    if isinstance(geometry, urdf_xml.Sphere):
        return Sphere(_length(geometry.radius))
    scale = [1.0, 1.0, 1.0] if geometry.scale is None else [*map(float, geometry.scale)]
    if len(scale) != 3 or not all(map(math.isfinite, scale)) or 0.0 in scale:
        raise ValueError(f'scale {geometry.scale} of {geometry.filename} is unusable')
    return MeshFile(str(geometry.filename), (scale[0], scale[1], scale[2]))


def _three(values: list[float]) -> tuple[float, float, float]:
    x, y, z = map(_length, values)
    return x, y, z


def _length(value: float) -> float:
    if not 0.0 < float(value) < math.inf:
        raise ValueError(f'{value} is no length')
    return float(value)


def _color(rgba: list[float]) -> Color:
    red, green, blue = (min(max(float(value), 0.0), 1.0) for value in rgba[:3])
    return red, green, blue


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
