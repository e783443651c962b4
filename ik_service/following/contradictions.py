"""Detection of two sources of joint states that disagree by less than a leap."""

from __future__ import annotations

from collections import deque

import numpy as np

_ALIKE = 0.1
"""
Difference between a step and the way back, as a share of the step, up to which both are between
the same places; at least half of what counts as noise.
"""

_RETURNS_WITHIN = 0.25
"""Time within which a joint has to come back from an impossible step [s]."""

_RETURNS, _STEPS, _PERIOD = 8, 12, 1.0
"""
Returns from impossible steps, among as many of these, within a time [s], that no single source
explains: noise leads back to the same place by chance only, and never in all joints at once.
"""


class ContradictionMonitor:
    """
    Monitor of joints that seem to go back and forth faster than they can move.

    One such step means little: a message was late, or states came bunched. But an arm that is
    measured late still moves one way, and turns round seldom. States of two sources that disagree
    lead there and back again with each message, and every time one of the two steps is too fast.

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
        """
        Return whether a joint that has moved too fast may still come back.

        :param now: on a monotonic clock [s].
        """
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
