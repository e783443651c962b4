"""Target pose of the page and its pending changes."""

from __future__ import annotations

import math

import numpy as np

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
