"""A simulated arm that goes where its commands say; knows no ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Protocol

import numpy as np

from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.model.robot import Robot


class Engine(Protocol):
    """
    What moves the joints of a simulated arm.

    :ivar position: (m,) where the independent joints are [rad] or [m].
    :ivar velocity: (m,) how fast they move [rad/s] or [m/s].
    """

    position: np.ndarray
    velocity: np.ndarray

    def step(self, target: np.ndarray, dt: float) -> None:
        """
        Advance the time.

        :param target: (m,) where the joints are commanded to, within the limits [rad] or [m].
        :param dt: by how much [s], above 0.
        """
        ...


class FirstOrderEngine:
    """
    Kinematics without mass: every joint approaches its target exponentially.

    ẋ = (target − x) / T, cut off at the joint's velocity limit; the exponential is integrated
    exactly, so that the motion does not depend on the length of the steps.

    :param position: (m,) where the joints start [rad] or [m].
    :param velocity_limit: (m,) largest speeds [rad/s] or [m/s]; inf where unlimited.
    :param time_constant: T [s]; 0 for joints that only the velocity limit holds back.
    :raises ArgumentError: when the time constant is negative or not finite.
    """

    def __init__(
        self, position: np.ndarray, velocity_limit: np.ndarray, time_constant: float
    ) -> None:
        if not 0.0 <= time_constant < math.inf:
            raise ArgumentError('time_constant', f'has to be at least 0, not {time_constant!r}')
        self.position = np.array(position, dtype=np.float64)
        self.velocity = np.zeros_like(self.position)
        self._velocity_limit = velocity_limit
        self._time_constant = time_constant

    def step(self, target: np.ndarray, dt: float) -> None:
        """Advance the time, see :class:`Engine`."""
        share = -math.expm1(-dt / self._time_constant) if self._time_constant > 0.0 else 1.0
        furthest = self._velocity_limit * dt
        way = np.clip((target - self.position) * share, -furthest, furthest)
        self.position = self.position + way
        self.velocity = way / dt


class SimulatedArm:
    """
    All movable joints of a robot, driven by an engine; mimic joints follow.

    :param robot: the robot.
    :param initial_positions: where joints start [rad] or [m], by name; the others start in the
        middle of their limits, or at the place nearest to zero where one is missing. Values
        outside the limits are brought inside.
    :param time_constant: of the :class:`FirstOrderEngine` [s].
    :ivar joint_names: all movable joints, in document order.
    :raises UnknownJointError: the robot has no such joint that moves on its own.
    :raises ArgumentError: a position is not finite, or the time constant is negative.
    """

    def __init__(
        self,
        robot: Robot,
        initial_positions: Mapping[str, float] | None = None,
        time_constant: float = 0.05,
    ) -> None:
        self.joint_names = robot.movable_joint_names
        self._robot = robot
        self._names = robot.independent_joint_names
        self._index = {name: i for i, name in enumerate(self._names)}
        limits = [robot.joints[name].limits for name in self._names]
        self._lower = np.array([limit.lower for limit in limits])
        self._upper = np.array([limit.upper for limit in limits])
        self._target = _middle(self._lower, self._upper)
        start = initial_positions or {}
        self.command([*start], [*start.values()])
        speeds = np.array([limit.velocity for limit in limits])
        self.engine: Engine = FirstOrderEngine(self._target, speeds, time_constant)
        sources = [robot.resolve_mimic(name) for name in self.joint_names]
        self._source = np.array([self._index[name] for name, _, _ in sources], dtype=np.intp)
        self._multiplier = np.array([multiplier for _, multiplier, _ in sources])
        self._offset = np.array([offset for _, _, offset in sources])

    @property
    def positions(self) -> np.ndarray:
        """Positions of all movable joints, (k,) in the order of ``joint_names`` [rad] or [m]."""
        return self._multiplier * self.engine.position[self._source] + self._offset

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of all movable joints, (k,) [rad/s] or [m/s]."""
        return self._multiplier * self.engine.velocity[self._source]

    def command(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """
        Send joints somewhere; those that are not named keep their targets.

        A position outside the limits is brought inside. Mimic joints may be named, but follow
        their own joint all the same.

        :param names: joints.
        :param positions: where to [rad] or [m], one for each name.
        :raises UnknownJointError: there is no such movable joint; nothing is changed then.
        :raises ArgumentError: the lengths differ, or a position is not finite; likewise.
        """
        if len(names) != len(positions):
            raise ArgumentError(
                'command', f'names {len(names)} joints, but has {len(positions)} positions'
            )
        target = self._target.copy()
        for name, position in zip(names, positions, strict=True):
            if name not in self.joint_names:
                raise UnknownJointError(name, self.joint_names)
            if not math.isfinite(position):
                raise ArgumentError('command', f'the position of {name!r} is {position}')
            if name in self._index:
                target[self._index[name]] = position
        self._target = np.clip(target, self._lower, self._upper)

    def step(self, dt: float) -> None:
        """
        Advance the time.

        :param dt: by how much [s]; nothing happens unless it is above 0.
        """
        if dt > 0.0:
            self.engine.step(self._target, dt)


def _middle(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the middle of the limits; where one is missing, what is nearest to zero."""
    finite = np.isfinite(lower) & np.isfinite(upper)
    middle = np.clip(np.zeros_like(lower), lower, upper)
    middle[finite] = lower[finite] + (upper[finite] - lower[finite]) / 2
    return middle
