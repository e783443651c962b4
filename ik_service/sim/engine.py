"""Engines that move a simulated arm: their interface, and the one without mass."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Protocol

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.kinematics.joint_space import search_limits
from ik_service.model.robot_model import RobotModel


@dataclass(frozen=True)
class DriveLimits:
    """
    Limits of the m joints that move on their own, in document order.

    :ivar names: the joints.
    :ivar lower: (m,) lowest positions [rad] or [m]; −inf where unlimited.
    :ivar upper: (m,) highest positions [rad] or [m]; inf where unlimited.
    :ivar velocity: (m,) highest speeds [rad/s] or [m/s]; inf where the URDF gives none.
    :ivar effort: (m,) highest efforts [Nm] or [N]; inf where the URDF gives none.
    """

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    @classmethod
    def of(cls, robot: RobotModel) -> DriveLimits:
        """Return the limits of a robot's joints."""
        names = robot.independent_joint_names
        limits = [robot.joints[name].limits for name in names]
        rows = [(limit.lower, limit.upper, limit.velocity, limit.effort) for limit in limits]
        return cls(names, *np.array(rows).reshape(-1, 4).T.copy())

    def middle(self) -> np.ndarray:
        """Return mid-range positions (m,) [rad] or [m]; next to zero where a limit is missing."""
        finite = np.isfinite(search_limits(self.lower, self.upper)).all(axis=0)
        middle = np.clip(np.zeros_like(self.lower), self.lower, self.upper)
        middle[finite] = self.lower[finite] + (self.upper[finite] - self.lower[finite]) / 2
        return middle


class Engine(Protocol):
    """
    Engine that moves the m independent joints of a simulated arm.

    :ivar remarks: notes for the user about the robot as it is simulated, a sentence each.
    """

    remarks: tuple[str, ...]

    @property
    def position(self) -> np.ndarray:
        """Positions of the joints (m,) [rad] or [m]."""
        ...

    @property
    def velocity(self) -> np.ndarray:
        """Velocities of the joints (m,) [rad/s] or [m/s]."""
        ...

    @property
    def effort(self) -> np.ndarray | None:
        """Efforts of the drives (m,) [Nm] or [N]; None for an engine without forces."""
        ...

    def step(self, target: np.ndarray, speed: np.ndarray, dt: float) -> None:
        """
        Advance the simulated time.

        :param target: (m,) commanded positions, within the limits [rad] or [m].
        :param speed: (m,) how fast these move [rad/s] or [m/s]; 0 for a target that rests.
        :raises SimulationError: the simulation broke down; the joints then rest where they were.
        """
        ...

    def reset(self, position: np.ndarray) -> None:
        """Put the joints at rest at a position (m,) [rad] or [m]."""
        ...

    def block(self, blocked: np.ndarray) -> None:
        """Block the joints of a mask (m,), which no drive moves any more; release the others."""
        ...


class FirstOrderEngine:
    """
    Joints without mass, see :class:`~ik_service.sim.engine.Engine`.

    ẋ = ẋ_target + (target − x) / T, cut off at the joint's velocity limit. The exponential is
    integrated exactly, so that the motion does not depend on the length of the steps. A target
    that moves as fast as its commands say is followed without a lag; one whose commands give no
    speed, with a lag of T.

    :param position: (m,) where the joints start [rad] or [m].
    :param time_constant: T [s]; 0 for joints that only the velocity limit holds back.
    :raises ArgumentError: when the time constant is negative or not finite.
    """

    effort: np.ndarray | None = None
    remarks: tuple[str, ...] = ()

    def __init__(self, position: np.ndarray, limits: DriveLimits, time_constant: float) -> None:
        if not 0.0 <= time_constant < math.inf:
            raise ArgumentError('time_constant', f'has to be at least 0, not {time_constant!r}')
        self._limits = limits
        self._time_constant = time_constant
        self._free = np.ones(len(limits.names), dtype=bool)
        self.reset(position)

    def reset(self, position: np.ndarray) -> None:
        """Put the joints at rest at a position."""
        self.position = np.array(position, dtype=np.float64)
        self.velocity = np.zeros_like(self.position)

    def block(self, blocked: np.ndarray) -> None:
        """Hold some joints where they are, and release the others."""
        self._free = ~blocked

    def step(self, target: np.ndarray, speed: np.ndarray, dt: float) -> None:
        """Advance the simulated time."""
        constant, limits = self._time_constant, self._limits
        share = -math.expm1(-dt / constant) if constant > 0.0 else 1.0
        # The exponential approaches the point that the target will have reached after T.
        ahead = np.clip(target + constant * speed, limits.lower, limits.upper)
        furthest = limits.velocity * dt
        way = np.clip((ahead - self.position) * share, -furthest, furthest) * self._free
        self.position = self.position + way
        self.velocity = way / dt
