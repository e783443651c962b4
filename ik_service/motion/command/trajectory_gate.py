"""
Gate before a controller that plays trajectories, independent of all code before it.

Such a controller moves the arm by itself, after the last message too. So the gate tracks the
executed motion, and passes only trajectories that continue it without a leap, keep the limits at
every instant (between their points, too), and end at rest. Any other trajectory is not sent: the
controller then plays the last one to its end, which was passed, and so ends at rest inside the
limits. The formulae are those of cubic Hermite segments.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ik_service.motion.command.cubic_kernels import cubic_kernels, INSTANT
from ik_service.motion.command.gate import JointBounds
from ik_service.motion.command.vector_kernels import GOING_ON, LONGEST_SLOWING

TAKEN_UP = 0.004  # time after sending within which a controller takes up a trajectory [s]

CYCLE = 0.002
"""Time in which a change of speed within the acceleration is no leap: a controller's cycle [s]."""

_ACCELERATION, _SPEED = 0.02, 1e-6
"""Share of the acceleration or jerk, and of the speed, that an excess may be as rounding."""

_POSITION, _VELOCITY, _CHANGE = 1e-6, 1e-9, 1e-4
"""
Difference of positions [rad] or [m], velocities [rad/s] or [m/s] and accelerations [rad/s²] or
[m/s²] that counts as rounding: points may be 0.1 ms apart.
"""

_CREEP = 1e-6
"""Speed between points that are the same but for 1e-9 rad or m of rounding, 1 ms apart."""


@dataclass(frozen=True)
class CubicMotion:
    """
    Motion along cubic segments, as a controller interpolates between points with velocities.

    :ivar times: (k,) times of the points [s], increasing; k ≥ 2.
    :ivar rows: (2, k, n) their positions [rad] or [m] and velocities [rad/s] or [m/s]; before the
        first and after the last one the arm rests there.
    """

    times: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, times: np.ndarray, positions: np.ndarray, velocities: np.ndarray) -> CubicMotion:
        """Return the motion through points: (k,) times [s], (k, n) positions and velocities."""
        return cls(np.ascontiguousarray(times, np.float64), np.array([positions, velocities]))

    def extremes(self, since: float) -> np.ndarray:
        """
        Return the motion of the joints at any instant from a time on.

        :param since: the time [s].
        :returns: (5, n) lowest and highest position, largest speed, acceleration and jerk.
        """
        n = self.rows.shape[2]
        found = np.empty((5, n))
        cubic_kernels().extremes(self.times, self.rows, float(since), np.empty((3, n)), found)
        return found

    def differences(self, other: CubicMotion, now: float) -> np.ndarray:
        """
        Return how far it is from another motion within :data:`TAKEN_UP`.

        :param other: the other one.
        :param now: since when [s].
        :returns: (3, n) largest difference of positions, of velocities and of accelerations.
        """
        n = self.rows.shape[2]
        found, place, moment = np.empty((3, n)), np.empty((6, n)), float(now)
        differences, its, others = cubic_kernels().differences, self.rows, other.rows
        differences(self.times, its, other.times, others, moment, TAKEN_UP, place, found)
        return found


def resting(q: np.ndarray, since: float) -> CubicMotion:
    """Return the motion of joints at rest at q (n,) [rad] or [m], from a time on [s]."""
    return CubicMotion.of(np.array([since, since + 1.0]), np.array([q, q]), np.zeros((2, len(q))))


