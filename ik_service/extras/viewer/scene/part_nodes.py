"""Nodes of parts in the scene of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from viser import BoxHandle, CylinderHandle, IcosphereHandle, MeshHandle, SceneApi

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.extras.viewer.scene.meshes import Mesh
from ik_service.extras.viewer.scene.parts import Part
from ik_service.extras.viewer.scene.visuals import Color
from ik_service.model.geometry.link_geometry import Box, Cylinder

PartNode = BoxHandle | CylinderHandle | IcosphereHandle | MeshHandle

_PLAIN: Color = (0.80, 0.82, 0.85)  # where neither URDF nor mesh names a colour


@dataclass(frozen=True)
class Style:
    """
    Style of parts.

    :ivar color: colour of all parts; None for each part's own.
    :ivar opacity: 0 to 1; None for each part's own.
    :ivar scale: a little more than 1 keeps a ghost from flickering inside the arm.
    """

    color: Color | None = None
    opacity: float | None = None
    scale: float = 1.0


PLAIN = Style()


class _Appearance(TypedDict):
    """Arguments that all kinds of nodes have in common."""

    color: tuple[int, int, int]
    opacity: float | None
    scale: float
    cast_shadow: bool
    receive_shadow: bool
    wxyz: np.ndarray
    position: np.ndarray


def add_part(
    scene: SceneApi, name: str, part: Part, T: np.ndarray, style: Style = PLAIN
) -> PartNode:
    """
    Add a part to a scene.

    :param scene: the scene.
    :param name: path of its node.
    :param part: the part.
    :param T: (4, 4) pose of its shape in the frame of the node above [m].
    :param style: the style that it is drawn in.
    :returns: the node.
    """
    geometry = part.geometry
    opacity = part.opacity if style.opacity is None else style.opacity
    appearance: _Appearance = {
        'color': part_color(part, style),
        'opacity': opacity,
        'scale': style.scale,
        'cast_shadow': opacity is None,
        'receive_shadow': opacity is None,
        'wxyz': np.array(quaternion_wxyz_from_rotation(T[:3, :3])),
        'position': T[:3, 3],
    }
    if isinstance(geometry, Mesh):
        vertices, faces = geometry.vertices, geometry.faces
        return scene.add_mesh_simple(name, vertices, faces, side='double', **appearance)
    if isinstance(geometry, Box):
        return scene.add_box(name, dimensions=geometry.size, **appearance)
    if isinstance(geometry, Cylinder):
        radius, height = geometry.radius, geometry.length
        return scene.add_cylinder(name, radius=radius, height=height, **appearance)
    return scene.add_icosphere(name, radius=geometry.radius, **appearance)


def part_color(part: Part, style: Style = PLAIN) -> tuple[int, int, int]:
    """
    Return the colour of a part, 0 to 255.

    :param part: the part.
    :param style: the style that it is drawn in.
    """
    red, green, blue = style.color or part.color or _PLAIN
    return round(255 * red), round(255 * green), round(255 * blue)
