"""Measures of the arm: distances to limits, pose errors, lag, manipulability and solves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import search_limits
from ik_service.kinematics.pose_error import pose_error
from ik_service.model.joint import JointType


@dataclass(frozen=True)
class JointPosition:
    """Position of a joint and its limits [rad] or [m], infinite without one."""

    name: str
    value: float
    unit: str
    lower: float
    upper: float

    @property
    def fraction(self) -> float | None:
        """Position between the lower limit (0) and the upper one (1); None without both."""
        lower, upper = (float(end) for end in search_limits(self.lower, self.upper))
        span = upper - lower
        if not 0.0 < span < math.inf:
            return None
        return min(max((self.value - lower) / span, 0.0), 1.0)

    @property
    def distance(self) -> float:
        """Distance to the nearer limit [rad] or [m]; negative beyond it, inf without limits."""
        return min(self.value - self.lower, self.upper - self.value)

    @property
    def limit_proximity(self) -> float:
        """Proximity to a limit: 0 in the middle half of the range, 1 at a limit and beyond."""
        fraction = self.fraction
        return 0.0 if fraction is None else max(0.0, 4.0 * abs(fraction - 0.5) - 1.0)


@dataclass(frozen=True)
class Lag:
    """Lag behind commands [rad] or [m], and time of the slowest joint to catch up [s]."""

    joint: str
    distance: float
    unit: str
    seconds: float


def joint_positions(chain: KinematicChain, q: np.ndarray) -> list[JointPosition]:
    """Return the positions of a chain's joints (n,) [rad] or [m], with their limits."""
    rows = zip(chain.joint_names, q, joint_units(chain), chain.lower, chain.upper, strict=True)
    return [
        JointPosition(name, float(value), unit, float(lower), float(upper))
        for name, value, unit, lower, upper in rows
    ]


def joint_units(chain: KinematicChain) -> tuple[str, ...]:
    """Return ``rad`` or ``m`` for every joint of a chain."""
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    return tuple('m' if kind is JointType.PRISMATIC else 'rad' for kind in kinds)


def tracking_error(
    T: np.ndarray, T_target: np.ndarray, weights: Sequence[float] = (1.0,) * 6
) -> tuple[float, float]:
    """Distance [m] and angle [rad] of ``T`` (4, 4) from its target, about axes with a weight."""
    error = pose_error(T, T_target) * (np.asarray(weights) > 0.0)
    return float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))


def manipulability(jacobian: np.ndarray) -> tuple[float, float]:
    """Yoshikawa's (IJRR 4(2), 1985) √det(J Jᵀ) of (6, n), and the smallest singular value."""
    values = np.linalg.svd(jacobian, compute_uv=False)
    return float(np.prod(values)), float(values.min())


def lag(chain: KinematicChain, q: np.ndarray, q_command: np.ndarray, speeds: np.ndarray) -> Lag:
    """Lag of ``q`` behind ``q_command`` (n,), measured in the joints' finite speeds [s]."""
    behind = np.abs(q_command - q)
    worst = int(np.argmax(behind))
    seconds = np.divide(behind, speeds, out=np.zeros_like(behind), where=speeds > 0.0)
    unit = joint_units(chain)[worst]
    return Lag(chain.joint_names[worst], float(behind[worst]), unit, float(seconds.max()))


def random_reachable_pose(
    chain: KinematicChain, rng: np.random.Generator, floor: float = 0.05, margin: float = 0.1
) -> np.ndarray:
    """Pose T_base_tip (4, 4) within limits and margins, and if it can be above a floor [m]."""
    lower, upper = chain.sampling_bounds()
    inset = margin * (upper - lower)
    for _ in range(100):
        T = chain.forward(rng.uniform(lower + inset, upper - inset))
        if T[2, 3] >= floor:
            break
    return T


@dataclass(frozen=True)
class SolveReport:
    """Figures of a node's last solve [s, m, rad]; None or empty where unknown."""

    iterations: int
    searches: int
    solve_time: float
    status: str = ''
    solver: str = ''
    source: str = ''
    position_error: float | None = None
    orientation_error: float | None = None
