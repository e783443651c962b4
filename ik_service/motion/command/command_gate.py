"""Final bound on joint commands, independent of the code before it: none leaves it in a jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.motion.command.motion_kernels import motion_kernels, state_of
from ik_service.motion.command.motion_limits import MotionLimits, remaining_share
from ik_service.motion.command.speed_kernels import BRAKING, GOAL, Q, SPEED

_ROUNDING = 1e-9
"""Difference that counts as rounding: a share of the velocity limit, or a distance [rad or m]."""

GateState = tuple[np.ndarray, np.ndarray, np.ndarray, float]
"""Positions, speeds, braking and time of the last command."""


@dataclass
class GateCounts:
    """
    Counts of what the gate had to correct; all are 0 in a healthy system.

    :ivar steps: positions that were not numbers, or too far for the velocity limits.
    :ivar speeds: changes of speed beyond the acceleration.
    :ivar limits: positions outside the joint limits.
    :ivar starts: starts elsewhere while the commands still moved.
    """

    steps: int = 0
    speeds: int = 0
    limits: int = 0
    starts: int = 0

    @property
    def total(self) -> int:
        """Sum of all counts."""
        return self.steps + self.speeds + self.limits + self.starts


class CommandGate:
    """
    Final check of every command on its way to the arm.

    It knows the last command, its speed and its time; from these alone follows what the next one
    may be: no joint moves by more than its velocity limit × scaling × the time that has really
    passed, one period at most; no speed changes by more than the acceleration (or, on the way to
    rest, the braking) allows; no joint leaves its limits. Anything else is brought inside these
    bounds, and counted.

    Commands count from when they have been sent. How long that takes is known only afterwards, so
    that the least of the last times is expected.

    :ivar counts: what had to be corrected.
    :ivar delay: how long it takes at least to send a command, as far as is known [s].
    """

    def __init__(self) -> None:
        self.counts = GateCounts()
        self.delay = 0.0
        self._q = np.zeros(0)
        self._speed = np.zeros(0)
        self._braking = np.zeros(0)
        self._sent_at = -np.inf
        self._admit, self._rows = motion_kernels().admit, state_of(0)

    @property
    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """
        The last command, (0,) before the first.

        (n,) positions [rad] or [m], and (n,) speeds in shares of the velocity limits.
        """
        return self._q, self._speed

    @property
    def state(self) -> GateState:
        """All that is known of the last command; may be set, to go back to an earlier one."""
        return self._q, self._speed, self._braking, self._sent_at

    @state.setter
    def state(self, state: GateState) -> None:
        self._q, self._speed, self._braking, self._sent_at = state

    @property
    def sent_at(self) -> float:
        """When the last command was sent, as far as is known [s]; −inf before the first."""
        return self._sent_at

    def begin(self, q: np.ndarray, now: float) -> None:
        """
        Begin a stream of commands at the measured position of the arm.

        Only after the stream before has come to rest; otherwise that one goes on.

        :param q: (n,) the measured positions [rad] or [m].
        :param now: on a monotonic clock [s].
        """
        if self._speed.any():
            self.counts.starts += 1
            return
        self._q = np.array(q, dtype=np.float64)
        self._speed = np.zeros_like(self._q)
        self._rows = state_of(len(self._q))
        self._sent_at = now + self.delay

    def elapsed(self, now: float) -> float:
        """
        Return the time from the sending of the last command to that of one of this moment [s].

        :param now: on the clock of :meth:`begin` [s].
        """
        return now + self.delay - self._sent_at

    def postpone(self, delay: float) -> None:
        """
        Note that the last command was sent later than was expected.

        :param delay: by how much [s].
        """
        self._sent_at += max(delay, 0.0)

    def slow_down(self, share: float, late: float) -> float:
        """
        Reduce the speed from which a late command goes on to that which the arm still has.

        No lower than what braking in the meantime would have led to.

        :param share: of the last speed, 0 to 1.
        :param late: by how much the command is late [s].
        :returns: the share that is left.
        """
        if self._speed.any():
            least = remaining_share(np.abs(self._speed), self._braking * late)
            share = min(max(share, least), 1.0)
            self._speed = self._speed * share
        return share

    def admit(
        self, q: np.ndarray, limits: MotionLimits, now: float, period: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return a command as it is, or the nearest one within the bounds.

        :param q: (n,) positions [rad] or [m].
        :param limits: bounds on the motion.
        :param now: on the clock of :meth:`begin` [s], after the last command.
        :param period: time between two commands [s].
        :returns: (n,) positions, and (n,) speeds in shares of the velocity limits.
        """
        dt, last = min(self.elapsed(now), period), self._q
        if not (dt > 0.0 and q.shape == last.shape and np.isfinite(q).all()):
            self.counts.steps += 1
            dt, q = max(dt, 0.0), last
        moving = bool(np.count_nonzero(self._speed))
        self._braking = limits.braking_since_rest(self._braking, moving)
        asked, admitted = self._rows, np.empty((2, len(last)))
        asked[Q], asked[SPEED], asked[BRAKING], asked[GOAL] = last, self._speed, self._braking, q
        rounding = _ROUNDING * (1.0 + 1.0 / max(dt, 1e-9))
        if self._admit(asked, limits.rows, limits.scaling, dt, rounding, admitted):
            self._count(q, dt, limits)
        self._q, self._speed = admitted
        self._sent_at = now + self.delay
        return self._q, self._speed

    def _count(self, q: np.ndarray, dt: float, limits: MotionLimits) -> None:
        speed = (q - self._q) / (limits.unit * dt) if dt > 0.0 else np.zeros_like(q)
        outside = (q < np.minimum(limits.lower, self._q)) | (q > np.maximum(limits.upper, self._q))
        if outside.any():
            self.counts.limits += 1
        elif (np.abs(speed) > limits.scaling + _ROUNDING).any():
            self.counts.steps += 1
        else:
            self.counts.speeds += 1
