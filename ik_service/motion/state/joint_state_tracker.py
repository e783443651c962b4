"""Tracking of an arm's measured joint states: the last believed one, its age and its faults."""

from __future__ import annotations

from collections import deque

import numpy as np

from ik_service.common.arguments import check_time
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType
from ik_service.motion.settings import FollowerState
from ik_service.motion.state.plausibility import FINE, FINE_LINEAR, PlausibilityMonitor

_REST = 0.19
"""Time for which an arm has to be seen at rest [s]: two states after the first one at 10 Hz."""

_COUNTED = 0.1
"""Longest time between two states that counts in full: motion in a gap is not seen [s]."""

_INTERVAL = 0.01
"""Least time between states that are kept [s]."""

_SET_BACK = 1.0
"""Time by which states may be older than those before, unless the clock was set [s]."""

_KEPT = 32
_SWAY = 3.0
"""Distance between two states of an arm at rest, in tolerances: noise and vibration."""

_ENOUGH = 10
"""States from which their noise can be estimated."""

_DRIFT_OF_NOISE, _SWAY_OF_NOISE = 4.0, 6.0
"""Allowance for noise beyond that, in standard deviations: of the means, and of a state."""

_WORDS = 'motions start only at rest'


class RestMonitor:
    """
    Monitor of whether an arm rests, from where its joints were measured.

    Velocities of joint states are not used, as not all drivers send them. Rest is judged by the
    difference between the mean positions of the two halves of the time, in which noise is small.

    :param tolerances: (n,) differences that count as noise [rad] or [m].
    :ivar reason: why the arm is not known to be at rest, as of the last :meth:`rests`.
    """

    def __init__(self, names: tuple[str, ...], tolerances: np.ndarray) -> None:
        self._names, self._tolerances = names, tolerances
        self._states: deque[tuple[np.ndarray, float]] = deque(maxlen=_KEPT)
        self._kept_at = -np.inf
        self.reason = ''

    def update(self, q: np.ndarray, now: float) -> None:
        """
        Take in a measured state.

        :param q: (n,) positions [rad] or [m].
        :param now: when it was measured, on a monotonic clock [s].
        """
        passed = now - self._kept_at
        if passed < -_SET_BACK:
            self._states.clear()
        elif passed < _INTERVAL:
            return
        self._states.append((q, now))
        self._kept_at = now

    def rests(self, q: np.ndarray, since: float) -> bool:
        """
        Return whether the arm is known to be at rest; the reason why not is kept.

        An arm that was never commanded, and of which only few states have come yet, counts as
        one at rest while these do not show anything else.

        :param q: (n,) where it is now [rad] or [m].
        :param since: when it was commanded last [s]; states from before do not count. −inf for
            never.
        """
        seen, time = [q], 0.0
        after = None
        for state, then in reversed(self._states):
            if then < since or time >= _REST:
                break
            time += 0.0 if after is None else min(after - then, _COUNTED)
            seen.append(state)
            after = then
        moved = self._moved(np.array(seen))
        worst = int(np.argmax(moved))
        if moved[worst] > 1.0:
            self.reason = f'{self._names[worst]} moves, and {_WORDS}'
        elif time < _REST and since > -np.inf:
            self.reason = f'the arm is not known to be at rest yet, and {_WORDS}'
        else:
            self.reason = ''
        return not self.reason

    def _moved(self, states: np.ndarray) -> np.ndarray:
        """Return how far joints have moved (n,), in the distance that is no rest any more."""
        half = (len(states) + 1) // 2
        drift = np.abs(states[:half].mean(axis=0) - states[-half:].mean(axis=0))
        sway = np.ptp(states, axis=0)
        noise = np.zeros(states.shape[1])
        if len(states) >= _ENOUGH:  # second differences: a steady motion has none
            noise = np.sqrt(np.mean(np.diff(states, n=2, axis=0) ** 2, axis=0) / 6.0)
        drift_at_rest = self._tolerances + _DRIFT_OF_NOISE * noise * np.sqrt(2.0 / half)
        sway_at_rest = _SWAY * self._tolerances + _SWAY_OF_NOISE * noise
        return np.maximum(drift / drift_at_rest, sway / sway_at_rest)


FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE, FollowerState.ARM_MOVES)
"""States in which no motion starts because of the joint states."""

_FRESH, _INTERVALS, _LONGEST_INTERVAL = 0.1, 2.5, 0.2
"""
Age up to which a state is where the arm is: in [s], and in intervals between two states, of which
a longer one [s] is a gap.
"""

_AWAITED = 1.0
"""Time for which a motion waits for states to start from, or for rest, at least [s]."""

_SUSPENDED = 0.1
"""Time without a tick after which the process, and not the source of states, was away [s]."""


class JointStateTracker:
    """
    Tracker of the measured state of a chain.

    :param speeds: (n,) its joints' velocity limits [rad/s] or [m/s].
    :ivar measured: (n,) the last state that is believed [rad] or [m]; None before the first.
    :ivar noise: (n,) distances that mean nothing [rad] or [m]; inf for joints that never move.
    :ivar reason: why it cannot be relied on, as of the last :meth:`fault`; empty when it can.
    """

    def __init__(self, chain: KinematicChain, speeds: np.ndarray) -> None:
        unlimited = np.isinf(chain.lower) & np.isinf(chain.upper)
        self._turn = np.where(unlimited, chain.arrays.turn, 0.0)
        self._turns = bool(self._turn.any())
        self._divisor = np.where(self._turn > 0.0, self._turn, 1.0)
        kinds = [chain.robot.joints[name].type for name in chain.joint_names]
        noise = [FINE_LINEAR if kind is JointType.PRISMATIC else FINE for kind in kinds]
        self._plausibility = PlausibilityMonitor(chain.joint_names, speeds, np.array(noise))
        self.noise = np.where(speeds > 0.0, noise, np.inf)  # the others are not waited for
        self._rest = RestMonitor(chain.joint_names, self.noise)
        self._restless: tuple[float, float] | None = None
        self._received: np.ndarray | None = None
        self._received_at = 0.0
        self._wraps = np.zeros(chain.n)
        self._measured_at = 0.0
        self._interval = 0.0
        self._ticked_at: float | None = None
        self._resumed_at = -np.inf
        self._awaited_since: float | None = None
        self.measured: np.ndarray | None = None
        self.reason = ''

    @property
    def contradictory(self) -> bool:
        """Whether there must be two sources of states that contradict each other."""
        return self._plausibility.contradictory

    @property
    def current(self) -> bool:
        """Whether a state has been measured since the process was suspended the last time."""
        return self._measured_at >= self._resumed_at

    @property
    def measured_at(self) -> float:
        """When the last state that is believed was measured [s]."""
        return self._measured_at

    def update(self, q: np.ndarray, now: float, commanded: np.ndarray | None) -> bool:
        """
        Take in a measured state.

        :param q: (n,) positions [rad] or [m], finite.
        :param now: when it was measured, on a monotonic clock [s].
        :param commanded: (n,) the last command [rad] or [m], on whose turn continuous joints are
            put; None without one.
        :returns: whether it is believed.
        :raises ArgumentError: the time is not finite.
        """
        check_time(now, 'now')
        self._received = q = self._continued(q, now)
        self._rest.update(q, now)
        if not self._plausibility.update(q, now):
            self.reason = self._plausibility.doubt
            return False
        self.measured = q if commanded is None else self.unwrapped(q, commanded)
        self._interval, self._measured_at = now - self._measured_at, now
        return True

    def tick(self, now: float) -> None:
        """
        Note that time passes; after a suspension of the process, states get time to come in.

        :raises ArgumentError: it is not finite.
        """
        check_time(now, 'now')
        if self._ticked_at is not None and now - self._ticked_at > _SUSPENDED:
            self._resumed_at, self._awaited_since = now, None
        self._ticked_at = now

    def fault(self, now: float, timeout: float) -> FollowerState | None:
        """
        Return the fault of the joint states; None without a fault, or before the first state.

        :param timeout: age at which a state is no longer believed [s].
        """
        self.reason = self._plausibility.doubt
        if self.reason:
            return FollowerState.STATE_IMPLAUSIBLE
        if self.measured is None:
            return None
        age = now - self._measured_at
        if min(age, now - self._resumed_at) > timeout:
            self.reason = f'the last joint state is {age:.2f} s old'
            return FollowerState.STATE_STALE
        if age <= self._youngest():
            self._awaited_since = None
        elif self._awaited_for(now) > max(timeout, _AWAITED):
            self.reason = (
                f'motions start only from joint states younger than {self._youngest():.2f} s; '
                f'the last one is {age:.2f} s old; the clocks of arm and node must agree'
            )
            return FollowerState.STATE_STALE
        if self._restless is None or now - self._restless[0] <= max(timeout, _AWAITED):
            return None
        if self.rests(now, self._restless[1]):
            return None
        self.reason = self._rest.reason
        return FollowerState.ARM_MOVES

    def rests(self, now: float, since: float) -> bool:
        """
        Return whether the arm is known to be at rest, so that a motion may start.

        :param since: when a command was sent to it last [s]; −inf for never.
        """
        if self._received is not None and self._rest.rests(self._received, since):
            self.note_rest()
            return True
        if self._restless is None:
            self._restless = now, since
        return False

    def note_rest(self) -> None:
        """Note that the arm is at rest."""
        self._restless = None

    def is_fresh(self, now: float, commanded_at: float) -> bool:
        """
        Return whether the last state is new enough to start a motion from.

        :param commanded_at: when the last command was sent [s]; a state from before it cannot
            show its effect.
        """
        fresh = self._measured_at >= commanded_at and now - self._measured_at <= self._youngest()
        if fresh:
            self._awaited_since = None
        elif self._awaited_since is None:
            self._awaited_since = now
        return fresh

    def _awaited_for(self, now: float) -> float:
        """Return for how long a motion has waited for a state to start from [s]."""
        return 0.0 if self._awaited_since is None else now - self._awaited_since

    def _youngest(self) -> float:
        """Return the age up to which a state is where the arm is [s]."""
        return max(_FRESH, _INTERVALS * min(self._interval, _LONGEST_INTERVAL))

    def position(self) -> np.ndarray:
        """
        Return where the arm is (n,) [rad] or [m].

        As :meth:`PlausibilityMonitor.position <.plausibility.PlausibilityMonitor.position>`.
        """
        return self._plausibility.position()

    def speed(self, now: float) -> np.ndarray | None:
        """Return how fast the joints move (n,) [rad/s] or [m/s]; None when that is not known."""
        return self._plausibility.speed(now) if self.current else None

    def _continued(self, q: np.ndarray, now: float) -> np.ndarray:
        """
        Return received positions (n,) without the leaps of drivers that wrap continuous joints.

        Such a leap is one that the joint cannot have moved by, but by the rest of it (of full
        turns) it can. All else is where the arm is, on the turn that its states tell: the commands
        have to start there, also after wrong states.
        """
        last, passed = self._received, now - self._received_at
        self._received_at = now
        if last is None or not self._turns:
            return q
        reach = self._plausibility.reach(passed)
        if self._plausibility.doubt:
            self._wraps, reach = np.zeros(len(q)), self.noise
        step = q + self._wraps - last
        turns = self._turn * np.round(step / self._divisor)
        rest = np.abs(step - turns)
        wrapped = (rest <= self.noise) | ((rest <= reach) & (np.abs(step) > reach))
        self._wraps = self._wraps - np.where(wrapped, turns, 0.0)
        return q + self._wraps

    def unwrapped(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """
        Return positions whose continuous joints, which some drivers wrap, are near a reference.

        :param q: (n,) positions [rad] or [m].
        :param reference: (n,) positions whose turn is taken [rad] or [m].
        """
        if not self._turns:
            return q
        return q + self._turn * np.round((reference - q) / self._divisor)
