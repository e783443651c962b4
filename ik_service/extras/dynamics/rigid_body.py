"""Torques that motions of an arm need, by Pinocchio: :class:`RigidBodyTorques`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.kinematics.chain import KinematicChain

GRAVITY = (0.0, 0.0, -9.81)  # gravity on a robot that stands upright [m/s²]


class RigidBodyTorques:
    """
    Torques of the joints of a chain by the recursive Newton-Euler algorithm, without friction.

    Inertias are those of the URDF, those of links beyond the tip too. Joints that the chain does
    not move rest where it has locked them, or else in Pinocchio's neutral posture.

    :param chain: the chain.
    :param limit: (n,) largest torques [N m] or forces [N]; inf for none; None for the efforts of
        the URDF, where 0 stands for none.
    :param gravity: (3,) in the frame of the robot's root [m/s²].
    :ivar limit: (n,) the largest torques.
    :raises MissingExtraError: Pinocchio is not installed.
    :raises ArgumentError: the robot has no masses, or an argument has another shape or sign.
    """

    def __init__(
        self, chain: KinematicChain, limit: ArrayLike | None = None, gravity: ArrayLike = GRAVITY
    ) -> None:
        if not isinstance(chain, KinematicChain):
            raise ArgumentError('chain', f'has to be a KinematicChain, not {safe_repr(chain)}')
        self._pin = pin = _pinocchio()
        model = pin.buildModelFromXML(chain.robot.urdf_text)
        posture = pin.neutral(model)
        for name, value in chain.locked.items():
            _place(posture, model.joints[model.getJointId(name)], np.array(value))
        moved = set(chain.joint_names)
        others = [i for i, name in enumerate(model.names) if i and name not in moved]
        self._model: Any = pin.buildReducedModel(model, others, posture)
        self._data: Any = self._model.createData()
        self._joints = [
            self._model.joints[self._model.getJointId(name)] for name in chain.joint_names
        ]
        self._columns = np.array([joint.idx_v for joint in self._joints])
        if not sum(inertia.mass for inertia in self._model.inertias[1:]) > 0.0:
            raise ArgumentError('chain', 'is of a robot whose URDF has no masses')
        self._model.gravity.linear = _numbers('gravity', gravity, 3)
        if limit is None:
            efforts = self._model.effortLimit[self._columns]
            limit = np.where(efforts > 0.0, efforts, np.inf)
        self.limit = _numbers('limit', limit, chain.n)
        if not (self.limit > 0.0).all():
            raise ArgumentError('limit', 'has to be above 0')

    def of(self, q: np.ndarray, velocities: np.ndarray, accelerations: np.ndarray) -> np.ndarray:
        """
        Return the torques (k, n) of k motions [N m] or [N].

        :param q: (k, n) joint vectors [rad] or [m].
        :param velocities: (k, n) [rad/s] or [m/s].
        :param accelerations: (k, n) [rad/s²] or [m/s²].
        """
        model, data, columns = self._model, self._data, self._columns
        postures = np.zeros((len(q), model.nq))
        for joint, values in zip(self._joints, q.T, strict=True):
            _place(postures.T, joint, values)
        motions = np.zeros((2, len(q), model.nv))
        motions[0][:, columns], motions[1][:, columns] = velocities, accelerations
        return np.array(
            [
                self._pin.rnea(model, data, posture, velocity, acceleration)
                for posture, velocity, acceleration in zip(postures, *motions, strict=True)
            ]
        )[:, columns]


def _place(postures: np.ndarray, joint: Any, values: np.ndarray) -> None:  # noqa: ANN401 - Pinocchio's
    """Write the values of a joint into postures (nq, …): an angle, or its cosine and sine."""
    turns = joint.nq == 2
    postures[joint.idx_q] = np.cos(values) if turns else values
    if turns:
        postures[joint.idx_q + 1] = np.sin(values)


def _pinocchio() -> ModuleType:
    """Return Pinocchio."""
    try:
        import pinocchio
    except ImportError as error:
        raise MissingExtraError('pinocchio', 'dynamics') from error
    return pinocchio


def _numbers(name: str, values: ArrayLike, count: int) -> np.ndarray:
    numbers = real_array(values, name)
    if numbers.shape != (count,) or np.isnan(numbers).any():
        raise ArgumentError(name, f'has to be ({count},) numbers')
    return numbers
