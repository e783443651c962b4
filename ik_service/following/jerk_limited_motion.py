"""Joint motion whose acceleration, too, changes within bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_service.following.motion import JointMotion, MotionState
from ik_service.following.motion_limits import clamped, largest, MotionLimits
from ik_service.following.moving_average import AverageState, MovingAverage


class JerkLimitedMotion(JointMotion):
    """
    Motion that is the moving average of one whose acceleration alone is bounded.

    What that one leads to this one does too, by half a window later: it stays inside the joint
    limits, comes to rest, and arrives exactly, without overshoot. All joints are averaged over the
    same window, so that straight lines stay straight. A goal that moves is led by half a window,
    so that this motion is at it while its velocity is constant; else it is off by about
    acceleration × window² / 12.
    """

    def __init__(self, q: np.ndarray, window: float) -> None:
        """
        Start at rest.

        :param q: (n,) where [rad] or [m].
        :param window: time over which is averaged [s], above 0.
        """
        super().__init__(q)
        self.delay = 0.5 * window
        self._inner = JointMotion(q)
        self._average = MovingAverage(self.q, window)
        self._fastest = (0.0, 0.0)  # share of the full speed, and how long it still counts [s]

    @property
    def at_rest(self) -> bool:
        """Whether the command stands still, and will."""
        return self._inner.at_rest and not self.speed.any()

    @property
    def state(self) -> MotionState:
        """All that is known of the motion; may be set, to go back to an earlier one."""
        own = self.q, self.speed, self.braking
        return (*own, (self._inner.state, self._average.state, self._fastest))

    @state.setter
    def state(self, state: MotionState) -> None:
        self.q, self.speed, self.braking, more = state
        inner: MotionState
        average: AverageState
        inner, average, self._fastest = more  # type: ignore[misc]
        self._inner.state, self._average.state = inner, average

    def slow_down(self, share: float) -> None:
        """Slow down at once."""
        super().slow_down(share)
        self._average.contract(self.q, share)
        inner = self._inner
        inner.q, inner.speed = self.q + share * (inner.q - self.q), inner.speed * share

    def way_to_rest(self, limits: MotionLimits) -> tuple[np.ndarray, ...]:
        """Return the corners of the way to rest: where the averaged motion is, and will rest."""
        return self._inner.q, *self._inner.way_to_rest(self._inner_limits(limits))

    def move(
        self,
        goal: np.ndarray | None,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
        cautious: bool = False,
    ) -> None:
        """Move by one tick towards a goal, or to rest."""
        self._inner.move(goal, self._inner_limits(limits), dt, pace, cautious)
        self._go_on(limits, dt)

    def track(
        self,
        goal: np.ndarray,
        velocity: np.ndarray,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
    ) -> None:
        """Move by one tick to a goal that moves."""
        speed = clamped(velocity, -limits.velocity_now, limits.velocity_now)
        ahead = limits.inside(goal + speed * self.delay, self.q)
        self._inner.track(ahead, velocity, self._inner_limits(limits), dt, pace)
        self.behind = self._inner.behind
        self._go_on(limits, dt)

    def drive(
        self, velocity: np.ndarray, limits: MotionLimits, dt: float, pace: float = 1.0
    ) -> None:
        """Move by one tick with a velocity."""
        self._inner.drive(velocity, self._inner_limits(limits), dt, pace)
        self._go_on(limits, dt)

    def bounds(self, limits: MotionLimits) -> MotionLimits:
        """
        Return the bounds of the commands now.

        They slow down to a lower speed, within the jerk, no sooner than the averaged motion.

        :param limits: the bounds that shall hold.
        """
        fastest, _ = self._fastest
        if fastest <= limits.scaling:
            return limits
        return replace(limits, scaling=fastest)

    def _inner_limits(self, limits: MotionLimits) -> MotionLimits:
        return limits.averaged

    def _go_on(self, limits: MotionLimits, dt: float) -> None:
        """Move to where the average is by now."""
        inner, average = self._inner, self._average
        average.append(inner.q, dt)
        fastest, left = self._fastest
        now = max(largest(np.abs(inner.speed)), largest(np.abs(self.speed)))
        if now >= fastest or left <= 0.0:
            fastest, left = now, average.window
        self._fastest = fastest, left - dt
        limits = self.bounds(limits)
        low, high = self._reachable_speeds(limits, dt)
        goal = average.value()
        wanted = (goal - self.q) / (limits.unit * dt)
        if ((low <= wanted) & (wanted <= high)).all():
            self.q, self.speed = goal, wanted
        else:
            self._take(wanted, low, high, limits, dt)
