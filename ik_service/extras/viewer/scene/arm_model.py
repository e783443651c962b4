"""Nodes of an arm in the scene of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from viser import SceneApi

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.extras.viewer.scene.part_nodes import add_part, part_color, PLAIN, Style
from ik_service.extras.viewer.scene.parts import Part

GHOST = Style(color=(0.16, 0.50, 0.95), opacity=0.35, scale=1.015)
PREVIEW = Style(color=(0.48, 0.32, 0.78), opacity=0.30, scale=1.015)
SOLID = Style(color=(0.96, 0.55, 0.10), opacity=0.45, scale=1.01)
COLLIDING = Style(color=(0.90, 0.22, 0.18))

_SAME = 6e-3  # difference of two poses below which they look the same [m] and (rotation) [rad]


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
        style: Style = PLAIN,
    ) -> None:
        self._root = scene.add_frame(name, show_axes=False, visible=False)
        self._drawn = [link for link in links if any(part.link == link for part in parts)]
        # By number: a link may be called anything, and a slash would begin another node.
        self._frames = [
            scene.add_frame(f'{name}/{number}', show_axes=False)
            for number in range(len(self._drawn))
        ]
        self._style = style
        self._highlighted: frozenset[str] = frozenset()
        self._nodes = [
            (part, add_part(scene, f'{name}/{parent}/{number}', part, part.T_link_geometry, style))
            for number, part in enumerate(parts)
            for parent, link in enumerate(self._drawn)
            if part.link == link
        ]

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

    def highlight(self, links: frozenset[str]) -> None:
        """
        Colour links as those that collide, and all others as ever.

        :param links: names of links.
        """
        changed = self._highlighted ^ links
        self._highlighted = links
        for part, node in self._nodes:
            if part.link in changed:
                style = COLLIDING if part.link in links else self._style
                node.color = part_color(part, style)

    def remove(self) -> None:
        """Remove the arm from the scene."""
        self._root.remove()
