"""Registry of the engines of a simulated arm."""

from __future__ import annotations

import numpy as np

from ik_service.exceptions import MissingExtraError, UnknownEngineError
from ik_service.model.robot_model import RobotModel
from ik_service.sim.engine import DriveLimits, Engine, FirstOrderEngine

DEFAULT_ENGINE = 'first_order'
ENGINES = (DEFAULT_ENGINE, 'mujoco')
"""Names of the engines: without mass, and with physics."""


def check_engine(name: str) -> None:
    """
    Refuse a name that is no engine's.

    :raises UnknownEngineError: there is no such engine; the message lists those there are.
    """
    if name not in ENGINES:
        raise UnknownEngineError(name, ENGINES)


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
    check_engine(name)
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
