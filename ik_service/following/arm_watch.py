"""What is known of an arm from its joint states, and how far that can be relied on."""

from __future__ import annotations

import numpy as np

from ik_service.following.settings import FollowerState
from ik_service.following.state_monitor import StateMonitor
from ik_service.kinematics.chain import KinematicChain

_NEW, _INTERVALS, _LONGEST_INTERVAL = 0.1, 2.5, 0.2
"""
Age up to which a state is where the arm is: in [s], and in intervals between two states, of which
a longer one [s] is a gap.
"""

_ASLEEP = 0.1
"""Time without a tick after which the process itself was away, and not the joint states [s]."""


class ArmWatch:
    """
    The measured state of a chain.

    :param chain: the chain.
    :param speeds: (n,) its joints' velocity limits [rad/s] or [m/s].
    :ivar measured: (n,) the last state that is believed [rad] or [m]; None before the first.
    :ivar reason: why it cannot be relied on, as of the last :meth:`fault`; empty when it can.
    """

    def __init__(self, chain: KinematicChain, speeds: np.ndarray) -> None:
        unlimited = np.isinf(chain.lower) & np.isinf(chain.upper)
        self._turn = np.where(unlimited, chain.arrays.turn, 0.0)
        self._monitor = StateMonitor(chain.joint_names, speeds)
        self._seen: np.ndarray | None = None
        self._measured_at = 0.0
        self._interval = 0.0
        self._ticked_at: float | None = None
        self._woken_at = -np.inf
        self.measured: np.ndarray | None = None
        self.reason = ''

    @property
    def contradictory(self) -> bool:
        """Whether there must be two sources of states that contradict each other."""
        return self._monitor.contradictory

    @property
    def awake(self) -> bool:
        """Whether a state has been measured since the process was away the last time."""
        return self._measured_at >= self._woken_at

    def see(self, q: np.ndarray, now: float, commanded: np.ndarray | None) -> bool:
        """
        Take in a measured state.

        :param q: (n,) positions [rad] or [m], finite.
        :param now: when it was measured, on a monotonic clock [s].
        :param commanded: (n,) the last command, on whose turn joints are put that turn for ever;
            None without one.
        :returns: whether it is believed.
        """
        q = q if self._seen is None else self.turned(q, self._seen)
        self._seen = q
        if not self._monitor.see(q, now):
            self.reason = self._monitor.doubt
            return False
        self.measured = q if commanded is None else self.turned(q, commanded)
        self._interval, self._measured_at = now - self._measured_at, now
        return True

    def tick(self, now: float) -> None:
        """Notice that time passes; when it has leapt, states get the time to come in."""
        if self._ticked_at is not None and now - self._ticked_at > _ASLEEP:
            self._woken_at = now
        self._ticked_at = now

    def fault(self, now: float, timeout: float) -> FollowerState | None:
        """
        Return what is wrong with the joint states; None when nothing is, or none has come yet.

        :param now: on the clock of :meth:`see` [s].
        :param timeout: age at which a state is no longer believed [s].
        """
        self.reason = self._monitor.doubt
        if self.reason:
            return FollowerState.STATE_IMPLAUSIBLE
        age = now - max(self._measured_at, self._woken_at)
        if self.measured is None or age <= timeout:
            return None
        self.reason = f'the last joint state is {now - self._measured_at:.2f} s old'
        return FollowerState.STATE_STALE

    def is_new(self, now: float, commanded_at: float) -> bool:
        """
        Return whether the last state is new enough to start a motion from.

        :param now: on the clock of :meth:`see` [s].
        :param commanded_at: when the last command was sent; one from before it does not tell where
            that has led to.
        """
        interval = min(self._interval, _LONGEST_INTERVAL)
        age = now - self._measured_at
        return self._measured_at >= commanded_at and age <= max(_NEW, _INTERVALS * interval)

    def position(self) -> np.ndarray:
        """Return where the arm is (n,) [rad] or [m]; see :meth:`StateMonitor.position`."""
        return self._monitor.position()

    def speed(self, now: float) -> np.ndarray | None:
        """Return how fast it moves (n,) [rad/s] or [m/s]; None when that is not known."""
        return self._monitor.speed(now) if self.awake else None

    def turned(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Put joints that turn for ever, which some drivers wrap, on the turn of a reference."""
        turn = np.where(self._turn > 0.0, self._turn, 1.0)
        return q + self._turn * np.round((reference - q) / turn)
