"""
Gate of the commands: the last thing before a message is made, independent of all code before it.

A controller that plays trajectories or velocities moves the arm by itself, after the last message
too. So the gate knows what the controller executes, and lets pass only what goes on with that
without a leap, keeps the limits at every instant (between the points of a trajectory, too), and
ends at rest if nothing more is sent. A trajectory that does not is not sent: the controller then
plays the last one to its end, which was let pass, and so ends at rest inside the limits. A
velocity that does not is brought inside its bounds, as the controller would go on with the last
one for ever.

The formulae are those of cubic Hermite segments; limits are plain arrays. Nothing here is shared
with what makes the motion.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ik_service.motion.command.cubic_kernels import cubic_kernels

TAKEN_UP = 0.004
"""Time after sending within which a controller takes up a trajectory [s]."""

CYCLE = 0.002
"""Time in which a change of speed within the acceleration is no leap: a controller's cycle [s]."""

SLOWING = 2.5
"""Longest time for which a motion may be faster than limits that were tightened [s]."""

_ACCELERATION, _SPEED = 0.02, 1e-6
"""Excess over the acceleration and over the speed that counts as rounding, as a share of it."""

_POSITION, _VELOCITY, _CHANGE = 1e-6, 1e-9, 1e-4
"""
Difference of positions [rad] or [m], velocities [rad/s] or [m/s] and accelerations [rad/s²] or
[m/s²] that counts as rounding: points may be 0.1 ms apart.
"""


_CREEP = 1e-6
"""Speed between points that are the same but for 1e-9 rad or m of rounding, 1 ms apart."""


