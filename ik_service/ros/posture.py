"""Full postures: the positions of all movable joints of a robot, as one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.model.robot import Robot

_REMEMBERED = 64  # lists of joint names that are kept


class PostureSpace:
    """
    The movable joints of a robot, in one order. Safe to share between threads.

    :ivar names: the m movable joints in document order, mimic joints among them.
    :param robot: the robot.
    :param locked: joints that do not move, and where [rad] or [m].
    :raises UnknownJointError: there is no such joint to lock.
    """

    def __init__(self, robot: Robot, locked: Mapping[str, float]) -> None:
        self._robot = robot
        self.names = robot.movable_joint_names
        self._index = {name: i for i, name in enumerate(self.names)}
        self._remembered: dict[tuple[str, ...], np.ndarray] = {}
        self._locked = [(int(self.indices((name,))[0]), locked[name]) for name in locked]
        self._mimics = [
            (i, self._index[source], multiplier, offset)
            for i, name in enumerate(self.names)
            for source, multiplier, offset in [robot.resolve_mimic(name)]
            if source != name
        ]

    def indices(self, names: Sequence[str]) -> np.ndarray:
        """
        Return where joints stand among ``names``.

        :raises UnknownJointError: the robot has no such movable joint.
        :raises ArgumentError: a joint stands twice.
        """
        key = tuple(names)  # clients send the same names again and again
        indices = self._remembered.get(key)
        if indices is None:
            indices = self._look_up(key)
            if len(self._remembered) >= _REMEMBERED:
                self._remembered = {}
            self._remembered[key] = indices
        return indices

    def overlay(
        self, positions: np.ndarray, names: Sequence[str], values: Sequence[float]
    ) -> np.ndarray:
        """
        Write some joints' values into a full posture.

        :param positions: (m,) full posture [rad] or [m], changed in place.
        :param names: the joints.
        :param values: their positions.
        :returns: the indices that were written.
        :raises UnknownJointError: the robot has no such movable joint.
        :raises ArgumentError: a joint stands twice, the lengths differ, or a value is not finite.
        """
        if len(names) != len(values):
            raise ArgumentError(
                'joint_state', f'has {len(names)} names, but {len(values)} positions'
            )
        indices = self.indices(names)
        numbers = np.array(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            worst = int(np.argmin(np.isfinite(numbers)))
            raise ArgumentError('joint_state', f'joint {names[worst]!r} is at {numbers[worst]}')
        positions[indices] = numbers
        return indices

    def complete(self, positions: np.ndarray) -> np.ndarray:
        """
        Make a full posture consistent, in place: locked joints stay, mimic joints follow.

        :param positions: (m,) [rad] or [m].
        :returns: the same array.
        """
        for i, value in self._locked:
            positions[i] = value
        for i, source, multiplier, offset in self._mimics:
            positions[i] = multiplier * positions[source] + offset
        return positions

    def near_zero(self) -> np.ndarray:
        """Return the posture (m,) with every joint at 0, or at its limit nearest to 0."""
        limits = [self._robot.joints[name].limits for name in self.names]
        return np.array([min(max(0.0, limit.lower), limit.upper) for limit in limits])

    def by_name(self, positions: np.ndarray) -> dict[str, float]:
        """Return a full posture (m,) as a mapping [rad] or [m]."""
        return dict(zip(self.names, positions.tolist(), strict=True))

    def _look_up(self, names: tuple[str, ...]) -> np.ndarray:
        for name in names:
            if name not in self._index:
                raise UnknownJointError(name, self.names)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError('joint_state', f'names joint {twice!r} twice')
        return np.array([self._index[name] for name in names], dtype=np.intp)
