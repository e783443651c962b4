"""Interface of the engines that move a simulated arm."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Engine(Protocol):
    """
    Engine that moves the m independent joints of a simulated arm.

    :ivar remarks: what a user should know about the robot as it is simulated, a sentence each.
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
        :param dt: length of the step [s], above 0.
        :raises SimulationError: the simulation broke down; the joints then rest where they were.
        """
        ...

    def reset(self, position: np.ndarray) -> None:
        """
        Put the joints at rest at a position.

        :param position: (m,) [rad] or [m].
        """
        ...

    def block(self, blocked: np.ndarray) -> None:
        """
        Block some joints, and release the others.

        :param blocked: (m,) mask of the joints that no drive moves any more.
        """
        ...
