"""Joint motion in time, as way points of positions, velocities and accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class JointTrajectory:
    """
    Way points of n joints in time.

    :ivar joint_names: names of the joints.
    :ivar times: (k,) time of each point from the start, which increases [s].
    :ivar positions: (k, n) positions [rad] or [m].
    :ivar velocities: (k, n) velocities [rad/s] or [m/s]; None where none are given.
    :ivar accelerations: (k, n) accelerations [rad/s²] or [m/s²]; None where none are given.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None = None
    accelerations: np.ndarray | None = None
