"""The picture of one robot: its state, drawn and measured."""

from __future__ import annotations

import math

import numpy as np
import viser

from ik_service.arm.arm import MeasuredState
from ik_service.common.transforms import inverse_transform
from ik_service.viewer.link.target import Target
from ik_service.viewer.panel.history import ErrorHistory, Trail
from ik_service.viewer.panel.measures import (
    joint_places,
    JointPlace,
    lag,
    manipulability,
    tracking_error,
)
from ik_service.viewer.panel.panel import Panel
from ik_service.viewer.panel.panel_text import Figures
from ik_service.viewer.panel.solve_figures import solve_figures, SolveFigures
from ik_service.viewer.scene.robot_view import RobotView
from ik_service.viewer.scene.scene import Dragged, Poses, Stage

_SEEN = 1e-3  # difference of a joint from its command that can be seen [rad] or [m]
_FRESH = 0.5  # age up to which a command is in force [s]


class Picture:
    """
    A robot in the page. To be used from one thread, except for the two states.

    :param server: serves the page.
    :param view: the robot.
    :param on_drag: called when the gizmo is dragged; see :class:`Stage`.
    :ivar view: the robot.
    :ivar measured: the state from ``joint_states``; safe to share between threads.
    :ivar commanded: the state from ``joint_command``; the same.
    """

    def __init__(self, server: viser.ViserServer, view: RobotView, on_drag: Dragged) -> None:
        self.view = view
        self.measured = MeasuredState(view.arm)
        self.commanded = MeasuredState(view.arm)
        self._stage = Stage(server, view.arm.robot.links, view.parts, view.size, on_drag)
        self._trail = Trail(step=0.004 * view.size)
        self._errors = ErrorHistory()
        self._posture = self.measured.posture()
        self._poses: Poses = view.arm.link_poses(self._posture)
        self._is_placed = False
        self._trail_is_new = True
        self._solve: SolveFigures | None = None
        self._verdict, self._reached = '', True

    @property
    def links(self) -> list[str]:
        """The links whose poses a picture needs."""
        chain = self.view.arm.chain
        drawn = [part.link for part in self.view.parts]
        return [*dict.fromkeys([chain.base_link, chain.tip_link, *drawn])]

    @property
    def states_at(self) -> float | None:
        """When the oldest of the chain's joint positions arrived; None while some are missing."""
        found = self.measured.joints()
        return None if found is None else found[1]

    def joints(self) -> np.ndarray | None:
        """Return the measured positions (n,) of the chain's joints; None while some miss."""
        found = self.measured.joints()
        return None if found is None else found[0]

    def tip_pose(self) -> np.ndarray | None:
        """Return the measured T_base_tip (4, 4); None while joints are missing."""
        q = self.joints()
        return None if q is None else self.view.tip_pose(q)

    def base_from_root(self) -> np.ndarray:
        """Return T_base_root (4, 4)."""
        return inverse_transform(self.root_from_base())

    def root_from_base(self) -> np.ndarray:
        """Return T_root_base (4, 4)."""
        return self._poses[self.view.arm.chain.base_link]

    def places(self) -> list[JointPlace]:
        """Return where the chain's joints are between their limits."""
        posture = self.measured.posture()
        return joint_places(self.view.arm.chain, posture[self.view.arm.indices])

    def take_solve(self, solve: SolveFigures | None, verdict: str, reached: bool) -> None:
        """Take in what came of the last solve."""
        self._solve, self._verdict, self._reached = solve, verdict, reached

    def preview(self, poses: Poses) -> None:
        """Show where links would be, until the sliders follow the arm again."""
        self._stage.preview.place(poses, beside=self._poses)

    def clear_trail(self) -> None:
        """Forget the way of the tip."""
        self._trail.clear()
        self._trail_is_new = True

    def draw(self, now: float, target: Target, panel: Panel) -> None:
        """Draw the present state."""
        q = self.joints()
        stage = self._stage
        stage.arm.visible = q is not None
        if q is None:
            return
        posture = self.measured.posture()
        if not self._is_placed or not np.array_equal(posture, self._posture):
            self._posture, self._is_placed = posture, True
            self._poses = self.view.arm.link_poses(posture)
            stage.arm.place(self._poses)
        self._draw_ghosts(now, panel)
        chain = self.view.arm.chain
        tip = self._poses[chain.tip_link]
        T_root_base = self._poses[chain.base_link]
        self._draw_target(target, tip, T_root_base, now)
        self._trail_is_new |= self._trail.add(tip[:3, 3])
        if self._trail_is_new:
            self._trail_is_new = False
            stage.show_trail(self._trail, panel.shows_trail)

    def refresh(self, now: float, target: Target, panel: Panel, reported: str) -> None:
        """
        Show the numbers.

        :param reported: what the node's diagnostics say of its target.
        """
        self._trail_is_new = True  # the switch for it may have been touched
        q = self.joints()
        if q is None:
            return
        places = self.places()
        figures = self._figures(now, q, target, panel.form.weights, reported)
        panel.show_figures(figures, places)
        panel.sliders.follow(places, now)
        if figures.position_error is not None:
            self._errors.add(now, figures.position_error, figures.orientation_error)
        panel.show_errors(self._errors.series(now))

    def remove(self) -> None:
        """Take the robot out of the page."""
        self._stage.remove()

    def _draw_ghosts(self, now: float, panel: Panel) -> None:
        ghost, preview = self._stage.ghost, self._stage.preview
        command = self._command(now)
        indices = self.view.arm.indices
        # Most of the time an arm is where it shall be, and there is nothing to see.
        apart = command is not None and np.abs(command - self._posture[indices]).max() > _SEEN
        ghost.visible = panel.shows_ghost and bool(apart)
        if ghost.visible:
            posture = self._posture.copy()
            posture[indices] = command
            poses = self.view.arm.link_poses(self.view.arm.postures.complete(posture))
            ghost.place(poses, beside=self._poses)
        preview.visible = panel.sliders.is_held(now)

    def _draw_target(
        self, target: Target, tip: np.ndarray, T_root_base: np.ndarray, now: float
    ) -> None:
        if target.pose is None:
            self._stage.place_gizmo(tip)
            self._stage.show_gap(tip[:3, 3], None)
            return
        T_root_target = T_root_base @ target.pose
        if target.take_unplaced() is not None and not target.is_dragged(now):
            self._stage.place_gizmo(T_root_target)
        self._stage.show_gap(tip[:3, 3], T_root_target[:3, 3])

    def _command(self, now: float) -> np.ndarray | None:
        """Return the commanded positions (n,); None when nothing is commanded now."""
        found = self.commanded.joints()
        return found[0] if found is not None and now - found[1] <= _FRESH else None

    def _figures(
        self,
        now: float,
        q: np.ndarray,
        target: Target,
        weights: tuple[float, ...],
        reported: str,
    ) -> Figures:
        chain = self.view.arm.chain
        command = self._command(now)
        errors = (None, None)
        if target.pose is not None:
            errors = tracking_error(self.view.tip_pose(q), target.pose, weights)
        manipulable, smallest = manipulability(chain.jacobian(q))
        return Figures(
            *errors,
            solve=self._solve or solve_figures(reported),
            verdict=self._verdict,
            reached=self._reached or target.pose is None,
            lag=None if command is None else lag(chain, q, command, self.view.speeds),
            manipulability=manipulable,
            smallest_singular_value=smallest if math.isfinite(smallest) else None,
        )
