"""Parts that a robot is drawn as: its visuals with their meshes, or else a skeleton."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from xml.etree import ElementTree

import numpy as np

from ik_service.common.quoting import named
from ik_service.drawing.revolved_surface import capsule_surface
from ik_service.extras.viewer.scene.meshes import Color, DrawnMesh, MeshLoader
from ik_service.model.description import RobotDescription
from ik_service.model.geometry.link_geometry import (
    Geometry,
    MeshFile,
    numbers,
    parsed_element,
    read_collision_geometry,
)
from ik_service.model.geometry.solids import Box, Capsule, Cylinder, Sphere
from ik_service.robot import Robot


@dataclass(frozen=True)
class Visual:
    """Shape of a link, at T_link_geometry (4, 4) [m]; no colour, 0 to 1, where none is named."""

    link: str
    geometry: Geometry
    T_link_geometry: np.ndarray
    color: Color | None


@dataclass(frozen=True)
class RobotVisuals:
    """Visible parts of a robot."""

    visuals: tuple[Visual, ...]
    warnings: tuple[str, ...]


def read_visuals(description: RobotDescription) -> RobotVisuals:
    """Read the visible parts of a robot."""
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
        except ValueError:  # parts that refer to it are drawn in the colour for none
            continue


def _color(element: ElementTree.Element) -> Color:
    rgba = numbers(element, 'rgba')
    if len(rgba) not in (3, 4) or not all(map(math.isfinite, rgba)):
        raise ValueError(f'<color> rgba: {element.get("rgba")} is no colour')
    red, green, blue = (min(max(value, 0.0), 1.0) for value in rgba[:3])
    return red, green, blue


_PLACEHOLDER = Box((0.08, 0.08, 0.08))  # for a mesh that cannot be shown
_BONE, _KNUCKLE = 0.02, 0.035  # radii of a skeleton's links and joints [m]
_BONE_COLOR, _KNUCKLE_COLOR = (0.75, 0.78, 0.82), (0.35, 0.40, 0.47)
_SHORTEST_BONE = 1e-3  # [m]


@dataclass(frozen=True)
class DrawnPart:
    """Part to draw, at T_link_geometry (4, 4) [m]; colour and opacity 0 to 1, or None."""

    link: str
    geometry: Box | Cylinder | Sphere | DrawnMesh
    T_link_geometry: np.ndarray
    color: Color | None
    opacity: float | None = None


def robot_parts(robot: Robot, visuals: RobotVisuals, loader: MeshLoader) -> tuple[DrawnPart, ...]:
    """Parts of a robot by its visuals: boxes for unreadable meshes, a skeleton for none."""
    if not visuals.visuals:
        return skeleton(robot)
    return tuple(part for visual in visuals.visuals for part in _parts(visual, loader))


def collision_parts(robot: Robot, loader: MeshLoader) -> tuple[DrawnPart, ...]:
    """Return the shapes that collisions are checked with; faulty ones are left out."""
    return tuple(
        part
        for shape in read_collision_geometry(robot.description)
        if shape.geometry is not None
        for part in _parts(Visual(shape.link, shape.geometry, shape.T_link_geometry, None), loader)
    )


def skeleton(robot: Robot) -> tuple[DrawnPart, ...]:
    """Return cylinders from frames of links to the joints below them, and balls at joints."""
    parts = []
    for joint in robot.joints.values():
        end = joint.T_parent_joint[:3, 3]
        length = float(np.linalg.norm(end))
        if length > _SHORTEST_BONE:
            T = _along(end)
            parts.append(DrawnPart(joint.parent, Cylinder(_BONE, length), T, _BONE_COLOR))
        if joint.movable:
            T = np.eye(4)
            T[:3, 3] = end
            parts.append(DrawnPart(joint.parent, Sphere(_KNUCKLE), T, _KNUCKLE_COLOR))
    return tuple(parts)


def _parts(visual: Visual, loader: MeshLoader) -> Iterator[DrawnPart]:
    geometry, T = visual.geometry, visual.T_link_geometry
    if isinstance(geometry, Capsule):
        vertices, faces = capsule_surface(geometry.radius, geometry.length)
        surface = DrawnMesh(vertices.astype(np.float32), faces.astype(np.uint32))
        yield DrawnPart(visual.link, surface, T, visual.color)
        return
    if not isinstance(geometry, MeshFile):
        yield DrawnPart(visual.link, geometry, T, visual.color)
        return
    meshes = loader.get(geometry)
    for mesh in meshes:
        yield DrawnPart(visual.link, mesh, T, visual.color or mesh.color)
    if not meshes:
        yield DrawnPart(visual.link, _PLACEHOLDER, T, visual.color)


def _along(end: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of a cylinder from the origin to a point."""
    z = end / np.linalg.norm(end)
    aside = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = aside / np.linalg.norm(aside)
    T = np.eye(4)
    T[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    T[:3, 3] = end / 2
    return T
