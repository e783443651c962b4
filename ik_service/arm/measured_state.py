"""Measured joint state of an arm."""

from __future__ import annotations

from collections.abc import Sequence
import math
import threading

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.joint_state import check_lengths, check_near, FARTHEST

_KEPT_NAME_LISTS = 64
_LONGEST_KEPT = 1000  # names; longer lists are resolved anew


class MeasuredState:
    """
    Latest measured position of every joint of an arm's robot. Safe to share between threads.

    Several publishers may each send a part of the joints, such as an arm and its gripper; joints
    that the robot does not have are left out, and those never measured are at rest.

    :param previous: measurements of the arm before; those of joints by the same name are kept.
    """

    def __init__(self, arm: Arm, previous: MeasuredState | None = None) -> None:
        self.arm = arm
        self._postures = arm.postures
        self._chain_joints = frozenset(arm.chain.joint_names)
        self._lock = threading.Lock()
        self._positions = arm.rest.copy()
        self._arrivals = np.full(len(self._positions), -math.inf)
        self._velocities = np.full(len(self._positions), math.nan)
        self._known: dict[tuple[str, ...], list[int]] = {}
        if previous is not None:
            self._keep(previous)

    def update(
        self,
        names: Sequence[str],
        values: Sequence[float],
        now: float,
        velocities: Sequence[float] = (),
    ) -> None:
        """
        Take the positions of a ``joint_states`` message.

        :param names: the joints.
        :param values: their positions [rad] or [m]; none is fine: other quantities are not used.
        :param now: arrival of the message on the monotonic clock [s].
        :param velocities: their velocities [rad/s] or [m/s]; as good as none where their number
            is not that of the names.
        :raises ArgumentError: the lengths differ or a joint is named twice, and nothing of the
            message is taken; or joints of the chain are not finite or farther than
            :data:`~ik_service.arm.joint_state.FARTHEST`, and the others are taken. Such a
            position of a joint outside the chain is left out, as drivers send NaN for those they
            do not measure.
        """
        if not len(values):
            return
        check_lengths(names, values, 'joint_states')
        names = tuple(names)
        moving = len(velocities) == len(names)
        chosen = self._chosen(names)
        if len(chosen) != len(names):
            names = tuple(names[i] for i in chosen)
            values = [values[i] for i in chosen]
            velocities = [velocities[i] for i in chosen] if moving else ()
        numbers = np.array(values, dtype=np.float64)
        near = np.abs(numbers) <= FARTHEST
        if near.all():
            indices = self._postures.indices(names)
            with self._lock:
                self._positions[indices] = numbers
                self._velocities[indices] = velocities if moving else math.nan
                self._arrivals[indices] = now
            return
        with self._lock:
            far = self._take_usable(names, values, near, now)
        check_near([name for name, _ in far], np.array([value for _, value in far]))

    def _take_usable(
        self, names: Sequence[str], values: Sequence[float], near: np.ndarray, now: float
    ) -> list[tuple[str, float]]:
        """Take the positions that can be used; return those of the chain that cannot."""
        self._postures.indices(names)  # refuses a joint that is named twice
        usable = np.flatnonzero(near).tolist()
        taken, positions = [names[i] for i in usable], [values[i] for i in usable]
        indices = self._postures.overlay(self._positions, taken, positions)
        self._velocities[indices] = math.nan
        self._arrivals[indices] = now
        far = [(names[i], values[i]) for i in np.flatnonzero(~near).tolist()]
        return [(name, value) for name, value in far if name in self._chain_joints]

    def posture(self) -> np.ndarray:
        """Return a copy of the full posture (m,) [rad] or [m]; unmeasured joints are at rest."""
        with self._lock:
            return self._positions.copy()

    def joints(self, indices: np.ndarray | None = None) -> tuple[np.ndarray, float] | None:
        """
        Return positions of joints and when they were measured.

        :param indices: (n,) indices in the full posture; None for the joints of the chain.
        :returns: (n,) positions [rad] or [m], and when the oldest of them arrived on the
            monotonic clock [s]; None when some were never measured.
        """
        indices = self.arm.indices if indices is None else indices
        with self._lock:
            oldest = float(self._arrivals[indices].min())
            positions = self._positions[indices]
        return (positions, oldest) if oldest > -math.inf else None

    def velocities(self, indices: np.ndarray) -> np.ndarray:
        """Return measured velocities (n,) [rad/s] or [m/s]; NaN where the last state gave none."""
        with self._lock:
            return self._velocities[indices]

    def unmeasured(self, indices: np.ndarray) -> np.ndarray:
        """Return those of some joints, by their indices, that were never measured."""
        return indices[self._arrivals[indices] == -math.inf]

    def left_out(self, indices: np.ndarray, age: float) -> np.ndarray:
        """
        Return those of some joints that were measured once, but not any more.

        :param indices: indices of the joints in the full posture.
        :param age: by how much longer ago than that of any joint [s].
        """
        arrivals = self._arrivals[indices]
        return indices[(arrivals > -math.inf) & (arrivals < self._arrivals.max() - age)]

    def _chosen(self, names: tuple[str, ...]) -> list[int]:
        """Return which of a message's joints belong to the robot."""
        chosen = self._known.get(names)
        if chosen is None:
            own = set(self._postures.names)
            chosen = [i for i, name in enumerate(names) if name in own]
            if len(self._known) >= _KEPT_NAME_LISTS:
                self._known.clear()
            if len(names) <= _LONGEST_KEPT:
                self._known[names] = chosen
        return chosen

    def _keep(self, previous: MeasuredState) -> None:
        with previous._lock:
            for i, name in enumerate(previous._postures.names):
                if previous._arrivals[i] > -math.inf and name in self._postures.names:
                    j = self._postures.names.index(name)
                    self._positions[j] = previous._positions[i]
                    self._arrivals[j] = previous._arrivals[i]
