"""Nodes of an arm in the scene of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from viser import SceneApi

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.model.link_geometry import Box, Cylinder
from ik_service.viewer.scene.meshes import Mesh
from ik_service.viewer.scene.parts import Part
from ik_service.viewer.scene.visuals import Color

_SAME = 6e-3  # difference of two poses below which they look the same [m] and (rotation) [rad]


@dataclass(frozen=True)
class Style:
    """
    Style of an arm.

    :ivar color: colour of all parts; None for each part's own.
    :ivar opacity: 0 to 1; None for opaque.
    :ivar scale: a little more than 1 keeps a ghost from flickering inside the arm.
    """

    color: Color | None = None
    opacity: float | None = None
    scale: float = 1.0


OPAQUE = Style()
GHOST = Style(color=(0.16, 0.50, 0.95), opacity=0.35, scale=1.015)
PREVIEW = Style(color=(0.48, 0.32, 0.78), opacity=0.30, scale=1.015)

_PLAIN: Color = (0.80, 0.82, 0.85)  # where neither URDF nor mesh names a colour


class ArmModel:
    """
    Arm in a scene.

    :param scene: the scene.
    :param name: path of its node in the scene.
    :param links: the robot's links.
    :param parts: the parts that are drawn.
    :param style: the style that they are drawn in.
    """

    def __init__(
        self,
        scene: SceneApi,
        name: str,
        links: Sequence[str],
        parts: Sequence[Part],
        style: Style = OPAQUE,
    ) -> None:
        self._root = scene.add_frame(name, show_axes=False, visible=False)
        self._drawn = [link for link in links if any(part.link == link for part in parts)]
        # By number: a link may be called anything, and a slash would begin another node.
        self._frames = [
            scene.add_frame(f'{name}/{number}', show_axes=False)
            for number in range(len(self._drawn))
        ]
        for number, part in enumerate(parts):
            if part.link in self._drawn:
                parent = f'{name}/{self._drawn.index(part.link)}'
                _add(scene, f'{parent}/{number}', part, style)

    @property
    def visible(self) -> bool:
        """Whether the arm is shown."""
        return self._root.visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._root.visible = visible

    def place(
        self, poses: Mapping[str, np.ndarray], beside: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """
        Move the links.

        :param poses: (4, 4) T_root_link by link [m].
        :param beside: poses of another arm: links that are at the same place there are hidden,
            since two surfaces in one place flicker.
        """
        if not self._drawn:
            return
        T = np.array([poses[link] for link in self._drawn])
        for frame, pose in zip(self._frames, T, strict=True):
            frame.wxyz = np.array(quaternion_wxyz_from_rotation(pose[:3, :3]))
            frame.position = pose[:3, 3]
        if beside is not None:
            other = np.array([beside[link] for link in self._drawn])
            apart = np.abs(T - other).max(axis=(1, 2)) > _SAME
            for frame, shown in zip(self._frames, apart.tolist(), strict=True):
                frame.visible = shown

    def remove(self) -> None:
        """Remove the arm from the scene."""
        self._root.remove()


class _Appearance(TypedDict):
    """Arguments that all kinds of nodes have in common."""

    color: tuple[int, int, int]
    opacity: float | None
    scale: float
    cast_shadow: bool
    receive_shadow: bool
    wxyz: np.ndarray
    position: np.ndarray


def _add(scene: SceneApi, name: str, part: Part, style: Style) -> None:
    geometry, T = part.geometry, part.T_link_geometry
    red, green, blue = style.color or part.color or _PLAIN
    appearance: _Appearance = {
        'color': (round(255 * red), round(255 * green), round(255 * blue)),
        'opacity': style.opacity,
        'scale': style.scale,
        'cast_shadow': style.opacity is None,
        'receive_shadow': style.opacity is None,
        'wxyz': np.array(quaternion_wxyz_from_rotation(T[:3, :3])),
        'position': T[:3, 3],
    }
    if isinstance(geometry, Mesh):
        scene.add_mesh_simple(name, geometry.vertices, geometry.faces, side='double', **appearance)
    elif isinstance(geometry, Box):
        scene.add_box(name, dimensions=geometry.size, **appearance)
    elif isinstance(geometry, Cylinder):
        scene.add_cylinder(name, radius=geometry.radius, height=geometry.length, **appearance)
    else:
        scene.add_icosphere(name, radius=geometry.radius, **appearance)
