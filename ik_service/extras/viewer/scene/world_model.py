"""Nodes of the known world in the scene of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from viser import SceneApi

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.extras.viewer.scene.meshes import Mesh
from ik_service.extras.viewer.scene.part_nodes import add_part, part_color
from ik_service.extras.viewer.scene.parts import Part


class WorldModel:
    """
    Objects of the world, and attached ones, in a scene. To be used from one thread.

    :param scene: the scene.
    :param name: path of its node in the scene.
    """

    def __init__(self, scene: SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._root = scene.add_frame(name, show_axes=False)
        self._bodies: list[_Body] = []

    @property
    def visible(self) -> bool:
        """Whether the parts are shown."""
        return self._root.visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._root.visible = visible

    def show(self, parts: Sequence[Part], poses: Mapping[str, np.ndarray]) -> None:
        """
        Show parts instead of those before; what has not changed is left alone.

        :param parts: the parts.
        :param poses: (4, 4) T_root_link by link [m]; parts of other links are not shown.
        """
        parts = [part for part in parts if part.link in poses]
        for body in self._bodies[len(parts) :]:
            body.remove()
        del self._bodies[len(parts) :]
        for number, part in enumerate(parts):
            T = poses[part.link] @ part.T_link_geometry
            if number < len(self._bodies):
                if self._bodies[number].turn_into(part, T):
                    continue
                self._bodies.pop(number).remove()
            self._bodies.insert(number, _Body(self._scene, f'{self._name}/{number}', part, T))

    def place(self, poses: Mapping[str, np.ndarray]) -> None:
        """
        Move the parts with their links.

        :param poses: (4, 4) T_root_link by link [m].
        """
        for body in self._bodies:
            body.move(poses[body.part.link] @ body.part.T_link_geometry)

    def remove(self) -> None:
        """Remove all parts from the scene."""
        self.show((), {})
        self._root.remove()


class _Body:
    """
    Part in the scene.

    :param scene: the scene.
    :param name: path of its node.
    :param part: the part.
    :param T: (4, 4) pose of its shape in the root's frame [m].
    """

    def __init__(self, scene: SceneApi, name: str, part: Part, T: np.ndarray) -> None:
        self.part, self._T = part, T
        self._node = add_part(scene, name, part, T)

    def turn_into(self, part: Part, T: np.ndarray) -> bool:
        """Take another part's colour and pose, if it looks alike otherwise; return whether."""
        old = self.part
        if part.opacity != old.opacity or not _is_same_shape(part.geometry, old.geometry):
            return False
        if part_color(part) != part_color(old):
            self._node.color = part_color(part)
        self.part = part
        self.move(T)
        return True

    def move(self, T: np.ndarray) -> None:
        if not np.array_equal(T, self._T):
            self._T = T
            self._node.wxyz = np.array(quaternion_wxyz_from_rotation(T[:3, :3]))
            self._node.position = T[:3, 3]

    def remove(self) -> None:
        self._node.remove()


def _is_same_shape(one: object, other: object) -> bool:
    if isinstance(one, Mesh) and isinstance(other, Mesh):
        return np.array_equal(one.vertices, other.vertices) and np.array_equal(
            one.faces, other.faces
        )
    return type(one) is type(other) and one == other
