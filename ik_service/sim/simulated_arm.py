"""Simulated arm: all movable joints of a robot, driven by an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np

from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.model.robot_model import RobotModel
from ik_service.sim.carried_speed import CarriedSpeed
from ik_service.sim.drive_limits import DriveLimits
from ik_service.sim.engine import Engine
from ik_service.sim.engine_registry import DEFAULT_ENGINE, make_engine


class SimulatedArm:
    """
    Simulated arm that obeys joint commands; mimic joints follow.

    :param robot: the robot.
    :param initial_positions: where joints start [rad] or [m], by name; the others start in the
        middle of their limits, or at the place nearest to zero where one is missing. Values
        outside the limits are brought inside.
    :param time_constant: time constant of the approach to a command [s].
    :param engine: one of :data:`~ik_service.sim.engine_registry.ENGINES`.
    :param gravity_compensation: share of the weight that the drives compensate, 0 to 1; only for
        an engine with forces.
    :ivar joint_names: all movable joints, in document order.
    :raises UnknownJointError: the robot has no such joint that moves on its own.
    :raises ArgumentError: a position is not finite, or the time constant is negative.
    :raises UnknownEngineError: there is no such engine.
    :raises MissingExtraError: the engine needs a library that is not installed.
    :raises SimulationError: the engine cannot simulate this robot; the message says why.
    """

    def __init__(
        self,
        robot: RobotModel,
        initial_positions: Mapping[str, float] | None = None,
        time_constant: float = 0.05,
        engine: str = DEFAULT_ENGINE,
        gravity_compensation: float = 1.0,
    ) -> None:
        self.joint_names = robot.movable_joint_names
        self._limits = DriveLimits.of(robot)
        self._index = {name: i for i, name in enumerate(self._limits.names)}
        sources = [robot.resolve_mimic(name) for name in self.joint_names]
        self._source = np.array([self._index[name] for name, _, _ in sources], dtype=np.intp)
        self._multiplier = np.array([multiplier for _, multiplier, _ in sources])
        self._offset = np.array([offset for _, _, offset in sources])
        self._own = np.array([name in self._index for name in self.joint_names])
        self._target = self._limits.middle()
        self._carried = CarriedSpeed(len(self._target))
        start = initial_positions or {}
        self.command([*start], [*start.values()])
        self._start = self._target
        self.engine: Engine = make_engine(
            engine, robot, self._start, time_constant, gravity_compensation
        )

    @property
    def positions(self) -> np.ndarray:
        """Positions of all movable joints, (k,) in the order of ``joint_names`` [rad] or [m]."""
        return self._multiplier * self.engine.position[self._source] + self._offset

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of all movable joints, (k,) [rad/s] or [m/s]."""
        return self._multiplier * self.engine.velocity[self._source]

    @property
    def efforts(self) -> np.ndarray | None:
        """
        Efforts of the drives of all movable joints, (k,) [Nm] or [N].

        0 for mimic joints, which have no drive; None with an engine without forces.
        """
        effort = self.engine.effort
        return None if effort is None else np.where(self._own, effort[self._source], 0.0)

    def command(
        self, names: Sequence[str], positions: Sequence[float], speeds: Sequence[float] = ()
    ) -> None:
        """
        Command positions of joints; those that are not named keep their targets.

        A position outside the limits is brought inside. Mimic joints may be named, but follow
        their own joint all the same.

        :param names: names of joints.
        :param positions: where they shall go [rad] or [m], one for each name.
        :param speeds: how fast these positions move from command to command [rad/s] or [m/s], one
            for each name, or none for targets that rest. They count until the next command, for
            0.1 s at most, and for a way as long as that from the command before at most.
        :raises UnknownJointError: there is no such movable joint; nothing is changed then.
        :raises ArgumentError: the lengths differ, or a value is not finite; likewise.
        """
        self._check(names, positions, 'position')
        if len(speeds):
            self._check(names, speeds, 'velocity')
        chosen = [i for i, name in enumerate(names) if name in self._index]
        joints = [self._index[names[i]] for i in chosen]
        lower, upper, most = self._limits.lower, self._limits.upper, self._limits.velocity
        target, speed = self._target.copy(), np.zeros_like(self._target)
        target[joints] = [positions[i] for i in chosen]
        speed[joints] = [speeds[i] for i in chosen] if len(speeds) else 0.0
        before, self._target = self._target, np.clip(target, lower, upper)
        self._carried.command(joints, self._target - before, np.clip(speed, -most, most))

    def step(self, dt: float) -> None:
        """
        Advance the simulated time.

        :param dt: length of the step [s]; nothing happens unless it is above 0.
        :raises SimulationError: the simulation broke down; the arm then rests where it was.
        """
        if dt > 0.0:
            self.engine.step(self._target, self._carried.step(dt), dt)

    def reset(self) -> None:
        """Put all joints where they started, at rest."""
        self._target = self._start
        self._carried = CarriedSpeed(len(self._target))
        self.engine.reset(self._start)

    def block(self, joint: str) -> None:
        """
        Block a joint, and release all others.

        :param joint: a movable joint; one that mimics another is stuck together with that. Empty
            for none.
        :raises UnknownJointError: there is no such movable joint.
        """
        blocked = np.zeros(len(self._index), dtype=bool)
        if joint:
            if joint not in self.joint_names:
                raise UnknownJointError(joint, self.joint_names)
            blocked[self._source[self.joint_names.index(joint)]] = True
        self.engine.block(blocked)

    def _check(self, names: Sequence[str], values: Sequence[float], kind: str) -> None:
        if len(names) != len(values):
            plural = {'position': 'positions', 'velocity': 'velocities'}[kind]
            raise ArgumentError(
                'command', f'names {len(names)} joints, but has {len(values)} {plural}'
            )
        for name, value in zip(names, values, strict=True):
            if name not in self.joint_names:
                raise UnknownJointError(name, self.joint_names)
            if not math.isfinite(value):
                raise ArgumentError('command', f'the {kind} of {name!r} is {value}')
