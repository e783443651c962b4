"""Torques that motions of an arm need, by Pinocchio: :class:`RigidBodyTorques`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import check_kind, real_array
from ik_service.common.quoting import named
from ik_service.common.resources import extra_module
from ik_service.exceptions import ArgumentError, UrdfError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.link_poses import joint_position
from ik_service.model.geometry.inertias import link_inertia
from ik_service.model.joint import JointType

_KINDS = 'JointModelRevoluteUnaligned', 'JointModelPrismaticUnaligned'  # that turn, and slide
GRAVITY = (0.0, 0.0, -9.81)  # gravity on a robot that stands upright [m/s²]


class RigidBodyTorques:
    """
    Torques of the joints of a chain by the recursive Newton-Euler algorithm, without friction.

    Inertias are those of the URDF, those of links beyond the tip too; a link without one has no
    mass. Joints that mimic others follow them, and what they need is part of the torques of those.
    Joints that the chain does not move rest where it has locked them, or else at 0, or at the
    limit next to 0.

    :param limit: (n,) largest torques [N m] or forces [N]; inf for none; None for the efforts of
        the URDF, where 0 stands for none.
    :param gravity: (3,) in the frame of the robot's root [m/s²].
    :ivar limit: (n,) the largest torques.
    :raises MissingExtraError: Pinocchio is not installed.
    :raises ArgumentError: the robot has no masses, or an argument has another shape or sign.
    :raises UrdfError: an inertia, or the place of one that is moved, is faulty; names the element.
    """

    def __init__(
        self, chain: KinematicChain, limit: ArrayLike | None = None, gravity: ArrayLike = GRAVITY
    ) -> None:
        check_kind(chain, KinematicChain, 'chain')
        self._pin = extra_module('pinocchio', 'dynamics')
        self._model: Any = self._pin.Model()
        self._scales = _add_bodies(self._pin, self._model, chain)
        self._data: Any = self._model.createData()
        if not sum(inertia.mass for inertia in self._model.inertias[1:]) > 0.0:
            raise ArgumentError('chain', 'is of a robot whose URDF has no masses')
        self._model.gravity.linear = _numbers('gravity', gravity, 3)
        if limit is None:
            efforts = np.array([joint.limits.effort for joint in chain.joints])
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
        motions = (values @ self._scales.T for values in (q, velocities, accelerations))
        torques = [
            self._pin.rnea(self._model, self._data, posture, velocity, acceleration)
            for posture, velocity, acceleration in zip(*motions, strict=True)
        ]
        return np.array(torques) @ self._scales


def _add_bodies(pin: ModuleType, model: Any, chain: KinematicChain) -> np.ndarray:  # noqa: ANN401 - Pinocchio's
    """
    Add the bodies of a robot to an empty model, and a joint for each that the chain moves.

    :returns: (m, n) motion of the joints of the model per motion of the variables of the chain.
    """
    robot, names = chain.robot, np.array(chain.joint_names)
    links = {link.get('name'): link for link in robot.description.root.iterfind('link')}
    scales = []
    pending = [(robot.root_link, 0, np.eye(4))]  # a link, the joint that carries it, and its pose
    while pending:
        link, carrier, T_link = pending.pop()
        if link in links:
            mass, T_centre, tensor = link_inertia(links[link])
            inertia = pin.Inertia(mass, np.zeros(3), tensor)
            model.appendBodyToJoint(carrier, inertia, pin.SE3(T_link @ T_centre))
        for joint in robot.child_joints_of(link):
            if carrier and not joint.placed:
                raise UrdfError(joint.fault, named('joint', joint.name))
            number, T = carrier, T_link @ joint.T_parent_joint
            if joint.movable:
                source, scale, offset = robot.resolve_mimic(joint.name)
                moves = source in chain.joint_names
                rest = offset if moves else joint_position(robot, joint.name, chain.locked)
                T = T @ joint_motion(joint, rest)
                if moves:
                    kind = _KINDS[joint.type is JointType.PRISMATIC]
                    moving = getattr(pin, kind)(joint.axis)
                    number, T = model.addJoint(carrier, moving, pin.SE3(T), joint.name), np.eye(4)
                    scales.append(scale * (names == source))
            pending.append((joint.child, number, T))
    return np.array(scales)


def _numbers(name: str, values: ArrayLike, count: int) -> np.ndarray:
    numbers = real_array(values, name)
    if numbers.shape != (count,) or np.isnan(numbers).any():
        raise ArgumentError(name, f'has to be ({count},) numbers')
    return numbers
