"""Display of one robot: its scene, its live values and its history, and the target."""

from __future__ import annotations

import math

import numpy as np
import viser

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.transforms import inverse_transform
from ik_service.extras.viewer.link.world_picture import WorldPicture
from ik_service.extras.viewer.panel.figures import (
    Figures,
    joint_positions,
    JointPosition,
    lag,
    manipulability,
    SolveReport,
    tracking_error,
)
from ik_service.extras.viewer.panel.panel import ErrorHistory, Panel
from ik_service.extras.viewer.panel.widgets import set_properties
from ik_service.extras.viewer.scene.robot_view import RobotView
from ik_service.extras.viewer.scene.scene import OnDrag, Poses, RobotScene, TipTrail

_DRAG_TIMEOUT = 1.0  # after the last message of a drag, whose end may have been lost [s]


class PageTarget:
    """Target T_base_tip (4, 4) [m] as the page knows it, or None. To be used from one thread."""

    def __init__(self) -> None:
        self.pose: np.ndarray | None = None
        self._is_received = False
        self._dragged_at = -math.inf
        self._is_unpublished = self._is_unsolved = self._is_undrawn = False

    def set(self, T_base_tip: np.ndarray) -> None:
        """Set the target (4, 4) [m] from the page: it is to be published, solved and drawn."""
        self.pose, self._is_received = T_base_tip, False
        self._is_unpublished = self._is_unsolved = self._is_undrawn = True

    def drag(self, T_base_tip: np.ndarray, is_going_on: bool, now: float) -> None:
        """Set the target (4, 4) [m] from the gizmo, which is drawn there already."""
        self._dragged_at = now if is_going_on else -math.inf
        if self.pose is None or not np.array_equal(self.pose, T_base_tip):  # not at either end
            self.pose, self._is_received = T_base_tip, False
            self._is_unpublished = self._is_unsolved = True

    def receive(self, T_base_tip: np.ndarray, now: float) -> None:
        """Take over the target (4, 4) [m] of another program, unless the gizmo is dragged."""
        if not self.is_dragged(now):
            self.pose, self._is_received = T_base_tip, True
            self._is_unpublished = False
            self._is_unsolved = self._is_undrawn = True

    def clear(self) -> None:
        """Drop the target."""
        self.pose = None
        self._is_unpublished = self._is_unsolved = False

    def clear_received(self) -> None:
        """Drop the target if another program has published it."""
        if self._is_received:
            self.clear()

    def mark_unsolved(self) -> None:
        """Let the target be solved once more, since the node has changed."""
        self._is_unsolved = self.pose is not None

    def mark_solved(self) -> None:
        """Note that a request for the target was sent to the solver."""
        self._is_unsolved = False

    def is_dragged(self, now: float) -> bool:
        """Whether the gizmo is being dragged."""
        return now - self._dragged_at < _DRAG_TIMEOUT

    def unsolved(self) -> np.ndarray | None:
        """Return the pose (4, 4) if it has yet to be sent to the solver."""
        return self.pose if self._is_unsolved else None

    def take_unpublished(self) -> np.ndarray | None:
        """Return the pose (4, 4) if it has yet to be published, and mark it as published."""
        due, self._is_unpublished = self._is_unpublished, False
        return self.pose if due else None

    def take_undrawn(self) -> np.ndarray | None:
        """Return the pose (4, 4) if the gizmo has yet to go there, and mark it as drawn."""
        due, self._is_undrawn = self._is_undrawn, False
        return self.pose if due else None


_VISIBLE = 1e-3  # smallest visible difference of a joint from its command [rad] or [m]
_COMMAND_TIMEOUT = 0.5  # age up to which a command is in force [s]


