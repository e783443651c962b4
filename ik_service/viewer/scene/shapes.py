"""The shapes that a robot is seen as in a picture that is drawn by casting rays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ik_service.kinematics.tree import link_poses
from ik_service.robot import Robot
from ik_service.viewer.scene.parts import Part
from ik_service.viewer.scene.raycast import BOX, CYLINDER, Shape, SPHERE
from ik_service.viewer.scene.visuals import Box, Color, Cylinder, Sphere

AXIS_COLORS = ((0.90, 0.15, 0.15), (0.10, 0.62, 0.20), (0.12, 0.35, 0.95))
"""Of the x, y and z axis of a frame: red, green and blue, 0 to 1."""

_AXIS_RADIUS = 0.0045  # [m]
_PLAIN: Color = (0.80, 0.82, 0.85)  # where the URDF names no colour


def arm_shapes(
    robot: Robot, parts: Sequence[Part], joints: Mapping[str, float], still: bool = True
) -> list[Shape]:
    """
    Return what is visible of a robot.

    :param parts: what it is drawn as; only boxes, cylinders and spheres.
    :param joints: joint positions by name [rad] or [m].
    :param still: whether to include the root link, which does not move.
    :returns: in the frame of the root link.
    """
    poses = link_poses(robot, joints)
    return [
        Shape(*_solid(part.solid), poses[part.link] @ part.T_link_solid, part.color or _PLAIN)
        for part in parts
        if still or part.link != robot.root_link
    ]


def triad(T: np.ndarray, length: float) -> list[Shape]:
    """Return the axes of a frame (4, 4), of a length [m]: x red, y green, z blue."""
    shapes = []
    for axis, color in enumerate(AXIS_COLORS):
        along = T.copy()  # with the axis as its z axis
        along[:3, :3] = np.roll(T[:3, :3], 2 - axis, axis=1)
        along[:3, 3] += T[:3, axis] * length / 2
        shapes.append(
            Shape(CYLINDER, np.array([_AXIS_RADIUS, _AXIS_RADIUS, length / 2]), along, color)
        )
    return shapes


def _solid(solid: Box | Cylinder | Sphere) -> tuple[int, np.ndarray]:
    """Return the kind and the half extents of a solid."""
    if isinstance(solid, Box):
        return BOX, np.array(solid.size) / 2
    if isinstance(solid, Cylinder):
        return CYLINDER, np.array([solid.radius, solid.radius, solid.length / 2])
    return SPHERE, np.full(3, solid.radius)
