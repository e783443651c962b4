"""
Gate of the commands: the last thing before a message is made, independent of all code before it.

A controller that plays trajectories or velocities moves the arm by itself, after the last message
too. So the gate tracks the executed motion, and passes only commands that continue it
without a leap, keep the limits at every instant (between the points of a trajectory, too), and
end at rest if nothing more is sent. Any other trajectory is not sent: the controller then
plays the last one to its end, which was passed, and so ends at rest inside the limits. Any
other velocity is brought inside its bounds, as the controller would go on with the last
one for ever.

The formulae are those of cubic Hermite segments; limits are plain arrays. Nothing here is shared
with the code that makes the motion.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ik_service.motion.command.cubic_kernels import cubic_kernels, INSTANT
from ik_service.motion.command.vector_kernels import (
    LONGEST_SLOWING,
    MOVES,
    NOT_FINITE,
    OUTSIDE,
    Q,
    SENT_AT,
    SHOWN,
    STALLED,
    state_of,
    TOO_FAST,
    TOO_JERKY,
    TOO_SUDDEN,
    vector_kernels,
)

TAKEN_UP = 0.004
"""Time after sending within which a controller takes up a trajectory [s]."""

CYCLE = 0.002
"""Time in which a change of speed within the acceleration is no leap: a controller's cycle [s]."""

SLOWING = LONGEST_SLOWING
"""Longest time for which a motion may be faster than limits that were tightened [s]."""

_ACCELERATION, _SPEED = 0.02, 1e-6
"""Share of the acceleration or jerk, and of the speed, that an excess may be as rounding."""

_POSITION, _VELOCITY, _CHANGE = 1e-6, 1e-9, 1e-4
"""
Difference of positions [rad] or [m], velocities [rad/s] or [m/s] and accelerations [rad/s²] or
[m/s²] that counts as rounding: points may be 0.1 ms apart.
"""


_CREEP = 1e-6
"""Speed between points that are the same but for 1e-9 rad or m of rounding, 1 ms apart."""

_SLOW, _LONG, _REMEMBERED = 0.1, 0.5, 10
"""
Share of a period by which sending may be slower than expected without being noticed, share that is
expected at most, and number of messages the least delay of which is expected of the next one.
"""


@dataclass(frozen=True)
class JointBounds:
    """
    Bounds on the motion of n joints.

    :ivar lower: (n,) lower limits of the positions [rad] or [m]; −inf for none.
    :ivar upper: (n,) upper limits [rad] or [m]; inf for none.
    :ivar velocity: (n,) limits of the speeds [rad/s] or [m/s], not negative.
    :ivar acceleration: (n,) limits of the accelerations [rad/s²] or [m/s²]; inf for none.
    :ivar jerk: (n,) limits of the jerks [rad/s³] or [m/s³], inf for none; None for none at all.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray | None = None

    @cached_property
    def rows(self) -> np.ndarray:
        """The bounds as the kernels take them (5, n)."""
        jerk = np.full(len(self.velocity), np.inf) if self.jerk is None else self.jerk
        rows = self.lower, self.upper, self.velocity, self.acceleration, jerk
        return np.array(rows, np.float64)


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

    :ivar refused: number of trajectories that were not passed; 0 in health.
    :ivar reason: why the last one of them was not; empty before.
    """

    refused: int = 0
    reason: str = ''
    _executed: CubicMotion | None = field(default=None, repr=False)
    _rates: np.ndarray | None = field(default=None, repr=False)  # rates allowed since rest
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
        rates = bounds.rows[2:]
        if left is None or self._rates is None or not left[2].any():
            return rates
        (before, *others), (speed, *_) = self._rates, rates
        if (before > speed).any() and self._slowing_until < now - SLOWING:
            self._slowing_until = now + SLOWING
        elif not (before > speed).any():
            self._slowing_until = -np.inf
        if now <= self._slowing_until:
            speed = np.maximum(speed, np.minimum(before, left[2]))
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