@dataclass
class TrajectoryGate:
    """
    Gate before a controller that plays trajectories.

    Limits that are tightened while the arm moves take effect along a motion that the old ones
    allow: it never gets faster again, but for 0.5 s where a jerk is limited, as an acceleration
    cannot end at once, and comes below the new ones within 2.5 s.

    :ivar refused: number of trajectories that were not passed; 0 in health.
    :ivar reason: why the last one of them was not; empty before.
    """

    refused: int = 0
    reason: str = ''
    _executed: CubicMotion | None = field(default=None, repr=False)
    _rates: np.ndarray | None = field(default=None, repr=False)  # rates allowed since rest
    _speeds: np.ndarray | None = field(default=None, repr=False)  # limits of the last one
    _slowing_until: float = field(default=-np.inf, repr=False)
    _before: TrajectoryGate | None = field(default=None, repr=False)

    def begin(self, q: np.ndarray, now: float) -> None:
        """
        Take note that the joints are not at the controller's last command.

        Without effect while the last command still moves: the next trajectory has to go on
        from that.

        :param q: (n,) where they are at rest [rad] or [m].
        :param now: on a monotonic clock [s].
        """
        if self._executed is None or not self._executed.extremes(now)[2].any():
            self._executed = resting(q, now)

    def admit(self, motion: CubicMotion, bounds: JointBounds, now: float) -> bool:
        """
        Return whether a trajectory may be sent; one that may counts as sent.

        :param motion: its points, by the clock of ``now``.
        :param bounds: bounds on the motion from now on.
        :param now: on a monotonic clock [s].
        """
        executed = self._executed
        left = None if executed is None else executed.extremes(now)
        rates = self._allowed(left, bounds, now)
        reason = _malformed(motion, now)
        if not reason:
            reason = _fault(motion.extremes(now), left, bounds, rates)
        if not reason and executed is not None:
            reason = _leap(motion, executed, now, rates)
        if reason:
            self.refused, self.reason = self.refused + 1, reason
            return False
        self._before = replace(self, _before=None)
        self._executed, self._rates = motion, rates
        return True

    def is_late(self, now: float) -> bool:
        """
        Return whether the last trajectory that was passed is too late to be sent now.

        It is when it is over, so that a controller would refuse it, or would be a leap.

        :param now: on a monotonic clock [s].
        """
        before, motion, rates = self._before, self._executed, self._rates
        if motion is not None and motion.times[-1] <= now:
            return True
        if before is None or before._executed is None or motion is None or rates is None:
            return False
        return bool(_leap(motion, before._executed, now, rates))

    def withdraw(self) -> None:
        """Take note that the last trajectory that was passed was not sent after all."""
        if self._before is not None:
            vars(self).update(vars(self._before), refused=self.refused, reason=self.reason)

    def _allowed(self, left: np.ndarray | None, bounds: JointBounds, now: float) -> np.ndarray:
        """Return the speeds, accelerations and jerks (3, n) that are allowed now."""
        rates, last, self._speeds = bounds.rows[2:], self._speeds, bounds.velocity
        if left is None or last is None or self._rates is None or not left[2].any():
            return rates
        (before, *others), (speed, *_) = self._rates, rates
        if (speed < last).any():
            self._slowing_until = now + LONGEST_SLOWING
        slowing = self._slowing_until - now  # for how long it may go on
        if slowing >= 0.0:
            smooth = slowing > LONGEST_SLOWING - GOING_ON and np.isfinite(rates[2]).any()
            speed = np.maximum(speed, before if smooth else np.minimum(before, left[2]))
        return np.array([speed, *np.maximum(rates[1:], others)])


def _fault(
    extremes: np.ndarray, left: np.ndarray | None, bounds: JointBounds, rates: np.ndarray
) -> str:
    """Return which bound a trajectory breaks by its extremes; empty for none."""
    low, high, fastest, most, jerks = extremes
    speed, acceleration, jerk = rates
    if (jerks > jerk * (1.0 + _ACCELERATION) + _CHANGE / INSTANT).any():
        return 'its acceleration changes faster than the limits allow'
    if (most > acceleration * (1.0 + _ACCELERATION) + _CHANGE).any():
        return 'it accelerates faster than the limits allow'
    if (fastest > speed * (1.0 + _SPEED) + _CREEP).any():
        return 'it is faster than the limits allow'
    least, highest = bounds.lower, bounds.upper
    if left is not None:  # joints outside their limits may stay or come back
        least, highest = np.minimum(least, left[0]), np.maximum(highest, left[1])
    if ((low < least - _POSITION) | (high > highest + _POSITION)).any():
        return 'it leaves the joint limits'
    return ''


def _malformed(motion: CubicMotion, now: float) -> str:
    """Return why no controller can play a trajectory to rest; empty when one can."""
    times, rows = motion.times, motion.rows
    if len(times) < 2 or not (np.isfinite(times).all() and np.isfinite(rows).all()):
        return 'it has not two points of finite numbers'
    if (times[1:] <= times[:-1]).any():
        return 'its times do not increase'
    if rows[1, -1].any():
        return 'it does not end at rest'
    if times[0] > now or times[-1] <= now:
        return 'it does not cover the present'
    return ''


def _leap(motion: CubicMotion, executed: CubicMotion, now: float, rates: np.ndarray) -> str:
    """Return the leap of a trajectory from the executed motion at its start; empty if none."""
    q, velocity, changed = motion.differences(executed, now)
    speed, acceleration, jerk = rates
    change = np.minimum(acceleration, jerk * CYCLE) * CYCLE  # of the velocity in a cycle
    change = np.minimum(change, 2.0 * speed)
    if (q > 0.5 * change * CYCLE + _POSITION).any():
        return f'it begins {q.max():.4f} rad or m beside what is executed'
    if (velocity > change + _VELOCITY).any():
        return f'its velocity begins {velocity.max():.4f} rad/s or m/s off what is executed'
    if (changed > jerk * CYCLE + _CHANGE).any():
        return f'its acceleration begins {changed.max():.4f} rad/s² or m/s² off what is executed'
    return ''
