"""The parts that a robot is drawn as: its visuals with their meshes read, or else a skeleton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.robot import Robot
from ik_service.viewer.scene.meshes import Mesh, MeshLibrary
from ik_service.viewer.scene.visuals import Box, Color, Cylinder, Look, MeshFile, Sphere, Visual

_UNREADABLE = Box((0.08, 0.08, 0.08))  # stands for a mesh that cannot be shown
_BONE, _KNUCKLE = 0.02, 0.035  # radii of a skeleton's links and joints [m]
_BONE_COLOR, _KNUCKLE_COLOR = (0.75, 0.78, 0.82), (0.35, 0.40, 0.47)
_SHORTEST_BONE = 1e-3  # [m]


@dataclass(frozen=True)
class Part:
    """
    A part to draw.

    :ivar link: the link that it moves with.
    :ivar solid: its shape.
    :ivar T_link_solid: (4, 4) pose of the shape in the link's frame [m].
    :ivar color: red, green and blue, 0 to 1; None where nothing names one.
    """

    link: str
    solid: Box | Cylinder | Sphere | Mesh
    T_link_solid: np.ndarray
    color: Color | None


def robot_parts(robot: Robot, look: Look, library: MeshLibrary) -> tuple[Part, ...]:
    """
    Return what a robot is drawn as.

    :param look: its visuals; without any it is drawn as a skeleton.
    :param library: reads the meshes; one that it cannot read is drawn as a box.
    """
    if not look.visuals:
        return skeleton(robot, frozenset(robot.links))
    return tuple(_part(visual, library) for visual in look.visuals)


def primitive_parts(robot: Robot, look: Look) -> tuple[Part, ...]:
    """
    Return what a robot is drawn as where meshes cannot be drawn.

    Links that have a mesh, and all links of a robot without visuals, are bones of a skeleton.
    """
    meshed = {visual.link for visual in look.visuals if isinstance(visual.solid, MeshFile)}
    bones = meshed if look.visuals else frozenset(robot.links)
    solid = [
        Part(visual.link, visual.solid, visual.T_link_solid, visual.color)
        for visual in look.visuals
        if not isinstance(visual.solid, MeshFile)
    ]
    return (*solid, *skeleton(robot, bones))


def skeleton(robot: Robot, links: frozenset[str] | set[str]) -> tuple[Part, ...]:
    """Return bones from the frames of links to the joints below them, and balls at the joints."""
    parts = []
    for joint in robot.joints.values():
        if joint.parent not in links:
            continue
        end = joint.T_parent_joint[:3, 3]
        length = float(np.linalg.norm(end))
        if length > _SHORTEST_BONE:
            T = _along(end)
            parts.append(Part(joint.parent, Cylinder(_BONE, length), T, _BONE_COLOR))
        if joint.movable:
            T = np.eye(4)
            T[:3, 3] = end
            parts.append(Part(joint.parent, Sphere(_KNUCKLE), T, _KNUCKLE_COLOR))
    return tuple(parts)


def _part(visual: Visual, library: MeshLibrary) -> Part:
    solid = visual.solid
    if isinstance(solid, MeshFile):
        solid = library.get(solid) or _UNREADABLE
    return Part(visual.link, solid, visual.T_link_solid, visual.color)


def _along(end: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of a cylinder from the origin to a point."""
    z = end / np.linalg.norm(end)
    aside = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = aside / np.linalg.norm(aside)
    T = np.eye(4)
    T[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    T[:3, 3] = end / 2
    return T
