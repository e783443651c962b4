"""Plausibility of measured joint states, and detection of rest after an implausible one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

_ALIKE = 0.1
"""
Difference between a step and the step back, as a share of the step, up to which both are between
the same positions; at least half of the noise threshold.
"""

_RETURNS_WITHIN = 0.25
"""Time within which a joint has to come back from an impossible step [s]."""

_RETURNS, _STEPS, _PERIOD = 8, 12, 1.0
"""
Returns from impossible steps, among as many of these, within a time [s], that no single source
explains: noise leads back to the same position by chance only, and never in all joints at once.
"""


class ContradictionMonitor:
    """
    Monitor of joints that seem to go back and forth faster than they can move.

    One such step means little: a message was late, or states came bunched. But an arm that is
    measured late still moves in one direction and reverses seldom. With two sources that disagree,
    positions go there and back with each message, and every time one of the two steps is too fast.

    :param tolerances: (n,) steps that count as noise [rad] or [m].
    :ivar returning: whether the last step led back from one that was too fast.
    :ivar joint: index of the joint that did so last.
    """

    def __init__(self, tolerances: np.ndarray) -> None:
        self._tolerances = tolerances
        self._fast = np.zeros_like(tolerances)
        self._fast_at = -np.inf
        self._steps: deque[tuple[float, bool]] = deque(maxlen=_STEPS)
        self.returning = False
        self.joint = 0

    def awaits_return(self, now: float) -> bool:
        """Return whether a joint that has moved too fast may still come back."""
        return now - self._fast_at <= _RETURNS_WITHIN

    def update(self, step: np.ndarray, size: np.ndarray, fast: np.ndarray, now: float) -> bool:
        """
        Take in how far the joints have moved from one state to the next.

        Steps that are not too fast are needed only while :meth:`awaits_return`.

        :param step: (n,) [rad] or [m].
        :param size: (n,) its absolute values.
        :param fast: (n,) which of them are too fast.
        :param now: when the second state was measured, on a monotonic clock [s].
        :returns: whether there must be two sources of states.
        """
        self.returning = False
        if not self.awaits_return(now):
            self._fast = np.zeros_like(step)
        large, before = size > self._tolerances, np.abs(self._fast)
        exact = np.maximum(_ALIKE * np.maximum(size, before), 0.5 * self._tolerances)
        back = large & (np.abs(size - before) <= exact) & (step * self._fast < 0.0)
        self._fast = np.where(fast, step, np.where(large, 0.0, self._fast))
        if fast.any():
            self._fast_at = now
        self.returning = bool(back.any() and (back == large).all())
        if self.returning or fast.any():
            self._steps.append((now, self.returning))
        if not self.returning:
            return False
        self.joint = int(np.argmax(back * size))
        recent = sum(returned and now - then <= _PERIOD for then, returned in self._steps)
        return recent >= _RETURNS


SETTLING_TIME = 0.5
"""Time for which states have to be plausible and still before they are believed again [s]."""

_MARGIN = 1.5
"""Factor on the velocity limits: an arm may be pushed by hand, or overshoot."""

_SLACK = 0.1
"""Error of the time of joint states: bunched, delayed, or of several publishers [s]."""

_NOISE = 0.1
"""Error of a measured position that is not worth a stop [rad] or [m]."""

_NOISE_SHARE = 0.1
"""Upper bound of the same, as the time that the joint takes for it at full speed [s]."""

_STILL = 0.05
"""Motion within the settling time that counts as none, as the time at full speed [s]."""

_RECENT = 0.06
"""Age of the states whose median is where the arm is [s]."""

_SHORTEST = 0.005
"""Time between states from which a speed can be estimated [s]."""

FINE, FINE_LINEAR = 0.025, 0.003
"""Steps of rotary [rad] and sliding joints [m] that may be noise of their encoders."""

_KEPT = 7
_FLIPS = 3
"""Implausible steps back and forth after which there must be two sources of states."""


class PlausibilityMonitor:
    """
    Monitor of the plausibility of successive joint states.

    A state that the joints cannot have reached since the last one is implausible. Nothing is
    believed then until the states have been plausible among each other, and still, for the
    settling time. Steps that are too small for that, but lead back and forth again and again, are
    implausible as well.

    :param speeds: (n,) their largest speeds [rad/s] or [m/s].
    :param tolerances: (n,) steps that may be noise and are not counted [rad] or [m]; None for
        those of rotary joints.
    :ivar doubt: why the states are not believed; empty while they are.
    """

    def __init__(
        self, names: Sequence[str], speeds: np.ndarray, tolerances: np.ndarray | None = None
    ) -> None:
        self._names = tuple(names)
        # A joint whose velocity limit is 0 is not moved by us, but may be moved.
        self._speeds = np.where(speeds > 0.0, speeds, 1.0)
        self._noise = np.minimum(_NOISE, _NOISE_SHARE * self._speeds)
        fine = np.full(len(self._speeds), FINE) if tolerances is None else tolerances
        self._fine = np.minimum(fine, self._noise + self._speeds * _SLACK)
        self._contradictions = ContradictionMonitor(self._fine)
        self._recent: deque[tuple[np.ndarray, float]] = deque(maxlen=_KEPT)
        self._anchor: np.ndarray | None = None
        self._still_since = 0.0
        self._flips = 0
        self.doubt = ''

    @property
    def contradictory(self) -> bool:
        """Whether states leap back and forth, as when two publishers contradict each other."""
        return bool(self.doubt) and self._flips >= _FLIPS

    def update(self, q: np.ndarray, now: float) -> bool:
        """
        Take in a measured state.

        :param q: (n,) positions [rad] or [m].
        :param now: when it was measured, on a monotonic clock [s].
        :returns: whether it is believed.
        """
        fault = self._fault(q, now)
        if fault:
            self.doubt = fault
            self._recent.clear()
            self._anchor, self._still_since = q, now
        self._recent.append((q, now))
        if self.doubt:
            self._settle(q, now)
        return not self.doubt

    def reach(self, passed: float) -> np.ndarray:
        """
        Return the largest steps that are plausible.

        :param passed: time that they take [s].
        :returns: (n,) [rad] or [m].
        """
        return self._speeds * (_MARGIN * max(passed, 0.0) + _SLACK) + self._noise

    def position(self) -> np.ndarray:
        """
        Return where the arm is: the median of the last states, unaffected by single wrong ones.

        :returns: (n,) [rad] or [m]; the last state when there are fewer than three new ones.
        """
        newest = self._recent[-1][1]
        states = [q for q, then in self._recent if newest - then <= _RECENT]
        return np.median(states, axis=0) if len(states) > 2 else self._recent[-1][0]

    def speed(self, now: float) -> np.ndarray | None:
        """
        Return how fast the joints move, from the last states.

        :returns: (n,) [rad/s] or [m/s]; None when they are too old, or came all at once.
        """
        if not self._recent:
            return None
        newest, until = self._recent[-1]
        if now - until > _SLACK:
            return None
        oldest, since = next(state for state in self._recent if until - state[1] <= _RECENT)
        return (newest - oldest) / (until - since) if until - since >= _SHORTEST else None

    def _fault(self, q: np.ndarray, now: float) -> str:
        """Return why a state cannot follow the last one; empty when it can."""
        if not self._recent:
            return ''
        last, then = self._recent[-1]
        passed, step = max(now - then, 0.0), q - last
        size = np.abs(step)
        fast = size > self._speeds * passed + self._fine
        if not fast.any() and not self._contradictions.awaits_return(now):
            return ''
        known = self._contradictions.update(step, size, fast, now) and now >= then
        excess = size - self.reach(passed)
        worst = int(np.argmax(excess))
        if excess[worst] > 0.0:
            self._flips = self._flips + 1 if self.doubt else 1
            return (
                f'{self._names[worst]} cannot have moved by {step[worst]:+.3g} '
                f'within {passed:.3f} s; its velocity limit is {self._speeds[worst]:.3g} a second'
            )
        if not known and not (self.doubt and self._contradictions.returning):
            return ''
        self._flips = max(self._flips, _FLIPS)
        joint = self._contradictions.joint
        return (
            f'{self._names[joint]} goes back and forth by {size[joint]:.2g} faster than it can '
            'move; two sources publish joint states'
        )

    def _settle(self, q: np.ndarray, now: float) -> None:
        """End the doubt once the arm has been still for the settling time."""
        moved = np.abs(q - self._anchor) > self._speeds * _STILL
        if moved.any():
            self._anchor, self._still_since = q, now
        elif now - self._still_since >= SETTLING_TIME:
            self.doubt, self._flips = '', 0
