"""Scene of the page: the arm, its ghosts, its trail, the gizmo, the ground and the camera."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
import math

import numpy as np
import viser

from ik_service.common.quaternions import normalized_quaternion, rotation_from_quaternion_xyzw
from ik_service.common.transforms import rigid_transform
from ik_service.extras.viewer.scene.models import (
    ArmModel,
    GHOST,
    PREVIEW,
    set_pose,
    SOLID,
    WorldModel,
)
from ik_service.extras.viewer.scene.parts import DrawnPart


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
    :param on_drag: called, in a thread of the server, with the pose (4, 4) of the gizmo in the
        root's frame [m], and whether the drag goes on.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        links: Sequence[str],
        parts: Sequence[DrawnPart],
        size: float,
        on_drag: OnDrag,
    ) -> None:
        self._server = server
        scene = server.scene
        self._links = links
        self._solid: ArmModel | None = None
        self._tip = scene.add_frame(
            '/tip', axes_length=0.14 * size, axes_radius=0.005 * size, visible=False
        )
        self.arm = ArmModel(scene, '/arm', links, parts)
        self.ghost = ArmModel(scene, '/ghost', links, parts, GHOST)
        self.preview = ArmModel(scene, '/preview', links, parts, PREVIEW)
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
        _frame_camera(server, size)

    def place_gizmo(self, T_root_target: np.ndarray) -> None:
        """Move the gizmo to T_root_target (4, 4) [m], and show it."""
        set_pose(self._gizmo, T_root_target)
        self._gizmo.visible = True

    def show_error_line(self, tip: np.ndarray, target: np.ndarray | None) -> None:
        """Draw a line from tip to target (3,) [m], if there is one more than 2 mm away."""
        if target is not None and float(np.linalg.norm(target - tip)) > 2e-3:
            self._error_line.points = np.array([[tip, target]], dtype=np.float32)
            self._error_line.visible = True
        else:
            self._error_line.visible = False

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
            self._solid.visible = visible
            if visible:
                self._solid.place(poses)

    def remove(self) -> None:
        """Remove all nodes from the scene."""
        for model in (self.arm, self.ghost, self.preview, self.world, self._solid):
            if model is not None:
                model.remove()
        for node in (self._trail, self._error_line, self._gizmo, self._tip):
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


def add_surroundings(server: viser.ViserServer) -> None:
    """Add the ground to an empty scene."""
    server.scene.add_grid(
        '/ground',
        width=6.0,
        height=6.0,
        cell_size=0.1,
        section_size=0.5,
        cell_color=_CELLS,
        section_color=_SECTIONS,
        fade_distance=9.0,
        fade_from='origin',
        shadow_opacity=0.22,
    )


def camera_placement(size: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of the picture (3,) and the camera (3,) for an arm of some size [m]."""
    look_at = np.array([0.12, 0.0, 0.36]) * size
    direction = _VIEW_DIRECTION / np.linalg.norm(_VIEW_DIRECTION)
    return look_at, look_at + _DISTANCE * size * direction


def _frame_camera(server: viser.ViserServer, size: float) -> None:
    """Look at the arm, in pages that are open and in later ones."""
    look_at, position = camera_placement(size)
    camera = server.initial_camera
    camera.position, camera.look_at, camera.fov = position, look_at, FIELD_OF_VIEW
    for client in server.get_clients().values():
        client.camera.fov = FIELD_OF_VIEW
        client.camera.position, client.camera.look_at = position, look_at
