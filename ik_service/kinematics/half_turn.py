"""Rotation vectors of angles close to π, where the usual formula divides by zero."""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inner_kernel


@inner_kernel
def rotation_vector_near_pi(frame, goal, sx, sy, sz, error):
    """
    Write a rotation vector by way of the quaternion and its largest component.

    Near π the antisymmetric part vanishes and the axis lies in the symmetric one; the largest
    component of the quaternion is safe to divide by (Shepperd 1978).

    :param frame: (12,) x, y and z axes, then origin.
    :param goal: (12,) likewise.
    :param sx: x of the rotation axis times the sine of the angle.
    :param sy: y likewise.
    :param sz: z likewise.
    :param error: (6,) out: the last three are the rotation vector [rad].
    """
    xx = goal[0] * frame[0] + goal[3] * frame[3] + goal[6] * frame[6]
    yy = goal[1] * frame[1] + goal[4] * frame[4] + goal[7] * frame[7]
    zz = goal[2] * frame[2] + goal[5] * frame[5] + goal[8] * frame[8]
    xy = 0.25 * (
        goal[0] * frame[1] + goal[3] * frame[4] + goal[6] * frame[7]
        + goal[1] * frame[0] + goal[4] * frame[3] + goal[7] * frame[6]
    )  # fmt: skip
    xz = 0.25 * (
        goal[0] * frame[2] + goal[3] * frame[5] + goal[6] * frame[8]
        + goal[2] * frame[0] + goal[5] * frame[3] + goal[8] * frame[6]
    )  # fmt: skip
    yz = 0.25 * (
        goal[1] * frame[2] + goal[4] * frame[5] + goal[7] * frame[8]
        + goal[2] * frame[1] + goal[5] * frame[4] + goal[8] * frame[7]
    )  # fmt: skip
    # xy, xz, yz: products of quaternion components; s / 2: products with its scalar part w.
    if xx >= yy and xx >= zz:
        x = 0.5 * math.sqrt(1.0 + xx - yy - zz)
        y, z, w = xy / x, xz / x, 0.5 * sx / x
    elif yy >= zz:
        y = 0.5 * math.sqrt(1.0 - xx + yy - zz)
        x, z, w = xy / y, yz / y, 0.5 * sy / y
    else:
        z = 0.5 * math.sqrt(1.0 - xx - yy + zz)
        x, y, w = xz / z, yz / z, 0.5 * sz / z
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    length = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(length, w) / length
    error[3] = scale * x
    error[4] = scale * y
    error[5] = scale * z
