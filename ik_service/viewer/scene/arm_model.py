"""An arm in the page: its parts, and where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from viser import SceneApi
from viser.transforms import SO3

from ik_service.viewer.scene.meshes import Mesh
from ik_service.viewer.scene.parts import Part
from ik_service.viewer.scene.visuals import Box, Color, Cylinder

_SAME = 6e-3  # difference of two poses below which they look the same [m] and (rotation) [rad]


@dataclass(frozen=True)
class Style:
    """
    How an arm is drawn.

    :ivar color: of all parts; None for each part's own.
    :ivar opacity: 0 to 1; None for opaque.
    :ivar scale: a little more than 1 keeps what is drawn twice from flickering.
    """

    color: Color | None = None
    opacity: float | None = None
    scale: float = 1.0


OPAQUE = Style()
GHOST = Style(color=(0.16, 0.50, 0.95), opacity=0.35, scale=1.015)
PREVIEW = Style(color=(0.48, 0.32, 0.78), opacity=0.30, scale=1.015)

_PLAIN: Color = (0.80, 0.82, 0.85)  # where the URDF names no colour


class ArmModel:
    """
    An arm in a scene.

    :param scene: the scene.
    :param name: path of its node in the scene.
    :param links: the robot's links.
    :param parts: what is drawn.
    :param style: how.
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
        """Whether it is shown."""
        return self._root.visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._root.visible = visible

    def place(
        self, poses: Mapping[str, np.ndarray], beside: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """
        Put it somewhere.

        :param poses: (4, 4) T_root_link by link.
        :param beside: where another arm is: links that are at the same place there are hidden,
            since two surfaces in one place flicker.
        """
        if not self._drawn:
            return
        T = np.array([poses[link] for link in self._drawn])
        wxyz = SO3.from_matrix(T[:, :3, :3]).wxyz
        for frame, pose, rotation in zip(self._frames, T, wxyz, strict=True):
            frame.wxyz, frame.position = rotation, pose[:3, 3]
        if beside is not None:
            other = np.array([beside[link] for link in self._drawn])
            apart = np.abs(T - other).max(axis=(1, 2)) > _SAME
            for frame, shown in zip(self._frames, apart.tolist(), strict=True):
                frame.visible = shown

    def remove(self) -> None:
        """Take it out of the scene."""
        self._root.remove()


def _add(scene: SceneApi, name: str, part: Part, style: Style) -> None:
    solid, T = part.solid, part.T_link_geometry
    color = style.color or part.color or _PLAIN
    common = {
        'color': tuple(round(255 * value) for value in color),
        'opacity': style.opacity,
        'scale': style.scale,
        'cast_shadow': style.opacity is None,
        'receive_shadow': style.opacity is None,
        'wxyz': SO3.from_matrix(T[:3, :3]).wxyz,
        'position': T[:3, 3],
    }
    if isinstance(solid, Mesh):
        scene.add_mesh_simple(name, solid.vertices, solid.faces, side='double', **common)
    elif isinstance(solid, Box):
        scene.add_box(name, dimensions=solid.size, **common)
    elif isinstance(solid, Cylinder):
        scene.add_cylinder(name, radius=solid.radius, height=solid.length, **common)
    else:
        scene.add_icosphere(name, radius=solid.radius, **common)