class SendingTimes:
    """
    Times at which messages are really sent, as far as they can be known when one is made.

    A message counts from when it has been sent. How long that takes is known only afterwards, so
    that the least of the last times is expected of the next one.

    :ivar expected: how long it takes at least, from the tick to the end of sending [s].
    """

    def __init__(self) -> None:
        self.expected = 0.0
        self._delays = deque([0.0], maxlen=_REMEMBERED)
        self._unknown = False  # whether nothing is known of the sending of the last message

    def moment(self, now: float, period: float, begins: bool) -> float:
        """
        Return when the message of a tick will have been sent [s].

        :param now: time of the tick [s].
        :param period: time between two messages [s].
        :param begins: whether it is the first one of a stream.
        """
        if self._unknown and not begins:
            self._expect(0.0, period)
        self._unknown = not begins
        return now + self.expected

    def mark_sent(self, delay: float, period: float) -> float:
        """
        Take note that the last message was sent.

        :param delay: from the tick to the end of sending [s].
        :param period: time between two messages [s].
        :returns: how much longer than expected that took [s]; 0 where it is too little to count.
        """
        self._unknown = False
        late = delay - self.expected
        self._expect(delay, period)
        return late if late > _SLOW * period else 0.0

    def discard(self) -> None:
        """Take note that the last message was not sent."""
        self._unknown = False

    def _expect(self, delay: float, period: float) -> None:
        self._delays.append(delay)
        least = min(min(self._delays), _LONG * period)
        self.expected = least if least > _SLOW * period else 0.0


_LATE = 2.0
"""Periods that sending takes after which joints may have slowed down by themselves meanwhile."""

_FAULTS = {
    NOT_FINITE: 'it is not finite',
    OUTSIDE: 'it leaves the joint limits',
    TOO_FAST: 'it is faster than the limits allow',
    TOO_SUDDEN: 'its speed changes by more than the limits allow',
    TOO_JERKY: 'its acceleration changes by more than the limits allow',
    SHOWN: 'its velocity is not that of the step',
}
"""Sentences about the faults that the kernels find."""


