"""Detection of an arm at rest, from which alone a motion may start."""

from __future__ import annotations

from collections import deque

import numpy as np

_REST = 0.19
"""Time for which an arm has to be seen at rest [s]: two states after the first one at 10 Hz."""

_COUNTED = 0.1
"""Longest time between two states that counts in full: what happens in a gap is not seen [s]."""

_INTERVAL = 0.01
"""Least time between states that are kept [s]."""

_SET_BACK = 1.0
"""Time by which states may be older than those before, unless the clock was set [s]."""

_KEPT = 32
_SWAY = 3.0
"""Distance between two states of an arm at rest, in tolerances: noise and vibration."""

_ENOUGH = 10
"""States from which their noise can be told."""

_DRIFT_OF_NOISE, _SWAY_OF_NOISE = 4.0, 6.0
"""What noise may do beyond that, in standard deviations: of the means, and of a state."""

_WORDS = 'motions start only at rest'


class RestMonitor:
    """
    Monitor of whether an arm rests, from where its joints were measured.

    Velocities of joint states are not used, as not all drivers send them. What counts is the
    difference between the mean positions of the two halves of the time, in which noise is small.

    :param names: the n joints.
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
