"""Rotations as people write them: roll, pitch, yaw, and quaternions in the order x, y, z, w."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from ik_service.exceptions import ArgumentError

_QUATERNION_TOLERANCE = 1e-2  # of the norm; within, it is normalised
_LEVEL = 1e-9  # a cosine of the pitch below this leaves only a sum of roll and yaw


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """
    Return the rotation about the fixed axes x, then y, then z, as in a URDF.

    :param roll: [rad].
    :param pitch: [rad].
    :param yaw: [rad].
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


def rpy_of(R: np.ndarray) -> tuple[float, float, float]:
    """
    Return roll, pitch and yaw of a rotation [rad]; yaw is 0 where only a sum of them counts.

    :param R: (3, 3).
    """
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level < _LEVEL:
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def rotation_from_quaternion(quaternion: Sequence[float], argument: str) -> np.ndarray:
    """
    Return the rotation of a quaternion, which is normalised if it is nearly a unit one.

    :param quaternion: x, y, z, w.
    :param argument: what it is the value of, for the message.
    :returns: (3, 3).
    :raises ArgumentError: it is zero, or its norm is off by more than a hundredth.
    """
    values = np.array(quaternion, dtype=float)
    largest = np.abs(values).max()
    if largest == 0.0:
        raise ArgumentError(argument, 'is the zero quaternion, which is no rotation')
    unit = values / largest  # no overflow in the norm
    norm = float(np.linalg.norm(unit))
    unit /= norm
    if abs(largest * norm - 1.0) > _QUATERNION_TOLERANCE:
        wanted = ' '.join(f'{value:.6g}' for value in unit)
        raise ArgumentError(
            argument, f'has the norm {largest * norm:g}, but a rotation has 1: {wanted}'
        )
    x, y, z, w = unit
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """
    Return the quaternion of a rotation.

    From the largest row of 4 q qᵀ, whose entries are sums of entries of R (Shepperd 1978).

    :param R: (3, 3).
    :returns: (4,) x, y, z, w ≥ 0.
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    products = np.array(
        [
            [1 + a - e - i, b + d, c + g, h - f],
            [b + d, 1 - a + e - i, f + h, c - g],
            [c + g, f + h, 1 - a - e + i, d - b],
            [h - f, c - g, d - b, 1 + a + e + i],
        ]
    )
    row = products[int(np.argmax(products.diagonal()))]
    return row / math.copysign(float(np.linalg.norm(row)), row[3])
