"""The shapes that a robot is seen as: the boxes, cylinders and spheres of its URDF."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from raycast import BOX, CYLINDER, Shape, SPHERE
from urdf_parser_py import urdf as urdf_xml

import ik_service as iks
from ik_service.kinematics.tree import link_poses

_AXIS_COLORS = ((0.90, 0.15, 0.15), (0.10, 0.62, 0.20), (0.12, 0.35, 0.95))
_AXIS_RADIUS = 0.0045  # [m]


def arm_shapes(robot: iks.Robot, joints: Mapping[str, float], still: bool = True) -> list[Shape]:
    """
    Return what is visible of a robot.

    :param joints: joint positions by name [rad] or [m].
    :param still: whether to include the root link, which does not move.
    :returns: in the frame of the root link.
    """
    description = urdf_xml.URDF.from_xml_string(robot.urdf_text)
    colors = {material.name: material.color.rgba[:3] for material in description.materials}
    poses = link_poses(robot, joints)
    shapes = []
    for link in description.links:
        if link.name == robot.root_link and not still:
            continue
        for visual in link.visuals:
            T = poses[link.name] @ _transform(visual.origin)
            kind, half = _solid(visual.geometry)
            shapes.append(Shape(kind, half, T, colors[visual.material.name]))
    return shapes


def triad(T: np.ndarray, length: float) -> list[Shape]:
    """Return the axes of a frame (4, 4), of a length [m]: x red, y green, z blue."""
    shapes = []
    for axis, color in enumerate(_AXIS_COLORS):
        along = T.copy()  # with the axis as its z axis
        along[:3, :3] = np.roll(T[:3, :3], 2 - axis, axis=1)
        along[:3, 3] += T[:3, axis] * length / 2
        shapes.append(
            Shape(CYLINDER, np.array([_AXIS_RADIUS, _AXIS_RADIUS, length / 2]), along, color)
        )
    return shapes


def _solid(geometry: urdf_xml.GeometricType) -> tuple[int, np.ndarray]:
    """Return the kind and the half extents of a URDF geometry."""
    if isinstance(geometry, urdf_xml.Box):
        return BOX, np.array(geometry.size) / 2
    if isinstance(geometry, urdf_xml.Cylinder):
        return CYLINDER, np.array([geometry.radius, geometry.radius, geometry.length / 2])
    return SPHERE, np.full(3, geometry.radius)


def _transform(origin: urdf_xml.Pose | None) -> np.ndarray:
    """Return the (4, 4) transform of an ``<origin>``: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    T = np.eye(4)
    if origin is not None:
        T[:3, 3] = origin.xyz
        for axis, angle in enumerate(origin.rpy):
            c, s = np.cos(angle), np.sin(angle)
            R = np.roll([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]], (axis, axis), (0, 1))
            T[:3, :3] = R @ T[:3, :3]
    return T
