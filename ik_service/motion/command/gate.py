"""
Gates of commands that are sent one by one, positions and velocities, to joints of a controller.

A gate is the last thing before a message is made, independent of all code before it. A controller
that goes to positions gets only such as it can stop at, and one that goes on with the last
velocities only such as it can be stopped from inside the limits; all others are brought inside
their bounds. Limits are plain arrays. Nothing here, and nothing in the gate of trajectories
(:mod:`.trajectory_gate`), is shared with the code that makes the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.motion.command.vector_kernels import (
    BRAKING,
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

_POSITION = 1e-6  # difference of positions that counts as rounding [rad] or [m]
_SLOW = 0.1  # share of a period by which sending may be slower without being noticed


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

    def moving(self, joints: np.ndarray, period: float) -> bool:
        """Return whether joints (k,) are too fast to stop at once, within a period [s]."""
        state = self._state[:, joints]
        return bool((np.abs(state[MOVES]) > state[BRAKING] * period).any())

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
        self._state[SENT_AT, joints] += late
        if delay > _LATE * period:
            self._state[STALLED, joints] = delay

    def leave(self, joints: np.ndarray) -> None:
        """Take note that joints (k,) follow the commands of somebody else by now."""
        self._state[MOVES, joints] = 0.0

    def withdraw(self) -> None:
        """Take note that the last positions were not sent after all."""
        self._state = self._before

    def _correct(self, reason: str) -> None:
        self.corrected, self.reason = self.corrected + 1, reason


class CommandedJoints:
    """
    Commands of a controller's m joints.

    :ivar names: the same.
    :ivar q: (m,) positions [rad] or [m]; of a joint that no group moves, as they were given when
        the commands began.
    :ivar velocity: (m,) velocities [rad/s] or [m/s]; 0 for a joint that no group moves.
    :ivar users: numbers of the groups that command some of them.
    :ivar rested: (m,) where the joints were measured when the last commands ended [rad] or [m];
        NaN before.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.q = np.zeros(len(self.names))
        self.velocity = np.zeros(len(self.names))
        self.rested = np.full(len(self.names), np.nan)
        self.users: set[int] = set()

    @cached_property
    def positions(self) -> PositionGate:
        """Gate of positions that are sent one by one."""
        return PositionGate(len(self.names))

    def indices(self, names: Sequence[str]) -> np.ndarray:
        """Return the indices of a group's joints (n,)."""
        return np.array([self.names.index(name) for name in names], dtype=np.intp)

    def begin(self, user: int, held: np.ndarray) -> bool:
        """
        Begin commands of a group.

        :param held: (m,) positions of those that no group moves [rad] or [m], unless others are
            moving already.
        :returns: whether no others are.
        """
        alone = not self.users
        if alone:
            self.q, self.velocity = held.copy(), np.zeros_like(held)
        self.users.add(user)
        return alone

    def put(self, indices: np.ndarray, q: np.ndarray, velocity: np.ndarray) -> None:
        """Put in a group's command: positions [rad] or [m] and velocities of joints, (n,) each."""
        self.q, self.velocity = self.q.copy(), self.velocity.copy()
        self.q[indices], self.velocity[indices] = q, velocity

    def end(self, user: int, indices: np.ndarray) -> None:
        """End the commands of a group (n,); its joints are held as long as others move."""
        self.users.discard(user)
        self.put(indices, self.q[indices], np.zeros(len(indices)))


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

    def leave(self) -> None:
        """Take note that the joints follow the commands of somebody else by now."""
        self._state = state_of(self._n)

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
        """Take note of the delay from the tick to the end of sending the last velocities [s]."""
        if delay > _SLOW * period:
            self._state[SENT_AT] += delay

    def withdraw(self) -> None:
        """Take note that the last velocities were not sent after all."""
        self._state = self._before
