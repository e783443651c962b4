"""Postures of a whole robot, from joint positions by name or from vectors."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.common.quoting import safe_repr
from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError, UnknownJointError

Positions = Mapping[str, float] | ArrayLike
"""Joint positions by name, or a vector of them [rad] or [m]."""

_MOST_KEPT = 256  # orders of joints


class Postures:
    """
    Conversion of joint positions to those of all independent joints.

    :param model: the robot.
    """

    def __init__(self, model: CheckedRobot) -> None:
        self._column = {name: index for index, name in enumerate(model.joint_names)}
        self._columns: dict[tuple[str, ...], np.ndarray | slice] = {}
        self._movable = dict.fromkeys(model.movable_joints)
        self._orders = {
            len(names): (names, *self._places_of(names))
            for names in (model.movable_joints, model.joint_names, model.chain_joints)
            if names or not model.joint_names
        }

    def vector(self, q: Positions, base: np.ndarray) -> np.ndarray:
        """
        Return the positions of all independent joints.

        :param q: positions [rad] or [m] by name, or a vector: of the default chain, of all
            independent joints, or of all movable joints in document order. Those of joints that
            mimic others are passed over.
        :param base: (m,) where joints are that are not given.
        :returns: (m,), read-only.
        :raises UnknownJointError: there is no such movable joint.
        :raises ArgumentError: the vector has another length, or a position is not finite.
        """
        if isinstance(q, Mapping):
            posture = base.tolist()
            for name, value in q.items():
                column = self._column.get(name)
                if column is not None:
                    posture[column] = _number(name, value)
                elif name not in self._movable:
                    raise UnknownJointError(name, self._movable)
            values = np.array(posture)
        else:
            given = real_array(q, 'q')
            if given.ndim != 1 or len(given) not in self._orders:
                lengths = ' or '.join(f'({length},)' for length in sorted(self._orders))
                raise ArgumentError('q', f'has shape {given.shape}, has to be {lengths}')
            names, columns, places = self._orders[len(given)]
            if not np.isfinite(given).all():
                worst = int(np.argmin(np.isfinite(given)))
                raise ArgumentError('q', f'{names[worst]} is {given[worst]}')
            values = base.copy()
            values[columns] = given[places]
        values.setflags(write=False)
        return values

    def columns(self, names: tuple[str, ...]) -> np.ndarray | slice:
        """
        Return where joints stand among all independent ones.

        :param names: their names.
        :returns: (n,) indices; a slice where they follow each other, which is quicker.
        :raises UnknownJointError: there is no such independent joint.
        :raises ArgumentError: a joint comes twice.
        """
        columns = self._columns.get(names)
        if columns is None:
            columns = self._columns_of(names)
            if len(self._columns) < _MOST_KEPT:
                self._columns[names] = columns
        return columns

    def _columns_of(self, names: tuple[str, ...]) -> np.ndarray | slice:
        for name in names:
            if name not in self._column:
                raise UnknownJointError(name, self._column)
        if len({*names}) < len(names):
            raise ArgumentError('joint_names', 'a joint comes twice')
        columns = [self._column[name] for name in names]
        first = columns[0] if columns else 0
        if columns == [*range(first, first + len(columns))]:
            return slice(first, first + len(columns))
        return np.array(columns, np.int64)

    def _places_of(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return where joints stand among the independent ones, and which of them do."""
        found = [(self._column[name], i) for i, name in enumerate(names) if name in self._column]
        columns, places = np.array(found, np.int64).reshape(-1, 2).T
        return columns, places


def _number(name: str, value: object) -> float:
    """Return a position, if it is one."""
    if type(value) is not float:  # the others take longer
        array = real_array(np.array(value, dtype=object), 'q')
        if array.shape != ():
            raise ArgumentError('q', f'{name} has to be one number, not {safe_repr(value)}')
        value = float(array)
    if not math.isfinite(value):
        raise ArgumentError('q', f'{name} is {value}')
    return value
