"""Measured joint state of an arm."""

from __future__ import annotations

from collections.abc import Sequence
import math
import threading

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.postures import check_lengths, check_near, FARTHEST, MOST_NAMES
from ik_service.common.measurement_errors import MeasurementErrors

_KEPT_NAME_LISTS = 64  # likewise, of joints whose states were chosen
_LONGEST_KEPT = 1000  # names; longer lists are resolved anew


class MeasuredState:
    """
    Latest measured position of every joint of an arm's robot. Safe to share between threads.

    Several publishers may each send a part of the joints, such as an arm and its gripper; joints
    that the robot does not have are left out, and those never measured are at rest.

    :param previous: measurements of the arm before; those of joints by the same name are kept.
    :ivar errors: errors of the positions in the full posture.
    """

    def __init__(self, arm: Arm, previous: MeasuredState | None = None) -> None:
        self.arm = arm
        self._chain_joints = frozenset(arm.chain.joint_names)
        self._lock = threading.Lock()
        self._positions = arm.rest.copy()
        self._arrivals = np.full(len(self._positions), -math.inf)
        self._velocities = np.full(len(self._positions), math.nan)
        self._known: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}
        self.errors = MeasurementErrors(len(self._positions))
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
            :data:`~ik_service.arm.postures.FARTHEST`, and the others are taken. Such a
            position of a joint outside the chain is left out, as drivers send NaN for those they
            do not measure.
        """
        if not len(values):
            return
        if len(names) != len(values) or len(names) > MOST_NAMES:
            check_lengths(names, values, 'joint_states')
        chosen, indices = self._chosen(tuple(names))
        numbers = np.array(values, dtype=np.float64)[chosen]
        near = np.abs(numbers) <= FARTHEST
        far = None if near.all() else (indices[~near], numbers[~near])
        speeds: np.ndarray | float = math.nan
        if far is not None:
            indices, numbers = indices[near], numbers[near]
        elif len(velocities) == len(names):
            speeds = np.array(velocities, dtype=np.float64)[chosen]
        with self._lock:
            self._positions[indices], self._velocities[indices] = numbers, speeds
            self._arrivals[indices] = now
            self.errors.update(numbers, indices)
        if far is not None:
            self._refuse(*far)

    def _refuse(self, indices: np.ndarray, numbers: np.ndarray) -> None:
        """Raise the error of positions that cannot be, if a joint of the chain has one."""
        names = [self.arm.postures.names[i] for i in indices.tolist()]
        own = np.array([name in self._chain_joints for name in names])
        check_near([name for name in names if name in self._chain_joints], numbers[own])

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

    def _chosen(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return which of a message's joints are the robot's, and their indices there."""
        known = self._known.get(names)
        if known is None:
            postures = self.arm.postures
            own = set(postures.names)
            chosen = [i for i, name in enumerate(names) if name in own]
            indices = postures.indices(tuple(names[i] for i in chosen))
            known = np.array(chosen, dtype=np.intp), indices
            if len(self._known) >= _KEPT_NAME_LISTS:
                self._known.clear()
            if len(names) <= _LONGEST_KEPT:
                self._known[names] = known
        return known

    def _keep(self, previous: MeasuredState) -> None:
        own, old = self.arm.postures.names, previous.arm.postures.names
        kept = [(own.index(name), i) for i, name in enumerate(old) if name in own]
        with previous._lock:
            for i, j in kept:
                if previous._arrivals[j] > -math.inf:
                    self._positions[i] = previous._positions[j]
                    self._arrivals[i] = previous._arrivals[j]
