"""
Windows of motion for controllers that blend each of them into what they play.

Such a controller forgets when a window was to begin: it begins when it comes. So it executes the
motion late, by as much as the window reaches into the past, and its first point lies a little after
its beginning: on the way there the controller goes from where it is, at the speed that it has.
Each window costs it a cycle, in which the set-point stays. So there are few of them, each for long
enough to bridge that.
"""

from __future__ import annotations

import numpy as np

from ik_service.following.command_window import PlannedMotion
from ik_service.trajectory.joint_trajectory import JointTrajectory

LAG = 0.06
"""Time by which the motion is executed late [s]: to the next window, one that is a little late."""

BRIDGE = 0.04
"""Time from the beginning of a window to its first point [s]: a late one changes the speed less."""

INTERVAL = 0.05
"""Time between two windows [s], five periods of the commands at least."""


class BlendedWindows:
    """Choice of the windows that are sent to a controller that blends them."""

    def __init__(self) -> None:
        self._sent_at = -np.inf
        self._newest: PlannedMotion | None = None

    @property
    def busy(self) -> bool:
        """Whether the newest window is still to be sent."""
        return self._newest is not None

    def add(self, planned: PlannedMotion, now: float, period: float) -> PlannedMotion | None:
        """
        Return what is to be sent at a tick; None for nothing.

        :param planned: the window of this tick.
        :param now: on the clock of the commands [s].
        :param period: time between two commands [s].
        """
        self._newest = planned
        wait = max(INTERVAL, 5.0 * period) - 0.5 * period
        return self.last(now) if now - self._sent_at >= wait else None

    def last(self, now: float) -> PlannedMotion | None:
        """
        Return the newest window, if it was not sent yet.

        :param now: on the clock of the commands [s].
        """
        planned, self._newest = self._newest, None
        if planned is None:
            return None
        self._sent_at = now
        return delayed(planned, now)


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
