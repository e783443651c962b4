"""
The ``<visual>`` elements of a URDF.

A faulty visual is left out and reported, and the robot is shown without it.

This package stands in for ``viser.extras.ViserUrdf`` with yourdfpy, which was tried (viser 1.1,
yourdfpy 0.0.60): one faulty visual ends it; a robot without visuals, or a link whose mesh is
missing, cannot be seen; colours are too pale, since they pass through glTF without conversion;
ghosts flicker inside the arm and throw shadows; it opens any file that a description names, even
one from a topic; it needs 25 further packages (237 MB). It had one advantage, the colours of
Collada files, which :mod:`~ik_service.extras.viewer.scene.meshes` has adopted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from xml.etree import ElementTree

import numpy as np

from ik_service.model.description import RobotDescription
from ik_service.model.geometry.link_geometry import Geometry, numbers, parsed_element
from ik_service.model.part_names import named

Color = tuple[float, float, float]


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


def read_visuals(description: RobotDescription) -> RobotVisuals:
    """
    Read the visible parts of a robot.

    :param description: the parsed text of the robot.
    """
    colors = dict(_colors(description.root))
    visuals: list[Visual] = []
    warnings: list[str] = []
    for link, element in description.elements_of_links('visual'):
        try:
            visuals.append(_visual(link, element, colors))
        except ValueError as error:
            warnings.append(f'{named("link", link)}: a visual is not shown: {error}')
    return RobotVisuals(tuple(visuals), tuple(warnings))


def _visual(link: str, element: ElementTree.Element, colors: dict[str, Color]) -> Visual:
    geometry, T_link_geometry = parsed_element(element)
    color = None
    material = element.find('material')
    if material is not None:
        own = material.find('color')
        color = colors.get(material.get('name', '')) if own is None else _color(own)
    return Visual(link, geometry, T_link_geometry, color)


def _colors(root: ElementTree.Element) -> Iterator[tuple[str, Color]]:
    """Yield the names and colours of the robot's materials."""
    for material in root.findall('material'):
        color = material.find('color')
        if color is None:
            continue
        try:
            yield material.get('name', ''), _color(color)
        except ValueError:  # what refers to it is drawn in the colour for none
            continue


def _color(element: ElementTree.Element) -> Color:
    rgba = numbers(element, 'rgba')
    if len(rgba) not in (3, 4) or not all(map(math.isfinite, rgba)):
        raise ValueError(f'<color> rgba: {element.get("rgba")} is no colour')
    red, green, blue = (min(max(value, 0.0), 1.0) for value in rgba[:3])
    return red, green, blue
