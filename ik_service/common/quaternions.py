"""
Unit quaternions from and to rotation matrices.

The one place for these conversions. The order of the components stands in the name of the
function: ``xyzw`` as in ROS and SciPy, ``wxyz`` as in viser and MuJoCo.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from ik_service.common.transforms import Floats

Quaternion = tuple[float, float, float, float]

UNIT_TOLERANCE = 1e-2
"""Deviation of a given quaternion's norm from 1 within which it is normalised."""


def transform_from_xyz_quaternion_xyzw(
    px: float, py: float, pz: float, x: float, y: float, z: float, w: float
) -> Floats:
    """
    Return the transform of one pose; quicker than its parts, for requests that come one by one.

    :param px: position [m]; ``py`` and ``pz`` likewise.
    :param x: first component of the vector part of the unit quaternion; ``y``, ``z`` likewise.
    :param w: its scalar part.
    :returns: (4, 4).
    """
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    return np.array(
        [
            [1.0 - yy - zz, xy - wz, xz + wy, px],
            [xy + wz, 1.0 - xx - zz, yz - wx, py],
            [xz - wy, yz + wx, 1.0 - xx - yy, pz],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def normalized_quaternion(quaternion: Sequence[float]) -> tuple[Quaternion, float]:
    """
    Return a quaternion at unit length, and the length it had.

    :param quaternion: (4,) finite components in any order.
    :returns: the unit quaternion in the same order, and its norm before. The zero quaternion,
        which is no rotation, is returned as it is, with norm 0.
    """
    a, b, c, d = quaternion
    largest = max(abs(a), abs(b), abs(c), abs(d))
    if largest == 0.0:
        return (a, b, c, d), 0.0
    a, b, c, d = a / largest, b / largest, c / largest, d / largest  # so the norm cannot overflow
    norm = math.hypot(a, b, c, d)
    return (a / norm, b / norm, c / norm, d / norm), largest * norm


def rotation_from_quaternion_xyzw(
    x: float | Floats, y: float | Floats, z: float | Floats, w: float | Floats
) -> Floats:
    """
    Return the rotation of a unit quaternion, or those of many.

    :param x: first component of the vector part, or (N,) of them; the others likewise.
    :param y: second component.
    :param z: third component.
    :param w: scalar part.
    :returns: (3, 3), or (N, 3, 3).
    """
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    rows = np.array(
        [
            [1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)],
            [2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)],
            [2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)],
        ]
    )
    return rows if rows.ndim == 2 else np.moveaxis(rows, -1, 0)


def quaternion_xyzw_from_rotation(R: Floats) -> Quaternion:
    """
    Return the unit quaternion of a rotation.

    From its largest component, so that nothing small is divided by (Shepperd, "Quaternion
    from rotation matrix", Journal of Guidance and Control 1(3), 1978).

    :param R: (3, 3) rotation matrix.
    :returns: x, y, z, and w ≥ 0.
    """
    (a, ab, ac), (ba, b, bc), (ca, cb, c) = R.tolist()
    trace = a + b + c
    largest = max(a, b, c, trace)
    if largest == trace:
        x, y, z, w = cb - bc, ac - ca, ba - ab, 1.0 + trace
    elif largest == a:
        x, y, z, w = 1.0 + 2.0 * a - trace, ab + ba, ac + ca, cb - bc
    elif largest == b:
        x, y, z, w = ab + ba, 1.0 + 2.0 * b - trace, bc + cb, ac - ca
    else:
        x, y, z, w = ac + ca, bc + cb, 1.0 + 2.0 * c - trace, ba - ab
    s = math.copysign(1.0 / math.hypot(x, y, z, w), w)
    return s * x, s * y, s * z, s * w


def quaternions_xyzw_from_rotations(R: Floats) -> Floats:
    """
    Return the unit quaternions of many rotations, from their largest component, as above.

    :param R: (N, 3, 3) rotation matrices.
    :returns: (N, 4) x, y, z, w; NaN where R is NaN.
    """
    a, b, c = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    trace = a + b + c
    # Row i of the matrix is the quaternion times four times its component i.
    Q = np.empty((len(R), 4, 4))
    Q[:, 0, 0], Q[:, 1, 1], Q[:, 2, 2] = (1.0 + 2.0 * each - trace for each in (a, b, c))
    Q[:, 3, 3] = 1.0 + trace
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        Q[:, i, j] = Q[:, j, i] = R[:, i, j] + R[:, j, i]
        Q[:, 3, k] = Q[:, k, 3] = R[:, j, i] - R[:, i, j]
    largest = np.argmax(np.stack([a, b, c, trace], axis=1), axis=1)
    quaternions = Q[np.arange(len(R)), largest]
    return quaternions / np.sqrt((quaternions**2).sum(axis=1, keepdims=True))


def quaternion_wxyz_from_rotation(R: Floats) -> Quaternion:
    """Return the unit quaternion of R (3, 3): w ≥ 0, then x, y, z."""
    x, y, z, w = quaternion_xyzw_from_rotation(R)
    return w, x, y, z
