"""The joint state as it was measured, put together from all messages on ``joint_states``."""

from __future__ import annotations

from collections.abc import Sequence
import math
import threading

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.posture import check_lengths, check_near, FARTHEST

_REMEMBERED_LENGTH = 1000  # lists of names that are longer are looked up anew


class MeasuredState:
    """
    The latest measured position of every joint of an arm. Safe to share between threads.

    Several publishers may each send a part of the joints, such as an arm and its gripper; joints
    that the robot does not have are left out.

    :ivar arm: the arm.
    :param previous: measurements of the arm before; those of joints by the same name are kept.
    """

    def __init__(self, arm: Arm, previous: MeasuredState | None = None) -> None:
        self.arm = arm
        self._lock = threading.Lock()
        self._positions = arm.rest.copy()
        self._arrivals = np.full(len(self._positions), -math.inf)
        self._known: dict[tuple[str, ...], list[int]] = {}
        if previous is not None:
            self._keep(previous)

    def update(self, names: Sequence[str], values: Sequence[float], now: float) -> None:
        """
        Take in a message.

        :param names: the joints.
        :param values: their positions [rad] or [m]; none is fine: other quantities are not used.
        :param now: arrival of the message on the monotonic clock [s].
        :raises ArgumentError: the lengths differ or a joint stands twice, and nothing of the
            message is taken; or joints of the chain are not finite or beyond all reason, and the
            others are taken. Such a position of a joint outside the chain is left out, as drivers
            send NaN for what they do not measure.
        """
        if not len(values):
            return
        check_lengths(names, values, 'joint_states')
        chosen = self._chosen(tuple(names))
        if len(chosen) != len(names):
            names = [names[i] for i in chosen]
            values = [values[i] for i in chosen]
        near = np.abs(np.array(values, dtype=np.float64)) <= FARTHEST
        whole = bool(near.all())
        with self._lock:
            if whole:
                indices = self.arm.postures.overlay(self._positions, names, values)
                self._arrivals[indices] = now
                return
            far = self._take_usable(names, values, near, now)
        check_near([name for name, _ in far], np.array([value for _, value in far]))

    def _take_usable(
        self, names: Sequence[str], values: Sequence[float], near: np.ndarray, now: float
    ) -> list[tuple[str, float]]:
        """Take the positions that can be used; return those of the chain that cannot."""
        self.arm.postures.indices(names)  # refuses a joint that stands twice
        chain = self.arm.chain.joint_names
        usable = np.flatnonzero(near).tolist()
        taken, positions = [names[i] for i in usable], [values[i] for i in usable]
        indices = self.arm.postures.overlay(self._positions, taken, positions)
        self._arrivals[indices] = now
        return [(names[i], values[i]) for i in np.flatnonzero(~near).tolist() if names[i] in chain]

    def posture(self) -> np.ndarray:
        """
        Return the full posture (m,) [rad] or [m], a copy.

        Joints that were never measured are at :attr:`Arm.rest`.
        """
        with self._lock:
            return self._positions.copy()

    def joints(self) -> tuple[np.ndarray, float] | None:
        """
        Return the chain's joints and how old that is.

        :returns: (n,) positions [rad] or [m], and when the oldest of them arrived on the
            monotonic clock [s]; None when some were never measured.
        """
        with self._lock:
            oldest = float(self._arrivals[self.arm.indices].min())
            positions = self._positions[self.arm.indices]
        return (positions, oldest) if oldest > -math.inf else None

    def unmeasured(self, indices: np.ndarray) -> np.ndarray:
        """Return those of some joints, by their index in the full posture, never measured."""
        return indices[self._arrivals[indices] == -math.inf]

    def _chosen(self, names: tuple[str, ...]) -> list[int]:
        """Return which of a message's joints belong to the robot."""
        chosen = self._known.get(names)
        if chosen is None:
            own = set(self.arm.postures.names)
            chosen = [i for i, name in enumerate(names) if name in own]
            if len(self._known) >= 64:
                self._known.clear()
            if len(names) <= _REMEMBERED_LENGTH:
                self._known[names] = chosen
        return chosen

    def _keep(self, previous: MeasuredState) -> None:
        with previous._lock:
            for i, name in enumerate(previous.arm.postures.names):
                if previous._arrivals[i] > -math.inf and name in self.arm.postures.names:
                    j = self.arm.postures.names.index(name)
                    self._positions[j] = previous._positions[i]
                    self._arrivals[j] = previous._arrivals[i]
