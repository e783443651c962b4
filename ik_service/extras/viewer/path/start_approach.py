"""Way of the arm to where a path starts."""

from __future__ import annotations

import numpy as np

from ik_service.extras.viewer.link.target import Target
from ik_service.extras.viewer.path.planner import START_TOLERANCES
from ik_service.extras.viewer.path.way_points import is_near
from ik_service.extras.viewer.robot_display import RobotDisplay

_REST = 0.3  # time without motion that counts as rest [s]
_STILL = 1e-4  # motion of a joint that counts as none [rad] or [m]


class StartApproach:
    """
    Wait for the arm to be at rest where a path starts. To be used from one thread.

    :param target: the target that was set; when it is another one, the wait ends.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._start: np.ndarray | None = None
        self._q = np.empty(0)
        self._still_since = 0.0

    @property
    def is_under_way(self) -> bool:
        """Whether the arm is expected to arrive."""
        return self._start is not None

    def begin(self, T_base_start: np.ndarray) -> None:
        """
        Begin to wait.

        :param T_base_start: (4, 4) the target that was set [m].
        """
        self._start, self._q = T_base_start, np.empty(0)

    def drop(self) -> None:
        """Wait no longer."""
        self._start = None

    def has_arrived(self, q: np.ndarray, display: RobotDisplay | None, now: float) -> bool:
        """
        Whether the arm has come to rest at the start just now; the wait ends then.

        :param q: (n,) its joints' positions [rad] or [m].
        :param display: the arm.
        :param now: on the monotonic clock [s].
        """
        if self._start is None or display is None:
            return False
        if self._target.pose is not self._start:  # somebody wants it elsewhere
            self.drop()
            return False
        if self._q.shape != q.shape or np.abs(self._q - q).max() > _STILL:
            self._q, self._still_since = q, now
        is_there = is_near(display.view.tip_pose(q), self._start, START_TOLERANCES)
        if not is_there or now - self._still_since < _REST:
            return False
        self.drop()
        return True
