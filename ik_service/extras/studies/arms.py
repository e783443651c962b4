"""Arms of the studies, random postures, and manipulability."""

from __future__ import annotations

from functools import lru_cache
import math

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot

# Base and tip of each.
ARMS = {
    'planar_6r': ('base_link', 'tool0'),
    'panda': ('panda_link0', 'panda_hand_tcp'),
    'ur5e': ('base_link', 'tool0'),
}


@lru_cache
def load_arm(name: str) -> KinematicChain:
    """Return the chain of one of :data:`ARMS`, from its base to its tool."""
    return Robot.from_urdf(urdf_path(name)).chain(*ARMS[name])


def manipulability(chain: KinematicChain, q: np.ndarray, rows: slice = slice(None)) -> float:
    """Return Yoshikawa's measure √det(J Jᵀ) at q (n,): 0 if singular (Yoshikawa 1985, eq. 9)."""
    J = chain.jacobian(q)[rows]
    return math.sqrt(max(0.0, float(np.linalg.det(J @ J.T))))
