"""What every engine of a simulated arm can do."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Engine(Protocol):
    """
    What moves the m independent joints of a simulated arm.

    :ivar position: (m,) where they are [rad] or [m].
    :ivar velocity: (m,) how fast they move [rad/s] or [m/s].
    :ivar effort: (m,) what their drives exert [Nm] or [N]; None for an engine without forces.
    :ivar remarks: what a user should know about the robot as it is simulated, a sentence each.
    """

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray | None
    remarks: tuple[str, ...]

    def step(self, target: np.ndarray, speed: np.ndarray, dt: float) -> None:
        """
        Advance the time.

        :param target: (m,) where the joints are commanded to, within the limits [rad] or [m].
        :param speed: (m,) how fast that moves [rad/s] or [m/s]; 0 for a target that rests.
        :param dt: by how much [s], above 0.
        :raises SimulationError: the simulation broke down; the joints then rest where they were.
        """
        ...

    def reset(self, position: np.ndarray) -> None:
        """Put the joints somewhere, (m,) [rad] or [m], at rest."""
        ...

    def block(self, blocked: np.ndarray) -> None:
        """Let no drive move some joints any more, (m,) of bool; the others are free."""
        ...
