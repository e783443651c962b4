"""The target that the page shows: who has set it, and what is still to be done about it."""

from __future__ import annotations

import math

import numpy as np

_DRAG_PATIENCE = 1.0  # after the last word of a drag, whose end may have been lost [s]


class Target:
    """
    Where the tip shall be, as far as the page knows. To be used from one thread.

    :ivar pose: (4, 4) T_base_tip; None before anyone has set one.
    """

    def __init__(self) -> None:
        self.pose: np.ndarray | None = None
        self._dragged_at = -math.inf
        self._unpublished = self._unasked = self._unplaced = False

    def set(self, T_base_tip: np.ndarray) -> None:
        """Set it from the page: it is to be published, and the gizmo goes there."""
        self.pose = T_base_tip
        self._unpublished = self._unasked = self._unplaced = True

    def drag(self, T_base_tip: np.ndarray, going_on: bool, now: float) -> None:
        """Set it with the gizmo, which is there already."""
        self._dragged_at = now if going_on else -math.inf
        if self.pose is None or not np.array_equal(self.pose, T_base_tip):  # not at either end
            self.pose = T_base_tip
            self._unpublished = self._unasked = True

    def hear(self, T_base_tip: np.ndarray, now: float) -> None:
        """Take over what somebody else has published, unless the gizmo is being dragged."""
        if not self.is_dragged(now):
            self.pose = T_base_tip
            self._unpublished = False
            self._unasked = self._unplaced = True

    def forget(self) -> None:
        """Have no target any more."""
        self.pose = None
        self._unpublished = self._unasked = False

    def reconsider(self) -> None:
        """Ask the solver about it once more: something has changed."""
        self._unasked = self.pose is not None

    def is_dragged(self, now: float) -> bool:
        """Whether somebody has hold of the gizmo."""
        return now - self._dragged_at < _DRAG_PATIENCE

    def take_unpublished(self) -> np.ndarray | None:
        """Return the pose if it has yet to be published; from now on it counts as published."""
        due, self._unpublished = self._unpublished, False
        return self.pose if due else None

    def unasked(self) -> np.ndarray | None:
        """Return the pose if the solver has yet to be asked about it."""
        return self.pose if self._unasked else None

    def mark_asked(self) -> None:
        """Note that the solver was asked."""
        self._unasked = False

    def take_unplaced(self) -> np.ndarray | None:
        """Return the pose if the gizmo has yet to go there; from now on it counts as there."""
        due, self._unplaced = self._unplaced, False
        return self.pose if due else None
