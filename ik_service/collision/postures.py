"""Postures of a whole robot, from joint positions by name or from vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError, UnknownJointError

Positions = Mapping[str, float] | ArrayLike
"""Joint positions by name, or a vector of them [rad] or [m]."""


class Postures:
    """
    Conversion of joint positions to those of all independent joints.

    :param model: the robot.
    """

    def __init__(self, model: CheckedRobot) -> None:
        self._column = {name: index for index, name in enumerate(model.joint_names)}
        self._movable = model.movable_joints
        self._orders = {
            len(names): names
            for names in (self._movable, model.joint_names, model.chain_joints)
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
            names, values = tuple(q), real_array(np.array([*q.values()], dtype=object), 'q')
            for name in names:
                if name not in self._column and name not in self._movable:
                    raise UnknownJointError(name, self._movable)
        else:
            values = real_array(q, 'q')
            if values.ndim != 1 or len(values) not in self._orders:
                lengths = ' or '.join(f'({length},)' for length in sorted(self._orders))
                raise ArgumentError('q', f'has shape {values.shape}, has to be {lengths}')
            names = self._orders[len(values)]
        posture = base.copy()
        for name, value in zip(names, values.tolist(), strict=True):
            if not np.isfinite(value):
                raise ArgumentError('q', f'{name} is {value}')
            if name in self._column:
                posture[self._column[name]] = value
        posture.setflags(write=False)
        return posture

    def columns(self, names: tuple[str, ...]) -> np.ndarray:
        """
        Return where joints stand among all independent ones.

        :param names: their names.
        :raises UnknownJointError: there is no such independent joint.
        :raises ArgumentError: a joint comes twice.
        """
        for name in names:
            if name not in self._column:
                raise UnknownJointError(name, self._column)
        if len({*names}) < len(names):
            raise ArgumentError('joint_names', 'a joint comes twice')
        return np.array([self._column[name] for name in names], np.int64)