class RobotDisplay:
    """
    Display of one robot. To be used from one thread, except for the two states.

    :param on_drag: called when the gizmo is dragged; see :class:`RobotScene`.
    :ivar measured: state from ``joint_states``; thread-safe.
    :ivar commanded: state from ``joint_command``; thread-safe.
    :ivar poses: T_root_link (4, 4) of each link as it is drawn [m].
    """

    def __init__(self, server: viser.ViserServer, view: RobotView, on_drag: OnDrag) -> None:
        self.view = view
        self.measured = MeasuredState(view.arm)
        self.commanded = MeasuredState(view.arm)
        self._trail = TipTrail(step=0.004 * view.size)
        self._errors = ErrorHistory()
        self._posture = self.measured.posture()
        self.poses: Poses = view.arm.link_poses(self._posture)
        first_joint = (self.root_from_base() @ (*view.arm.chain.arrays.reach[:3], 1.0))[:3]
        links = view.arm.robot.links
        self._scene = RobotScene(server, links, view.parts, view.size, first_joint, on_drag)
        self._is_placed = False
        self._trail_is_new = True
        self._message, self._is_reachable = '', True

    @property
    def states_at(self) -> float | None:
        """Arrival of the oldest of the chain's joint positions; None while some are missing."""
        found = self.measured.joints()
        return None if found is None else found[1]

    def joints(self, indices: np.ndarray | None = None) -> np.ndarray | None:
        """Return measured positions (n,), of the chain by default; None while some are missing."""
        found = self.measured.joints(indices)
        return None if found is None else found[0]

    def tip_pose(self) -> np.ndarray | None:
        """Return the measured T_base_tip (4, 4) [m]; None while joints are missing."""
        q = self.joints()
        return None if q is None else self.view.arm.chain.forward(q)

    def base_from_root(self) -> np.ndarray:
        """Return T_base_root (4, 4) [m]."""
        return inverse_transform(self.root_from_base())

    def root_from_base(self) -> np.ndarray:
        """Return T_root_base (4, 4) [m]."""
        return self.poses[self.view.arm.chain.base_link]

    def poses_at(self, q: np.ndarray, indices: np.ndarray | None = None) -> Poses:
        """Poses T_root_link [m] by link for positions ``q`` of the chain or of ``indices``."""
        posture = self._posture.copy()
        posture[self.view.arm.indices if indices is None else indices] = q
        return self.view.arm.link_poses(self.view.arm.postures.complete(posture))

    def joint_positions(self) -> list[JointPosition]:
        """Return the measured positions of the chain's joints with their limits."""
        posture = self.measured.posture()
        return joint_positions(self.view.arm.chain, posture[self.view.arm.indices])

    def take_solve_outcome(self, is_reachable: bool, message: str) -> None:
        """Take in the response of ``compute_ik`` for the target."""
        self._is_reachable, self._message = is_reachable, message

    def show_preview(self, poses: Poses) -> None:
        """Show the robot with its links elsewhere, until the sliders follow the arm again."""
        self._scene.preview.place(poses, beside=self.poses)

    def show_world(self, picture: WorldPicture) -> None:
        """Show the world and the collisions."""
        self._scene.world.show(picture.parts, self.poses)
        self._scene.arm.highlight(picture.colliding_links)

    def clear_trail(self) -> None:
        """Clear the trail of the tip."""
        self._trail.clear()
        self._trail_is_new = True

    def draw(self, now: float, target: PageTarget, panel: Panel) -> None:
        """Draw the present state."""
        q = self.joints()
        scene = self._scene
        scene.arm.root.visible = q is not None
        if q is None:
            return
        posture = self.measured.posture()
        if not self._is_placed or not np.array_equal(posture, self._posture):
            self._posture, self._is_placed = posture, True
            self.poses = self.view.arm.link_poses(posture)
            scene.arm.place(self.poses)
            scene.world.place(self.poses)
        set_properties(scene.world.root, visible=panel.objects_switch.value)
        scene.show_collision_shapes(
            self.view.collision_parts, self.poses, panel.solid_switch.value
        )
        scene.show_tip(self.poses[self.view.arm.chain.tip_link], panel.tip_switch.value)
        self._draw_ghosts(now, panel)
        chain = self.view.arm.chain
        tip = self.poses[chain.tip_link]
        self._draw_target(target, tip, self.poses[chain.base_link], now)
        self._trail_is_new |= self._trail.add(tip[:3, 3])
        if self._trail_is_new:
            self._trail_is_new = False
            scene.show_trail(self._trail, panel.trail_switch.value)

    def refresh(
        self, now: float, target: PageTarget, panel: Panel, solve: SolveReport | None
    ) -> None:
        """Show the live values in the panel, with the node's last solve; None without any."""
        self._trail_is_new = True  # its switch may have been used
        q = self.joints()
        if q is None:
            return
        positions = self.joint_positions()
        figures = self._figures(now, q, target, panel.form.weights, solve)
        panel.show_figures(figures, positions)
        panel.sliders.follow(positions, now)
        errors = figures.position_error, figures.orientation_error
        self._errors.add(now, *(math.nan if error is None else error for error in errors))
        panel.show_errors(self._errors.series(now))

    def remove(self) -> None:
        """Remove the robot from the page."""
        self._scene.remove()

    def _draw_ghosts(self, now: float, panel: Panel) -> None:
        ghost, preview = self._scene.ghost, self._scene.preview
        command = self._command(now)
        indices = self.view.arm.indices
        # Most of the time an arm is where it is commanded to be, and there is no ghost.
        is_apart = (
            command is not None and np.abs(command - self._posture[indices]).max() > _VISIBLE
        )
        ghost.root.visible = panel.ghost_switch.value and bool(is_apart)
        if ghost.root.visible and command is not None:
            ghost.place(self.poses_at(command), beside=self.poses)
        preview.root.visible = panel.sliders.is_held(now)

    def _draw_target(
        self, target: PageTarget, tip: np.ndarray, T_root_base: np.ndarray, now: float
    ) -> None:
        if target.pose is None:
            self._scene.place_gizmo(tip)
            self._scene.show_error_line(tip[:3, 3], None)
            return
        T_root_target = T_root_base @ target.pose
        if target.take_undrawn() is not None and not target.is_dragged(now):
            self._scene.place_gizmo(T_root_target)
        self._scene.show_error_line(tip[:3, 3], T_root_target[:3, 3])

    def _command(self, now: float) -> np.ndarray | None:
        """Return the commanded positions (n,); None when no command is in force."""
        found = self.commanded.joints()
        return found[0] if found is not None and now - found[1] <= _COMMAND_TIMEOUT else None

    def _figures(
        self,
        now: float,
        q: np.ndarray,
        target: PageTarget,
        weights: tuple[float, ...],
        solve: SolveReport | None,
    ) -> Figures:
        chain = self.view.arm.chain
        command = self._command(now)
        position_error = orientation_error = None
        if target.pose is not None:
            position_error, orientation_error = tracking_error(
                chain.forward(q), target.pose, weights
            )
        manipulable, smallest = manipulability(chain.jacobian(q))
        return Figures(
            position_error,
            orientation_error,
            solve=solve,
            message=self._message,
            is_reachable=self._is_reachable or target.pose is None,
            lag=None if command is None else lag(chain, q, command, self.view.speeds),
            manipulability=manipulable,
            smallest_singular_value=smallest if math.isfinite(smallest) else None,
        )