@dataclass(frozen=True)
class JointBounds:
    """
    Bounds on the motion of n joints.

    :ivar lower: (n,) lower limits of the positions [rad] or [m]; −inf for none.
    :ivar upper: (n,) upper limits [rad] or [m]; inf for none.
    :ivar velocity: (n,) limits of the speeds [rad/s] or [m/s], not negative.
    :ivar acceleration: (n,) limits of the accelerations [rad/s²] or [m/s²]; inf for none.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


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
        """
        Return the motion through points.

        :param times: (k,) [s].
        :param positions: (k, n) [rad] or [m].
        :param velocities: (k, n) [rad/s] or [m/s].
        """
        return cls(np.ascontiguousarray(times, np.float64), np.array([positions, velocities]))

    def extremes(self, since: float) -> np.ndarray:
        """
        Return what the joints do at any instant from a time on.

        :param since: the time [s].
        :returns: (4, n) lowest and highest position, largest speed and largest acceleration.
        """
        n = self.rows.shape[2]
        found = np.empty((4, n))
        cubic_kernels().extremes(self.times, self.rows, float(since), np.empty((2, n)), found)
        return found

    def differences(self, other: CubicMotion, now: float) -> np.ndarray:
        """
        Return how far it is from another motion within :data:`TAKEN_UP`.

        :param other: the other one.
        :param now: since when [s].
        :returns: (2, n) largest difference of positions and of velocities.
        """
        n = self.rows.shape[2]
        found, place, moment = np.empty((2, n)), np.empty((4, n)), float(now)
        differences, its, others = cubic_kernels().differences, self.rows, other.rows
        differences(self.times, its, other.times, others, moment, TAKEN_UP, place, found)
        return found


def resting(q: np.ndarray, since: float) -> CubicMotion:
    """
    Return the motion of joints at rest.

    :param q: (n,) where they are [rad] or [m].
    :param since: when it begins [s].
    """
    return CubicMotion.of(np.array([since, since + 1.0]), np.array([q, q]), np.zeros((2, len(q))))


@dataclass
class TrajectoryGate:
    """
    Gate before a controller that plays trajectories.

    Limits that are tightened while the arm moves take effect along a motion that the old ones
    allow: it never gets faster again, and comes below the new ones within :data:`SLOWING`.

    :ivar refused: number of trajectories that were not let pass; 0 in health.
    :ivar reason: why the last one of them was not; empty before.
    """

    refused: int = 0
    reason: str = ''
    _executed: CubicMotion | None = field(default=None, repr=False)
    _speed: np.ndarray | None = field(default=None, repr=False)  # what is allowed since rest
    _acceleration: np.ndarray | None = field(default=None, repr=False)
    _slowing_until: float = field(default=-np.inf, repr=False)
    _before: TrajectoryGate | None = field(default=None, repr=False)

    def begin(self, q: np.ndarray, now: float) -> None:
        """
        Take note that the joints are elsewhere than the controller was told last.

        Without effect while what was told last still moves: the next trajectory has to go on
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
        speed, acceleration = self._allowed(left, bounds, now)
        reason = _malformed(motion, now)
        if not reason:
            reason = _fault(motion.extremes(now), left, bounds, speed, acceleration)
        if not reason and executed is not None:
            reason = _leap(motion, executed, now, speed, acceleration)
        if reason:
            self.refused, self.reason = self.refused + 1, reason
            return False
        self._before = replace(self, _before=None)
        self._executed, self._speed, self._acceleration = motion, speed, acceleration
        return True

    def is_late(self, now: float) -> bool:
        """
        Return whether the last trajectory that was let pass would be a leap if it was sent now.

        :param now: on a monotonic clock [s].
        """
        before, motion = self._before, self._executed
        if before is None or before._executed is None or motion is None:
            return False
        assert self._speed is not None
        assert self._acceleration is not None
        return bool(_leap(motion, before._executed, now, self._speed, self._acceleration))

    def withdraw(self) -> None:
        """Take note that the last trajectory that was let pass was not sent after all."""
        if self._before is not None:
            vars(self).update(vars(self._before), refused=self.refused, reason=self.reason)

    def _allowed(
        self, left: np.ndarray | None, bounds: JointBounds, now: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the speeds (n,) and accelerations (n,) that are allowed now."""
        speed, acceleration = bounds.velocity, bounds.acceleration
        if left is None or self._speed is None or self._acceleration is None:
            return speed, acceleration
        fastest = left[2]
        if not fastest.any():
            return speed, acceleration
        if (self._speed > speed).any() and self._slowing_until < now - SLOWING:
            self._slowing_until = now + SLOWING
        elif not (self._speed > speed).any():
            self._slowing_until = -np.inf
        if now <= self._slowing_until:
            speed = np.maximum(speed, np.minimum(self._speed, fastest))
        return speed, np.maximum(acceleration, self._acceleration)


def _fault(
    extremes: np.ndarray,
    left: np.ndarray | None,
    bounds: JointBounds,
    speed: np.ndarray,
    acceleration: np.ndarray,
) -> str:
    """Return which bound a trajectory breaks by its extremes; empty for none."""
    low, high, fastest, most = extremes
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


def _leap(
    motion: CubicMotion,
    executed: CubicMotion,
    now: float,
    speed: np.ndarray,
    acceleration: np.ndarray,
) -> str:
    """Return how a trajectory leaps from what is executed when it is taken up; empty if not."""
    q, velocity = motion.differences(executed, now)
    change = np.minimum(acceleration * CYCLE, 2.0 * speed)  # of the velocity in a cycle
    if (q > 0.5 * change * CYCLE + _POSITION).any():
        return f'it begins {q.max():.4f} rad or m beside what is executed'
    if (velocity > change + _VELOCITY).any():
        return f'its velocity begins {velocity.max():.4f} rad/s or m/s off what is executed'
    return ''


@dataclass
class VelocityGate:
    """
    Gate before a controller that goes on with the last velocities it was told.

    :param n: number of the joints.
    :ivar corrected: number of velocities that were brought inside their bounds; 0 in health.
    """

    n: int
    corrected: int = 0
    _speed: np.ndarray | None = field(default=None, repr=False)
    _braking: np.ndarray | None = field(default=None, repr=False)
    _sent_at: float = field(default=-np.inf, repr=False)
    _before: VelocityGate | None = field(default=None, repr=False)

    def admit(
        self,
        velocity: np.ndarray,
        q: np.ndarray | None,
        bounds: JointBounds,
        now: float,
        period: float,
    ) -> np.ndarray:
        """
        Return velocities (n,) as they are, or the nearest ones within the bounds.

        No velocity changes by more than the acceleration allows in the time that has passed, one
        period at most; none is faster than the limits, or, where these were tightened, than it
        was; none is so fast that a joint could not stop before its limit.

        :param velocity: (n,) [rad/s] or [m/s].
        :param q: (n,) where the joints are [rad] or [m]; None where that is not known, and their
            limits cannot be kept.
        :param bounds: bounds on the motion.
        :param now: on a monotonic clock [s].
        :param period: time between two commands [s].
        """
        self._before = replace(self, _before=None)
        last = np.zeros(self.n) if self._speed is None else self._speed
        moving = bool(last.any())
        braking = bounds.acceleration
        if moving and self._braking is not None:
            braking = np.maximum(braking, self._braking)
        dt = min(max(now - self._sent_at, 0.0), period)
        change = braking * dt + _VELOCITY
        low, high = last - change, last + change
        most = np.maximum(bounds.velocity, np.abs(last) - change)
        low, high = np.maximum(low, -most), np.minimum(high, most)
        if q is not None:
            low = np.maximum(low, -_stopping_speed(q - bounds.lower, braking, period))
            high = np.minimum(high, _stopping_speed(bounds.upper - q, braking, period))
        wanted = np.where(np.isfinite(velocity), velocity, 0.0)
        admitted = np.minimum(np.maximum(wanted, np.minimum(low, high)), high)
        if not np.allclose(admitted, velocity, rtol=0.0, atol=1e-6):
            self.corrected += 1
        self._speed, self._braking, self._sent_at = admitted, braking, now
        return admitted

    def withdraw(self) -> None:
        """Take note that the last velocities were not sent after all."""
        if self._before is not None:
            vars(self).update(vars(self._before), corrected=self.corrected)


def _stopping_speed(room: np.ndarray, braking: np.ndarray, period: float) -> np.ndarray:
    """Return the speed (n,) that goes on for a period and can then be braked within a room."""
    finite = np.clip(room, 0.0, 1e9)
    slow = np.maximum(braking, 1e-9)
    return 2.0 * finite / (period + np.sqrt(period**2 + 2.0 * finite / slow))
