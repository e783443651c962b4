"""Scene of the page: arms and the known world as nodes, the trail, the gizmo and the camera."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any, TypedDict

import numpy as np
from numpy.linalg import norm
import viser
from viser import BoxHandle, CylinderHandle, IcosphereHandle, MeshHandle, SceneApi, SceneNodeHandle

from ik_service.common.quaternions import (
    normalized_quaternion,
    quaternion_wxyz_from_rotation,
    rotation_from_quaternion_xyzw,
)
from ik_service.common.transforms import rigid_transform
from ik_service.extras.viewer.scene.parts import Color, DrawnMesh, DrawnPart
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
    """Objects of the world, and attached ones, below a node ``root``. For one thread."""

    def __init__(self, scene: SceneApi, name: str) -> None:
        self.root = scene.add_frame(name, show_axes=False)
        self._scene, self._name = scene, name
        self._bodies: list[tuple[DrawnPart, PartNode]] = []

    def show(self, parts: Sequence[DrawnPart], poses: Mapping[str, np.ndarray]) -> None:
        """Show the parts of links with a pose; those that were shown unchanged are left alone."""
        parts = [part for part in parts if part.link in poses]
        before, self._bodies = self._bodies, []
        for _, left in before[len(parts) :]:
            left.remove()
        for number, part in enumerate(parts):
            node = self._kept(part, *before[number]) if number < len(before) else None
            if node is None:
                T = poses[part.link] @ part.T_link_geometry
                node = add_part(self._scene, f'{self._name}/{number}', part, T)
            self._bodies.append((part, node))
        self.place(poses)

    def place(self, poses: Mapping[str, np.ndarray]) -> None:
        """Move the parts with their links, to T_root_link (4, 4) by link [m]."""
        for part, node in self._bodies:
            set_pose(node, poses[part.link] @ part.T_link_geometry)

    def _kept(self, part: DrawnPart, old: DrawnPart, node: PartNode) -> PartNode | None:
        """Return the node of a part before with another colour; None, removed, if unlike."""
        if part.opacity != old.opacity or not _is_same_shape(part.geometry, old.geometry):
            node.remove()
            return None
        if part_color(part) != part_color(old):
            node.color = part_color(part)
        return node


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

# Difference of two poses below which they look the same [rad], and [m] of an arm of 1 m or more.
_SAME = 6e-3


class ArmModel:
    """Arm in a scene, below a node ``root``, hidden at first. To be used from one thread."""

    def __init__(
        self,
        scene: SceneApi,
        name: str,
        links: Sequence[str],
        parts: Sequence[DrawnPart],
        style: Style = PLAIN,
        size: float = 1.0,
    ) -> None:
        self.root = scene.add_frame(name, show_axes=False, visible=False)
        self._same = np.full((3, 4), _SAME)
        self._same[:, 3] *= min(size, 1.0)
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
            apart = (np.abs(T - other)[:, :3] > self._same).any(axis=(1, 2))
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


class TipTrail:
    """Past positions of the tip as line segments, of at least ``step`` [m]."""

    def __init__(self, length: int = 300, step: float = 0.004) -> None:
        self._points: deque[np.ndarray] = deque(maxlen=length + 1)
        self._step = step

    def add(self, point: np.ndarray) -> bool:
        """Add a position (3,) [m]."""
        if self._points and np.linalg.norm(point - self._points[-1]) < self._step:
            return False
        self._points.append(np.array(point, dtype=np.float32))
        return True

    def clear(self) -> None:
        """Remove all positions."""
        self._points.clear()

    def segments(self) -> np.ndarray:
        """Return (N, 2, 3) starts and ends of the segments, the oldest first [m]."""
        points = np.array(self._points, dtype=np.float32).reshape(-1, 3)
        return np.stack([points[:-1], points[1:]], axis=1)

    def colors(self, newest: tuple[int, int, int], oldest: tuple[int, int, int]) -> np.ndarray:
        """Colours (N, 2, 3), 0 to 255, of the segments' ends, from ``oldest`` to ``newest``."""
        count = max(len(self._points), 1)
        share = np.linspace(0.0, 1.0, count)[:, None]
        ends = np.array(oldest) + share * (np.array(newest) - np.array(oldest))
        ends = ends.astype(np.uint8)
        return np.stack([ends[:-1], ends[1:]], axis=1)


Poses = Mapping[str, np.ndarray]
OnDrag = Callable[[np.ndarray, bool], object]

_NEW_TRAIL_COLOR, _OLD_TRAIL_COLOR = (222, 62, 0), (255, 214, 186)
_ERROR_COLOR = (201, 42, 42)  # red
_CELLS, _SECTIONS = (176, 183, 191), (134, 142, 150)  # to be seen on light and dark pages
_VIEW_DIRECTION = np.array([0.80, -0.95, 0.42])  # from the arm to the camera

_DISTANCE = 3.0  # of the camera, as a multiple of the reach: the gizmo at full reach is seen

FIELD_OF_VIEW = 0.62  # vertical field of view of the camera [rad]


