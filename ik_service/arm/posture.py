"""Full postures: the positions of all movable joints of a robot, as one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np

from ik_service.common.quoting import echo
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.model.robot_model import RobotModel

_REMEMBERED = 64  # lists of joint names that are kept

FARTHEST = 1e6
"""How far from 0 a joint may be [rad or m]; beyond, its pose would lose its precision."""

MOST_NAMES = 10_000
"""Joints that a message may name; a robot has far fewer."""


class PostureSpace:
    """
    The movable joints of a robot, in one order. Safe to share between threads.

    :ivar names: the m movable joints in document order, mimic joints among them.
    :param robot: the robot.
    :param locked: joints that do not move, and where [rad] or [m].
    :raises UnknownJointError: there is no such joint to lock.
    """

    def __init__(self, robot: RobotModel, locked: Mapping[str, float]) -> None:
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
        self._lower, self._upper = self._bounds()

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
        :raises ArgumentError: a joint stands twice, the lengths differ or are beyond all reason,
            or a value is not finite or farther than :data:`FARTHEST`.
        """
        check_lengths(names, values, 'joint_state')
        indices = self.indices(names)
        numbers = np.array(values, dtype=np.float64)
        if not (np.abs(numbers) <= FARTHEST).all():
            check_near(names, numbers)
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

    def bring_inside(
        self, positions: np.ndarray, solved: np.ndarray, among: np.ndarray | None = None
    ) -> list[str]:
        """
        Bring joints that are outside their limits to the nearest bound, in place; mimics follow.

        Joints that are locked stay where they are.

        :param positions: (m,) full posture [rad] or [m].
        :param solved: indices of joints that stay, because they are solved for.
        :param among: indices of the only joints that are looked at; None for all.
        :returns: the joints that were outside, with where they were.
        """
        inside = np.minimum(np.maximum(positions, self._lower), self._upper)
        if inside.tobytes() == positions.tobytes():
            return []
        outside = inside != positions
        outside[solved] = False
        if among is not None:
            asked = np.zeros_like(outside)
            asked[among] = True
            outside &= asked
        moved = np.flatnonzero(outside)
        was = [f'{self.names[i]} at {positions[i]:.6g}' for i in moved.tolist()]
        positions[moved] = inside[moved]
        self.complete(positions)
        return was

    def near_zero(self) -> np.ndarray:
        """Return the posture (m,) with every joint at 0, or at its limit nearest to 0."""
        limits = [self._robot.joints[name].limits for name in self.names]
        return np.array([min(max(0.0, limit.lower), limit.upper) for limit in limits])

    def by_name(self, positions: np.ndarray) -> dict[str, float]:
        """Return a full posture (m,) as a mapping [rad] or [m]."""
        return dict(zip(self.names, positions.tolist(), strict=True))

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the bounds (m,) of the joints that stand for themselves [rad] or [m].

        They are narrowed so that the joints that follow stay inside too, where they leave a rest;
        joints that follow, and locked ones, have none of their own.
        """
        limits = [self._robot.joints[name].limits for name in self.names]
        lower = np.array([limit.lower for limit in limits])
        upper = np.array([limit.upper for limit in limits])
        for i, source, multiplier, offset in self._mimics:
            if multiplier:
                bounds = (np.array([limits[i].lower, limits[i].upper]) - offset) / multiplier
                low, high = max(lower[source], bounds.min()), min(upper[source], bounds.max())
                if low <= high:
                    lower[source], upper[source] = low, high
        for i in [i for i, *_ in self._mimics] + [i for i, _ in self._locked]:
            lower[i], upper[i] = -np.inf, np.inf
        return lower, upper

    def _look_up(self, names: tuple[str, ...]) -> np.ndarray:
        for name in names:
            if name not in self._index:
                raise UnknownJointError(name, self.names)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError('joint_state', f'names joint {echo(twice)} twice')
        return np.array([self._index[name] for name in names], dtype=np.intp)


def check_lengths(names: Sequence[str], values: Sequence[float], what: str) -> None:
    """
    Check how many joints a message names, before anything else is done with it.

    :param what: the name of the message, for the error.
    :raises ArgumentError: there are more than any robot has, or the lengths differ.
    """
    if len(names) > MOST_NAMES:
        raise ArgumentError(what, f'names {len(names)} joints, more than {MOST_NAMES}')
    if len(names) != len(values):
        raise ArgumentError(what, f'has {len(names)} names, but {len(values)} positions')


def check_near(names: Sequence[str], values: np.ndarray) -> None:
    """
    Check positions [rad] or [m].

    :raises ArgumentError: naming the first joint that is at NaN, infinity, or too far.
    """
    for name, value in zip(names, values.tolist(), strict=True):
        if not abs(value) <= FARTHEST:
            fault = f'beyond ±{FARTHEST:g}' if math.isfinite(value) else 'which is not finite'
            raise ArgumentError('joint_state', f'joint {echo(name)} is at {value:g}, {fault}')
