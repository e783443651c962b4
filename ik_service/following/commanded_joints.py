"""Joints of a controller, of which one or more groups move some and the others are held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.following.command_window import CommandWindow
from ik_service.following.motion_limits import MotionLimits


class CommandedJoints:
    """
    What a controller's m joints are commanded to do.

    :param names: the joints in the controller's order.
    :ivar names: the same.
    :ivar q: (m,) positions [rad] or [m]; of a joint that no group moves, where it was measured
        when the commands began.
    :ivar velocity: (m,) velocities [rad/s] or [m/s]; 0 for a joint that no group moves.
    :ivar window: window around these commands.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.q = np.zeros(len(self.names))
        self.velocity = np.zeros(len(self.names))
        self.window = CommandWindow(self.names)
        self._users: set[int] = set()

    def indices(self, names: Sequence[str]) -> np.ndarray:
        """
        Return the places of a group's joints (n,).

        :param names: its joints, all of them among those of the controller.
        """
        return np.array([self.names.index(name) for name in names], dtype=np.intp)

    def begin(self, user: int, measured: np.ndarray) -> None:
        """
        Begin commands of a group.

        :param user: number of the group.
        :param measured: (m,) where the joints are [rad] or [m], which holds for those that no
            group moves, unless others are on their way already.
        """
        if not self._users:
            self.q, self.velocity = measured.copy(), np.zeros_like(measured)
            self.window.end()
        self._users.add(user)

    def put(self, indices: np.ndarray, q: np.ndarray, velocity: np.ndarray) -> None:
        """
        Put in a group's command.

        :param indices: (n,) places of its joints.
        :param q: (n,) positions [rad] or [m].
        :param velocity: (n,) velocities [rad/s] or [m/s].
        """
        self.q, self.velocity = self.q.copy(), self.velocity.copy()
        self.q[indices], self.velocity[indices] = q, velocity

    def end(self, user: int, indices: np.ndarray) -> None:
        """
        End the commands of a group; its joints are held as long as others move.

        :param user: number of the group.
        :param indices: (n,) places of its joints.
        """
        self._users.discard(user)
        self.put(indices, self.q[indices], np.zeros(len(indices)))


def limits_among(limits: MotionLimits, indices: np.ndarray, count: int) -> MotionLimits:
    """
    Return limits of a group's joints in the places that they have among those of a controller.

    :param limits: bounds on the motion of n joints.
    :param indices: (n,) their places.
    :param count: number of the controller's joints; those that are not of the group have no
        limits of their positions. Limits of the jerk are left out.
    """
    if len(indices) == count and (indices == np.arange(count)).all():
        return limits

    def spread(values: np.ndarray, others: float) -> np.ndarray:
        placed = np.full(count, others)
        placed[indices] = values
        return placed

    return MotionLimits(
        spread(limits.lower, -np.inf),
        spread(limits.upper, np.inf),
        spread(limits.velocity, 1.0),
        limits.scaling,
        spread(limits.acceleration, limits.acceleration.max()),
    )
