"""Nodes of arms and of the known world in the scene of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from viser import BoxHandle, CylinderHandle, IcosphereHandle, MeshHandle, SceneApi, SceneNodeHandle

from ik_service.common.quaternions import quaternion_wxyz_from_rotation
from ik_service.extras.viewer.scene.meshes import Color, DrawnMesh
from ik_service.extras.viewer.scene.parts import DrawnPart
from ik_service.model.geometry.solids import Box, Cylinder

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
    scene: SceneApi, name: str, part: DrawnPart, T: np.ndarray, style: Style = PLAIN
) -> PartNode:
    """Add a part to a scene, with T (4, 4) of its shape in the frame of the node above [m]."""
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
    if isinstance(geometry, DrawnMesh):
        vertices, faces = geometry.vertices, geometry.faces
        return scene.add_mesh_simple(name, vertices, faces, side='double', **appearance)
    if isinstance(geometry, Box):
        return scene.add_box(name, dimensions=geometry.size, **appearance)
    if isinstance(geometry, Cylinder):
        radius, height = geometry.radius, geometry.height
        return scene.add_cylinder(name, radius=radius, height=height, **appearance)
    return scene.add_icosphere(name, radius=geometry.radius, **appearance)


def set_pose(node: SceneNodeHandle, T: np.ndarray) -> None:
    """Move a node to T (4, 4) in the frame of the node above [m], unless it is there."""
    node.wxyz = np.array(quaternion_wxyz_from_rotation(T[:3, :3]))
    node.position = T[:3, 3]


def part_color(part: DrawnPart, style: Style = PLAIN) -> tuple[int, int, int]:
    """Return the colour of a part, 0 to 255."""
    red, green, blue = style.color or part.color or _PLAIN
    return round(255 * red), round(255 * green), round(255 * blue)


class WorldModel:
    """Objects of the world, and attached ones, in a scene. To be used from one thread."""

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

    def show(self, parts: Sequence[DrawnPart], poses: Mapping[str, np.ndarray]) -> None:
        """Show the parts of links with a pose; those that were shown unchanged are left alone."""
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
        """Move the parts with their links, to T_root_link (4, 4) by link [m]."""
        for body in self._bodies:
            body.move(poses[body.part.link] @ body.part.T_link_geometry)

    def remove(self) -> None:
        """Remove all parts from the scene."""
        self.show((), {})
        self._root.remove()


class _Body:
    """Part in the scene, with the pose T (4, 4) of its shape in the root's frame [m]."""

    def __init__(self, scene: SceneApi, name: str, part: DrawnPart, T: np.ndarray) -> None:
        self.part = part
        self._node = add_part(scene, name, part, T)

    def turn_into(self, part: DrawnPart, T: np.ndarray) -> bool:
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
        set_pose(self._node, T)

    def remove(self) -> None:
        self._node.remove()


def _is_same_shape(one: object, other: object) -> bool:
    if isinstance(one, DrawnMesh) and isinstance(other, DrawnMesh):
        return np.array_equal(one.vertices, other.vertices) and np.array_equal(
            one.faces, other.faces
        )
    return type(one) is type(other) and one == other


GHOST = Style(color=(0.16, 0.50, 0.95), opacity=0.35, scale=1.015)
PREVIEW = Style(color=(0.48, 0.32, 0.78), opacity=0.30, scale=1.015)
SOLID = Style(color=(0.96, 0.55, 0.10), opacity=0.45, scale=1.01)
COLLIDING = Style(color=(0.90, 0.22, 0.18))

_SAME = 6e-3  # difference of two poses below which they look the same [m] and (rotation) [rad]


class ArmModel:
    """Arm in a scene."""

    def __init__(
        self,
        scene: SceneApi,
        name: str,
        links: Sequence[str],
        parts: Sequence[DrawnPart],
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
        """Move links to T_root_link [m]; those where ``beside`` has them would flicker: hidden."""
        if not self._drawn:
            return
        T = np.array([poses[link] for link in self._drawn])
        for frame, pose in zip(self._frames, T, strict=True):
            set_pose(frame, pose)
        if beside is not None:
            other = np.array([beside[link] for link in self._drawn])
            apart = np.abs(T - other).max(axis=(1, 2)) > _SAME
            for frame, shown in zip(self._frames, apart.tolist(), strict=True):
                frame.visible = shown

    def highlight(self, links: frozenset[str]) -> None:
        """Colour links as those that collide, and all others as ever."""
        changed = self._highlighted ^ links
        self._highlighted = links
        for part, node in self._nodes:
            if part.link in changed:
                style = COLLIDING if part.link in links else self._style
                node.color = part_color(part, style)

    def remove(self) -> None:
        """Remove the arm from the scene."""
        self._root.remove()
