"""Speeds of joints, also of those for which the robot description has no limit."""

from __future__ import annotations

import numpy as np

from ik_service.kinematics.joint_space import JointSpace
from ik_service.model.joint import JointType

FALLBACK_SPEED = 1.0
"""Speed of a rotary joint for which the URDF names no velocity limit [rad/s]."""

FALLBACK_LINEAR_SPEED = 0.1
"""Speed of a prismatic joint for which the URDF names no velocity limit [m/s]."""


def joint_speeds(chain: JointSpace) -> np.ndarray:
    """
    Return the largest speeds of a chain's joints, all of them finite.

    :param chain: the chain.
    :returns: (n,) the velocity limits [rad/s] or [m/s], and where there is none
        :data:`FALLBACK_SPEED` or :data:`FALLBACK_LINEAR_SPEED`.
    """
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    fallback = [
        FALLBACK_LINEAR_SPEED if kind is JointType.PRISMATIC else FALLBACK_SPEED for kind in kinds
    ]
    return np.where(np.isfinite(chain.velocity), chain.velocity, fallback)