class PositionGate:
    """
    Gate before a controller that goes to the last commanded positions.

    Each joint goes on from the last command sent, and its time: no step is longer than its
    speed limit allows in the time that has passed until the next message is sent, one period at
    most; no speed changes by more than the acceleration; none is so fast that the joint could not
    stop before its limit. A joint whose message was late may have slowed down by itself. Limits
    that are tightened take effect as those of :class:`TrajectoryGate` do. Positions beyond are
    brought to the nearest positions within, from where the joint goes to those asked for.

    :param n: number of the joints.
    :ivar corrected: number of vectors that were brought inside their bounds; 0 in health.
    :ivar reason: why the last one of them was; empty before.
    """

    def __init__(self, n: int) -> None:
        self.corrected, self.reason = 0, ''
        self._kernel = vector_kernels().positions
        self._state = state_of(n)
        self._before = self._state

    @property
    def q(self) -> np.ndarray:
        """The last positions (n,) that were passed [rad] or [m]."""
        return self._state[Q].copy()

    def begin(self, q: np.ndarray, joints: np.ndarray, at: float) -> None:
        """
        Take note that joints rest elsewhere than at their last command.

        One that still moves goes on from there; if it had to begin elsewhere, that is counted.

        :param q: (k,) where they are [rad] or [m].
        :param joints: (k,) indices of these joints among the n.
        :param at: when the first positions will have been sent, on a monotonic clock [s].
        """
        state = self._state[:, joints]
        moves = state[MOVES] != 0.0
        if (moves & (np.abs(q - state[Q]) > _POSITION)).any():
            self._correct('it begins elsewhere while the joints still move')
        rested = np.isfinite(q) & ~moves
        state[:, rested] = 0.0
        state[Q, rested], state[SENT_AT, rested] = q[rested], at
        self._state[:, joints] = state

    def admit(
        self,
        q: np.ndarray,
        velocity: np.ndarray,
        joints: np.ndarray,
        bounds: JointBounds,
        at: float,
        period: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return positions and velocities as they are, or the nearest ones within the bounds.

        :param q: (k,) positions [rad] or [m].
        :param velocity: (k,) velocities that are shown with them [rad/s] or [m/s]: those at the
            end of the step.
        :param joints: (k,) indices of these joints among the n.
        :param bounds: bounds on their motion.
        :param at: when they will have been sent, on a monotonic clock [s].
        :param period: time between two messages [s].
        :returns: (k,) positions and (k,) velocities.
        """
        self._before, self._state = self._state, self._state.copy()
        asked, admitted = np.empty((2, len(joints))), np.empty((2, len(joints)))
        sound = q.shape == velocity.shape == joints.shape
        asked[0], asked[1] = (q, velocity) if sound else (np.nan, np.nan)
        around = self._state, joints, asked, bounds.rows, float(at), float(period), admitted
        fault = self._kernel(*around)
        if fault:
            self._correct(_FAULTS[fault])
        return admitted[0], admitted[1]

    def mark_sent(self, joints: np.ndarray, delay: float, late: float, period: float) -> None:
        """
        Take note of when the last positions were really sent.

        :param joints: (k,) indices of their joints among the n.
        :param delay: how long it took, from the tick to the end of sending [s].
        :param late: by how much that is later than was given to :meth:`admit` [s].
        :param period: time between two messages [s].
        """
        if late > 0.0:
            self._state[SENT_AT, joints] += late
        if delay > _LATE * period:
            self._state[STALLED, joints] = delay

    def withdraw(self) -> None:
        """Take note that the last positions were not sent after all."""
        self._state = self._before

    def _correct(self, reason: str) -> None:
        self.corrected, self.reason = self.corrected + 1, reason


class VelocityGate:
    """
    Gate before a controller that goes on with the last commanded velocities.

    Limits that are tightened take effect as those of :class:`PositionGate` do.

    :param n: number of the joints.
    :ivar corrected: number of velocities that were brought inside their bounds; 0 in health.
    :ivar reason: why the last ones of them were; empty before.
    """

    def __init__(self, n: int) -> None:
        self.corrected, self.reason = 0, ''
        self._kernel = vector_kernels().velocities
        self._n, self._joints = n, np.arange(n, dtype=np.intp)
        self._state = state_of(n)
        self._before = self._state

    @property
    def velocity(self) -> np.ndarray:
        """The last velocities (n,) that were passed [rad/s] or [m/s]."""
        return self._state[MOVES].copy()

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

        No velocity changes by more than the acceleration allows in the time that has passed since
        the last ones were sent, one period at most; none is faster than the limits, or, where
        these were tightened, than it was; none is so fast that, after a period of it, a joint
        could not stop before its limit.

        :param velocity: (n,) [rad/s] or [m/s].
        :param q: (n,) where the joints are [rad] or [m]; None where that is not known, and their
            limits cannot be kept.
        :param bounds: bounds on the motion.
        :param now: on a monotonic clock [s].
        :param period: time between two commands [s].
        """
        self._before, self._state = self._state, self._state.copy()
        asked, admitted = np.empty((2, self._n)), np.empty((2, self._n))
        asked[0], asked[1] = np.nan if q is None else q, velocity
        joints, rows = self._joints, bounds.rows
        around = self._state, joints, asked, rows, float(now), float(period), admitted
        fault = self._kernel(*around)
        if fault:
            self.corrected, self.reason = self.corrected + 1, _FAULTS[fault]
        return admitted[1]

    def mark_sent(self, delay: float, period: float) -> None:
        """
        Take note of when the last velocities were really sent.

        :param delay: how long it took, from the tick to the end of sending [s].
        :param period: time between two commands [s].
        """
        if delay > _SLOW * period:
            self._state[SENT_AT] += delay

    def withdraw(self) -> None:
        """Take note that the last velocities were not sent after all."""
        self._state = self._before
