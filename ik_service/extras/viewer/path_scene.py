"""Path in the scene of the page: its waypoints, its line, and the arm that runs along."""

from __future__ import annotations

import numpy as np
import viser

from ik_service.extras.viewer.preview import Preview
from ik_service.extras.viewer.scene.robot_view import RobotView
from ik_service.extras.viewer.scene.scene import ArmModel, Poses, set_pose, Style
from ik_service.extras.viewer.waypoints import Drawing

ALONG_PATH = Style(color=(0.05, 0.62, 0.45), opacity=0.35, scale=1.015)
"""Style of the arm that runs along the path: neither the arm's nor that of its other ghosts."""

Color = tuple[int, int, int]

_DRAWN: Color = (134, 142, 150)  # grey
_REACHED: Color = (18, 158, 115)  # green
_UNREACHED: Color = (224, 49, 49)  # red
_NO_LINE = np.zeros((1, 2, 3), dtype=np.float32)


class PathScene:
    """Nodes of a path in the scene. To be used from one thread."""

    def __init__(self, server: viser.ViserServer, view: RobotView) -> None:
        self._scene, self._view = server.scene, view
        scene, size = server.scene, view.size
        self._root = scene.add_frame('/path', show_axes=False)
        self._drawn = scene.add_line_segments(
            '/path/drawn', _NO_LINE, _DRAWN, thickness=0.007 * size, visible=False
        )
        self._reached = scene.add_line_segments(
            '/path/reached', _NO_LINE, _REACHED, thickness=0.011 * size, visible=False
        )
        self._marks: list[viser.FrameHandle] = []
        self._ghost: ArmModel | None = None
        self._label: viser.LabelHandle | None = None

    def show_drawing(self, drawing: Drawing, corners: np.ndarray) -> None:
        """Show waypoints, numbered, and the line between the corners (k, 4, 4) [m]."""
        for mark in self._marks:
            mark.remove()  # with its number
        self._marks = [self._mark(i, T) for i, T in enumerate(drawing.points)]
        _draw(self._drawn, corners[:, :3, 3])

    def show_preview(self, preview: Preview | None) -> None:
        """Colour the part of the line that a motion covers; None without one."""
        _draw(self._reached, np.empty((0, 3)) if preview is None else preview.tips)
        is_cut = preview is not None and not preview.is_whole
        # One colour for all: viser does not change a line from that to a colour for each point.
        self._drawn.colors = np.array(_UNREACHED if is_cut else _DRAWN, np.uint8)

    def show_ghost(self, poses: Poses | None, measured: Poses) -> None:
        """Show the arm on the path, where it is not the arm itself; None hides it."""
        if poses is None:
            if self._ghost is not None and self._label is not None:
                self._ghost.root.visible = self._label.visible = False
            return
        if self._ghost is None or self._label is None:
            view = self._view
            links, parts, size = view.arm.robot.links, view.parts, view.size
            self._ghost = ArmModel(self._scene, '/path_ghost', links, parts, ALONG_PATH, size)
            self._label = self._scene.add_label(
                '/path_ghost_label', 'preview', anchor='bottom-left'
            )
        self._ghost.place(poses, beside=measured)
        self._ghost.root.visible = self._label.visible = True
        self._label.position = poses[self._view.arm.chain.tip_link][:3, 3]

    def move_base(self, T_root_base: np.ndarray) -> None:
        """Draw the path where the base of the arm is, T_root_base (4, 4) [m]."""
        set_pose(self._root, T_root_base)

    def remove(self) -> None:
        """Remove all nodes from the scene."""
        self._root.remove()
        if self._ghost is not None and self._label is not None:
            self._ghost.root.remove()
            self._label.remove()

    def _mark(self, i: int, T_base_tip: np.ndarray) -> viser.FrameHandle:
        size = self._view.size
        mark = self._scene.add_frame(
            f'/path/{i}',
            axes_length=0.07 * size,
            axes_radius=0.003 * size,
            origin_radius=0.008 * size,
            origin_color=_DRAWN,
        )
        set_pose(mark, T_base_tip)
        self._scene.add_label(f'/path/{i}/number', str(i + 1), anchor='bottom-right')
        return mark


def _draw(line: viser.LineSegmentsHandle, points: np.ndarray) -> None:
    """Draw a chain of points (k, 3) [m]; nothing for fewer than two."""
    line.visible = len(points) > 1
    if line.visible:
        line.points = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
