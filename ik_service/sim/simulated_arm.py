"""Simulated arm: all movable joints of a robot, driven by an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np

from ik_service.exceptions import (
    ArgumentError,
    MissingExtraError,
    UnknownEngineError,
    UnknownJointError,
)
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel
from ik_service.sim.engine import DriveLimits, Engine, FirstOrderEngine

DEFAULT_ENGINE = 'first_order'
ENGINES = (DEFAULT_ENGINE, 'mujoco')  # names of the engines: without mass, and with physics


def make_engine(
    name: str,
    robot: RobotModel,
    position: np.ndarray,
    time_constant: float,
    gravity_compensation: float = 1.0,
) -> Engine:
    """
    Make an engine for a robot.

    :param name: one of :data:`ENGINES`.
    :param position: (m,) where the independent joints start [rad] or [m].
    :param time_constant: time constant of the approach to a command [s].
    :param gravity_compensation: share of the weight that the drives compensate, 0 to 1; only for
        an engine with forces.
    :raises UnknownEngineError: there is no such engine; the message lists those there are.
    :raises MissingExtraError: the engine needs a library that is not installed.
    :raises SimulationError: the engine cannot simulate this robot; the message says why.
    :raises ArgumentError: the time constant is negative or not finite.
    """
    if name not in ENGINES:
        raise UnknownEngineError(name, ENGINES)
    if name == DEFAULT_ENGINE:
        return FirstOrderEngine(position, DriveLimits.of(robot), time_constant)
    # Only now: it takes a moment, and is an extra.
    try:
        from ik_service.sim.mujoco_engine import MujocoEngine
    except ModuleNotFoundError as error:
        if error.name != 'mujoco':
            raise
        raise MissingExtraError('mujoco', 'sim') from error
    return MujocoEngine(robot, position, time_constant, gravity_compensation)


_APART = 1e-3  # so far from where its joint has it, a mimic joint is refused [rad] or [m]


def fault_of_start(robot: RobotModel, name: str, positions: Mapping[str, float]) -> str:
    """
    Return why a joint cannot start at a position; empty where it can.

    A mimic joint can where it follows to; so the joint that it follows has to be given too.

    :param positions: where joints shall start [rad] or [m], by name; that of this one among them.
    """
    joint, position = robot.joints[name], positions[name]
    lower, upper = joint.limits.lower, joint.limits.upper
    unit = 'm' if joint.type is JointType.PRISMATIC else 'rad'
    if not lower <= position <= upper:
        return f'has to be from {lower:.9g} to {upper:.9g} [{unit}], not {position:.9g}'
    if not joint.movable:
        return ''
    source, multiplier, offset = robot.resolve_mimic(name)
    if source not in positions:
        return f'cannot be given alone, as {name} follows {source} (<mimic>): give that one'
    right = multiplier * positions[source] + offset if source != name else position
    if abs(position - right) > _APART:
        return (
            f'has to be {right:.9g} [{unit}], not {position:.9g}, as {name} follows {source} '
            '(<mimic>); it may be left out'
        )
    return ''


def check_start(robot: RobotModel, positions: Mapping[str, float], field: str) -> None:
    """
    Refuse positions outside of the limits, and of mimic joints those that they do not follow to.

    :param positions: where joints shall start [rad] or [m], by name; names that the robot does
        not have do not matter.
    :raises ArgumentError: naming the joint, its position and the valid range.
    """
    for name in positions:
        reason = fault_of_start(robot, name, positions) if name in robot.joints else ''
        if reason:
            raise ArgumentError(f'{field}.{name}', reason)


_TIMEOUT = 0.1
"""Time after which the speed of a command that has no successor no longer counts [s]."""

_WEIGHT = 0.2  # weight of the last interval between two commands in the usual one
_SPARE = 0.01  # share of each distance that may be added to it

_MOST = 1.5
"""Largest distance until the next command, over that from the command before to the last."""


class CarriedSpeed:
    """
    Speeds of m joints between commands.

    A drive believes the positions of its commands, and their speeds only as far as the positions
    bear them out. Motion at these speeds adds up to the distances between commanded positions, and
    1 % more; each distance takes the usual interval between commands at least. So speeds larger
    than those of the positions, and commands that come late, lead no farther than the positions.
    A distance not used up is kept, half of it at most, for commands that come late.
    """

    def __init__(self, joints: int) -> None:
        self._speed = np.zeros(joints)
        self._left = np.zeros(joints)  # of the distances
        self._age = np.full(joints, _TIMEOUT)  # of the last command
        self._interval = np.zeros(joints)  # 0 while it is not known

    def command(self, joints: list[int], way: np.ndarray, speed: np.ndarray) -> None:
        """
        Take in a command.

        :param way: (m,) from the commanded positions before to the new ones [rad] or [m].
        :param speed: (m,) commanded speeds [rad/s] or [m/s].
        """
        way, speed, before = way[joints], speed[joints], self._speed[joints]
        passed, usual = self._age[joints], self._interval[joints]
        goes_on = passed < _TIMEOUT
        mixed = np.where(usual > 0.0, usual + _WEIGHT * (passed - usual), passed)
        interval = np.where(goes_on, mixed, 0.0)
        ahead = np.maximum(way * np.sign(speed), 0.0)
        kept = np.where(goes_on & (speed * before > 0.0), self._left[joints] + _SPARE * ahead, 0.0)
        left = np.minimum(kept + ahead, _MOST * ahead)
        borne_out = np.divide(left, interval, out=np.abs(speed), where=interval > 0.0)
        self._speed[joints] = np.copysign(np.minimum(np.abs(speed), borne_out), speed)
        self._left[joints], self._interval[joints], self._age[joints] = left, interval, 0.0

    def step(self, dt: float) -> np.ndarray:
        """Return the mean speeds (m,) during the next step [rad/s] or [m/s]."""
        fastest = np.where(self._age < _TIMEOUT, np.abs(self._speed), 0.0)
        way = np.minimum(fastest * dt, self._left)
        self._left, self._age = self._left - way, self._age + dt
        return np.copysign(way / dt, self._speed)


class SimulatedArm:
    """
    Simulated arm that obeys joint commands; mimic joints follow.

    :param initial_positions: where joints start [rad] or [m], by name; the others start in the
        middle of their limits, or at the place nearest to zero where one is missing. Values
        outside the limits are brought inside.
    :param time_constant: time constant of the approach to a command [s].
    :param engine: one of :data:`~ik_service.sim.simulated_arm.ENGINES`.
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

        :param positions: where they shall go [rad] or [m], one for each name.
        :param speeds: how fast these positions move from command to command [rad/s] or [m/s], one
            for each name, or none for targets that rest. They count until the next command, for
            0.1 s at most, and for the distance from the command before at most.
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