class RobotScene:
    """
    Nodes of one robot in the scene. To be used from one thread.

    :param size: approximate reach of its tip [m].
    :param first_joint: (3,) position of its first joint in the root's frame [m].
    :param on_drag: called, in a thread of the server, with the pose (4, 4) of the gizmo in the
        root's frame [m], and whether the drag goes on.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        links: Sequence[str],
        parts: Sequence[DrawnPart],
        size: float,
        first_joint: np.ndarray,
        on_drag: OnDrag,
    ) -> None:
        self._server, self._size = server, size
        scene = server.scene
        self._links = links
        self._solid: ArmModel | None = None
        self._tip = scene.add_frame(
            '/tip', axes_length=0.14 * size, axes_radius=0.005 * size, visible=False
        )
        self.arm = ArmModel(scene, '/arm', links, parts)
        self.ghost = ArmModel(scene, '/ghost', links, parts, GHOST, size)
        self.preview = ArmModel(scene, '/preview', links, parts, PREVIEW, size)
        self.world = WorldModel(scene, '/world')
        self._trail = scene.add_line_segments(
            '/trail',
            np.zeros((1, 2, 3)),
            np.full((1, 2, 3), _NEW_TRAIL_COLOR, dtype=np.uint8),
            thickness=0.006 * size,
            visible=False,
        )
        self._error_line = scene.add_line_segments(
            '/error', np.zeros((1, 2, 3)), _ERROR_COLOR, thickness=0.003 * size, visible=False
        )
        self._gizmo = scene.add_transform_controls(
            '/target', scale=0.22 * size, line_width=3.0, depth_test=False, visible=False
        )
        self._listen(on_drag)
        add_ground(server, size)
        _frame_camera(server, size, first_joint)

    def place_gizmo(self, T_root_target: np.ndarray) -> None:
        """Move the gizmo to T_root_target (4, 4) [m], and show it."""
        set_pose(self._gizmo, T_root_target)
        self._gizmo.visible = True

    def show_error_line(self, tip: np.ndarray, target: np.ndarray | None) -> None:
        """Draw a line from tip to target (3,) [m], if there is one more than 2 mm away."""
        least = 2e-3 * min(self._size, 1.0)
        self._error_line.visible = target is not None and bool(norm(target - tip) > least)
        if self._error_line.visible:
            self._error_line.points = np.array([[tip, target]], dtype=np.float32)

    def show_trail(self, trail: TipTrail, visible: bool) -> None:
        """Draw the trail of the tip."""
        segments = trail.segments()
        self._trail.visible = visible and len(segments) > 0
        if self._trail.visible:
            self._trail.points = segments
            self._trail.colors = trail.colors(_NEW_TRAIL_COLOR, _OLD_TRAIL_COLOR)

    def show_tip(self, T_root_tip: np.ndarray, visible: bool) -> None:
        """Draw the axes of the tip at T_root_tip (4, 4) [m]: x red, y green, z blue."""
        self._tip.visible = visible
        if visible:
            set_pose(self._tip, T_root_tip)

    def show_collision_shapes(
        self, parts: Sequence[DrawnPart], poses: Poses, visible: bool
    ) -> None:
        """Draw the shapes of collisions, which are sent when they are first to be seen."""
        if visible and self._solid is None:
            self._solid = ArmModel(self._server.scene, '/solid', self._links, parts, SOLID)
        if self._solid is not None:
            self._solid.root.visible = visible
            if visible:
                self._solid.place(poses)

    def remove(self) -> None:
        """Remove all nodes from the scene."""
        models = (self.arm, self.ghost, self.preview, self.world, self._solid)
        roots = [model.root for model in models if model is not None]
        for node in (*roots, self._trail, self._error_line, self._gizmo, self._tip):
            node.remove()

    def _listen(self, on_drag: OnDrag) -> None:
        gizmo = self._gizmo

        @gizmo.on_update
        async def _(event: viser.TransformControlsEvent) -> None:
            # Asynchronous, so that the phases keep their order.
            numbers = (*map(float, gizmo.wxyz), *map(float, gizmo.position))
            (w, x, y, z), norm = normalized_quaternion(numbers[:4])
            if math.isfinite(sum(numbers)) and norm > 0.0:
                R = rotation_from_quaternion_xyzw(x, y, z, w)
                on_drag(rigid_transform(R, numbers[4:]), event.phase != 'end')


def add_ground(server: viser.ViserServer, size: float = 1.0) -> None:
    """Add the ground, of cells of a power of ten, for an arm of some size [m]."""
    scale = 10.0 ** round(math.log10(size))
    server.scene.add_grid(
        '/ground',
        width=6.0 * scale,
        height=6.0 * scale,
        cell_size=0.1 * scale,
        section_size=0.5 * scale,
        cell_color=_CELLS,
        section_color=_SECTIONS,
        fade_distance=9.0 * scale,
        fade_from='origin',
        shadow_opacity=0.22,
    )


def camera_placement(size: float, first_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of the picture (3,), near the first joint (3,), and the camera [m]."""
    middle = size * np.array([0.12, 0.0, 0.36])
    below, above = size * np.array([[0.12, 0.12, 0.05], [0.12, 0.12, 0.36]])
    look_at = np.clip(middle, first_joint - below, first_joint + above)
    direction = _VIEW_DIRECTION / np.linalg.norm(_VIEW_DIRECTION)
    return look_at, look_at + _DISTANCE * size * direction


def _frame_camera(server: viser.ViserServer, size: float, first_joint: np.ndarray) -> None:
    """Look at the arm, in pages that are open and in later ones."""
    look_at, position = camera_placement(size, first_joint)
    cameras: list[Any] = [server.initial_camera]  # alike, but of two classes
    cameras += [client.camera for client in server.get_clients().values()]
    for camera in cameras:
        camera.near, camera.far, camera.fov = 0.01 * size, 1e3 * size, FIELD_OF_VIEW
        camera.position, camera.look_at = position, look_at
