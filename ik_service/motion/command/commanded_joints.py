"""Joints of a controller, of which one or more groups move some and the others are held."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ik_service.motion.command.gate import PositionGate


class CommandedJoints:
    """
    Commands of a controller's m joints.

    :ivar names: the same.
    :ivar q: (m,) positions [rad] or [m]; of a joint that no group moves, where it was measured
        when the commands began.
    :ivar velocity: (m,) velocities [rad/s] or [m/s]; 0 for a joint that no group moves.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.q = np.zeros(len(self.names))
        self.velocity = np.zeros(len(self.names))
        self._users: set[int] = set()

    @cached_property
    def positions(self) -> PositionGate:
        """Gate of positions that are sent one by one."""
        return PositionGate(len(self.names))

    def indices(self, names: Sequence[str]) -> np.ndarray:
        """Return the indices of a group's joints (n,)."""
        return np.array([self.names.index(name) for name in names], dtype=np.intp)

    def begin(self, user: int, measured: np.ndarray) -> bool:
        """
        Begin commands of a group.

        :param measured: (m,) where the joints are [rad] or [m], which holds for those that no
            group moves, unless others are moving already.
        :returns: whether no others are.
        """
        alone = not self._users
        if alone:
            self.q, self.velocity = measured.copy(), np.zeros_like(measured)
        self._users.add(user)
        return alone

    def put(self, indices: np.ndarray, q: np.ndarray, velocity: np.ndarray) -> None:
        """
        Put in a group's command.

        :param indices: (n,) indices of its joints.
        :param q: (n,) positions [rad] or [m].
        :param velocity: (n,) velocities [rad/s] or [m/s].
        """
        self.q, self.velocity = self.q.copy(), self.velocity.copy()
        self.q[indices], self.velocity[indices] = q, velocity

    def end(self, user: int, indices: np.ndarray) -> None:
        """
        End the commands of a group; its joints are held as long as others move.

        :param indices: (n,) indices of its joints.
        """
        self._users.discard(user)
        self.put(indices, self.q[indices], np.zeros(len(indices)))
