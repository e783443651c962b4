"""
Windows of motion for controllers that blend each of them into what they play.

Such a controller forgets when a window was to begin: it begins when it comes. So it executes the
motion late, by as much as the window reaches into the past, and its first point lies a little
after its beginning: on the way there the controller goes on from where it is, at the speed that it
has. Each window costs it a cycle, in which the set-point stays. So they are few, each for long
enough to bridge that.
"""

from __future__ import annotations

import numpy as np

from ik_service.motion.command.command_window import DELAY, MARGIN, PlannedMotion
from ik_service.motion.command.gate import TAKEN_UP
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

LAG, BRIDGE = 0.06, 0.04
"""
How late the motion is executed [s]: to the next window, and one that comes a little late. Time
from the beginning of a window to its first point [s]: the longer, the less changes a late window.
"""

INTERVAL = 0.05
"""Time between two windows [s], a period of the commands at least."""

HISTORY = LAG + 0.01
"""Length of a window's past [s]."""


class BlendedWindows:
    """
    Choice of the windows that are sent to a controller that blends them.

    :ivar newest: the newest window, which was not sent yet; None without one.
    """

    def __init__(self) -> None:
        self.newest: PlannedMotion | None = None
        self._sent_at = self._before = -np.inf

    @property
    def busy(self) -> bool:
        """Whether the newest window is still to be sent."""
        return self.newest is not None

    def has_stalled(self, now: float, period: float) -> bool:
        """
        Return whether the controller has come to the way to rest of the last window.

        :param now: on the clock of the commands [s].
        :param period: time between two commands [s].
        """
        known = LAG + (DELAY - 0.5) * period + MARGIN - TAKEN_UP
        return self._sent_at > -np.inf and now - self._sent_at > known

    def is_due(self, planned: PlannedMotion, now: float, period: float) -> bool:
        """
        Return whether a window is to be sent.

        :param planned: the window of this tick.
        :param now: on the clock of the commands [s].
        :param period: time between two commands [s].
        """
        self.newest = planned
        return now - self._sent_at >= max(INTERVAL, period) - 0.5 * period

    def sent(self, now: float) -> PlannedMotion:
        """
        Take note that the newest window is sent; return it in the form for such controllers.

        :param now: on the clock of the commands [s].
        """
        planned = self.newest
        assert planned is not None
        self.newest, self._before, self._sent_at = None, self._sent_at, now
        return delayed(planned, now)

    def discard(self) -> None:
        """Take note that the last window was not sent after all."""
        self._sent_at = self._before


def delayed(planned: PlannedMotion, now: float) -> PlannedMotion:
    """
    Return a window in the form for controllers that blend.

    By its stamp it is the same motion, so that others execute it as it is.

    :param planned: the window, which covers at least the last :data:`LAG` − :data:`BRIDGE`.
    :param now: on the clock of the commands [s].
    """
    way, start = planned.trajectory, now - LAG
    assert way.velocities is not None
    first = start + BRIDGE
    q, velocity = planned.at(first)
    later = planned.start + way.times > first + 1e-4
    return PlannedMotion(
        start,
        JointTrajectory(
            way.joint_names,
            np.concatenate([[BRIDGE], planned.start + way.times[later] - start]),
            np.vstack([q, way.positions[later]]),
            np.vstack([velocity, way.velocities[later]]),
        ),
    )
