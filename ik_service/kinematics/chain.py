"""Kinematic chain between two links: forward kinematics, Jacobian and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array, single_number
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.kinematics.joint_path import (
    ChainArrays,
    joint_constants,
    joint_path,
    JointPath,
    reach,
)
from ik_service.kinematics.joint_space import FAR, frozen, JointSpace, own_bounds
from ik_service.model.joint import JointType, Mimic, source_range
from ik_service.model.robot_model import RobotModel

_FLOAT = np.dtype(np.float64)


class KinematicChain(JointSpace):
    """
    The joints between a base link and a tip link, and the variables that move them.

    The path may run up to a common ancestor and down again. A joint that mimics another is moved
    by that one, which is a variable of the chain even when it lies off the path. Chains do not
    change; their arrays are read-only.

    :ivar robot: the robot it belongs to.
    :ivar base_link: link in whose frame poses and Jacobians are given.
    :ivar tip_link: link whose pose is computed.
    :ivar locked: positions of the joints that were locked [rad] or [m].
    :ivar arrays: the chain as the kernels see it.
    """

    _compiled = frozenset({'_forward', '_jacobian'})
    arrays: ChainArrays

    def __init__(
        self,
        robot: RobotModel,
        base_link: str,
        tip_link: str,
        locked: Mapping[str, float] | None = None,
    ) -> None:
        """
        Build the chain.

        :param robot: the robot.
        :param base_link: link in whose frame poses and Jacobians are given.
        :param tip_link: link whose pose is computed.
        :param locked: positions of joints that shall not move [rad] or [m], by name.
        :raises UnknownLinkError: when a link does not exist.
        :raises UnknownJointError: when a locked joint does not exist.
        :raises ChainError: when nothing between the links moves, or limits contradict each other.
        :raises ArgumentError: when ``locked`` is no mapping, or has values that are no numbers.
        """
        self.base_link = base_link
        self.tip_link = tip_link
        self.locked = _mapping(locked)
        path = joint_path(robot, base_link, tip_link, self.locked)
        if not path.motions:
            raise ChainError(
                f'no joint moves between {base_link!r} and {tip_link!r}'
                + (' that is not locked' if self.locked else '')
            )
        names = tuple(dict.fromkeys(motion.variable for motion in path.motions))
        super().__init__(robot, names, *_bounds(path, names, robot))
        joints, tip = joint_constants(path, names)
        index = {name: i for i, name in enumerate(names)}
        first = path.motions[0].T_before
        distance = reach(joints, path, names, self.lower, self.upper)
        self.arrays = ChainArrays(
            base=frozen(np.concatenate([first[:3, :3].T.ravel(), first[:3, 3]])),
            joints=frozen(joints),
            variables=frozen(np.array([index[motion.variable] for motion in path.motions])),
            tip=frozen(tip),
            lower=self.lower,
            upper=self.upper,
            turn=frozen(_full_turns(names, robot)),
            reach=frozen(np.append(first[:3, 3], distance)),
        )

    def forward(self, q: ArrayLike) -> np.ndarray:
        """
        Return the pose of the tip.

        :param q: (n,) joint positions [rad] or [m], in the order of ``joint_names``.
        :returns: (4, 4) T_base_tip.
        :raises ArgumentError: when q has another shape or is not finite.
        """
        q = self._vector(q)
        pose = np.empty((4, 4))
        if not self._forward(self.arrays, q, *self._scratch(), pose):
            self._forward(self.arrays, self._turned_back(q), *self._scratch(), pose)
        return pose

    def jacobian(self, q: ArrayLike) -> np.ndarray:
        """
        Return the geometric Jacobian: twist of the tip per joint velocity.

        :param q: (n,) joint positions [rad] or [m].
        :returns: (6, n), linear rows [m] before angular rows [rad], in the base frame.
        :raises ArgumentError: when q has another shape or is not finite.
        """
        q = self._vector(q)
        matrix = np.empty((6, self.n))
        rows = np.empty((self.n, 6))
        if not self._jacobian(self.arrays, q, *self._scratch(), rows, matrix):
            self._jacobian(self.arrays, self._turned_back(q), *self._scratch(), rows, matrix)
        return matrix

    def _turned_back(self, q: np.ndarray) -> np.ndarray:
        """Return a joint vector without full turns, whose rounding errors would be in the pose."""
        q = self.check_q(q)
        for i in np.flatnonzero((np.abs(q) > FAR) & (self.arrays.turn > 0.0)):
            # Sine and cosine of one angle are exact however large it is; sums with it are not.
            q[i] = math.atan2(math.sin(q[i]), math.cos(q[i]))
        return q

    def _vector(self, q: ArrayLike) -> np.ndarray:
        """Return a copy of a joint vector of the right shape, which may hold NaN or infinity."""
        if q.__class__ is np.ndarray and q.dtype is _FLOAT and q.shape == (self.n,):
            return q.copy()
        values = real_array(q, 'q')
        return values if values.shape == (self.n,) else self.check_q(q)

    def _scratch(self) -> tuple[np.ndarray, np.ndarray]:
        return np.empty((len(self.arrays.variables), 6)), np.empty(12)

    @cached_property
    def _forward(self) -> Callable:
        # Imported here because it brings the compiler, which a chain needs only to compute.
        from ik_service.jit.entry import entry_point
        from ik_service.kinematics.kernels import forward

        pose = np.empty((4, 4))
        return entry_point(forward, self.arrays, np.empty(self.n), *self._scratch(), pose)

    @cached_property
    def _jacobian(self) -> Callable:
        from ik_service.jit.entry import entry_point  # as for poses
        from ik_service.kinematics.kernels import jacobian

        q, rows, matrix = np.empty(self.n), np.empty((self.n, 6)), np.empty((6, self.n))
        return entry_point(jacobian, self.arrays, q, *self._scratch(), rows, matrix)

    def __repr__(self) -> str:
        return (
            f'KinematicChain({self.base_link!r} → {self.tip_link!r}, '
            f'{self.n} joints: {", ".join(self.joint_names)})'
        )


def _mapping(locked: Mapping[str, float] | None) -> dict[str, float]:
    """Return a copy of the positions of locked joints, as floats of double precision."""
    if locked is not None and not isinstance(locked, Mapping):
        raise ArgumentError('locked', f'has to be a mapping, not {safe_repr(locked)}')
    return {
        name: single_number(value, f'locked position of {safe_repr(name)}')
        for name, value in (locked or {}).items()
    }


def _bounds(path: JointPath, names: tuple[str, ...], robot: RobotModel) -> np.ndarray:
    """Return (3, n) limits and largest speeds at which joints that mimic others keep theirs."""
    lower, upper, velocity = bounds = own_bounds(robot, names)
    for motion in path.motions:
        joint, i = motion.joint, names.index(motion.variable)
        if joint.mimic is None:
            continue
        low, high = source_range(joint.limits, Mimic(*robot.resolve_mimic(joint.name)))
        if low > high:
            raise ChainError(
                f'joint {joint.name!r} has no position left: it follows with multiplier 0, and '
                'its offset is outside its limits'
            )
        lower[i], upper[i] = max(lower[i], low), min(upper[i], high)
        if motion.scale != 0.0:
            velocity[i] = min(velocity[i], joint.limits.velocity / abs(motion.scale))
    return bounds


def _full_turns(names: tuple[str, ...], robot: RobotModel) -> np.ndarray:
    """Return 2π for variables whose full turns change no pose of the robot, else 0."""
    turn = dict.fromkeys(names, 2 * math.pi)
    for joint in robot.joints.values():
        if joint.movable:
            source, multiplier, _ = robot.resolve_mimic(joint.name)
            whole = joint.type is not JointType.PRISMATIC and float(multiplier).is_integer()
            if source in turn and not whole:
                turn[source] = 0.0
    return np.array([*turn.values()])
