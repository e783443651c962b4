"""
Rotations, roll-pitch-yaw angles and rigid transforms.

Transforms are (4, 4) matrices, positions in [m], angles in [rad].
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_GIMBAL_LOCK = 1e-9  # a cosine of the pitch below this leaves only a sum of roll and yaw
_NEARLY_OPPOSITE = 1e-12  # a tilt from −z below this has no meaningful direction


def rigid_transform(rotation: ArrayLike | None = None, position: ArrayLike = 0.0) -> Floats:
    """Return (4, 4) of a rotation (3, 3), None for the identity, and an origin (3,) [m]."""
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = rotation
    T[:3, 3] = position
    return T


def transform_from_xyz_rpy(xyz: Sequence[float], rpy: Sequence[float]) -> Floats:
    """Return (4, 4) of a URDF ``<origin>``: (3,) [m]; (3,) roll, pitch and yaw [rad]."""
    return rigid_transform(rotation_from_rpy(*rpy), xyz)


def inverse_transform(T: Floats) -> Floats:
    """Return the inverse (4, 4) of a rigid transform."""
    R = T[:3, :3].T
    return rigid_transform(R, -R @ T[:3, 3])


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Floats:
    """
    Return the rotation about the fixed axes x, then y, then z, as in a URDF.

    :param roll: about x [rad].
    :param pitch: about y [rad].
    :param yaw: about z [rad].
    :returns: (3, 3) R = Rz(yaw) Ry(pitch) Rx(roll).
    """
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(R: Floats) -> tuple[float, float, float]:
    """
    Return roll, pitch and yaw of a rotation; yaw is 0 where only a sum of them counts.

    :param R: (3, 3) rotation matrix.
    :returns: roll in [−π, π], pitch in [−π/2, π/2], yaw in [−π, π] [rad].
    """
    cos_pitch = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], cos_pitch)
    if cos_pitch < _GIMBAL_LOCK:
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def rotation_about_axis(axis: ArrayLike, angle: float) -> Floats:
    """Return the rotation (3, 3) about a unit axis by an angle [rad] (Rodrigues' formula)."""
    x, y, z = np.asarray(axis, float)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    half = math.sin(angle / 2)
    return np.eye(3) + math.sin(angle) * K + 2 * half * half * (K @ K)


def rotation_from_z_to(axis: ArrayLike) -> Floats:
    """
    Return the smallest rotation that takes z to an axis.

    For −z, also to within rounding, it is half a turn about x.

    :param axis: (3,) unit vector.
    :returns: (3, 3), whose last column is the axis.
    """
    x, y, z = np.asarray(axis, float)
    if z < 0.0 and math.hypot(x, y) < _NEARLY_OPPOSITE:
        R = np.array([[1.0, 0.0, x], [0.0, -1.0, y], [x, -y, z]])
    else:
        # Rodrigues' formula; the axis of this rotation is (−y, x, 0). The two forms of 1 + z are
        # equal; below the plane the second one loses no digits.
        s = 1.0 + z if z >= 0.0 else (x * x + y * y) / (1.0 - z)
        xy = -(x * y) / s
        R = np.array([[1.0 - x * x / s, xy, x], [xy, 1.0 - y * y / s, y], [-x, -y, z]])
    return R + 0.0  # no −0.0, which turns an angle of π into −π further on
