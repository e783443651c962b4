"""
Kernels of forward kinematics, geometric Jacobian, limits, vectors and the clock.

Between two joint axes lies a constant transform. Its rotation is split into z-x-z Euler angles;
the two rotations about z join the angles of the joints on either side, so that each joint costs a
rotation about z, a translation, and a rotation about x. (Denavit–Hartenberg parameters are a
little cheaper, but ill-conditioned for nearly parallel axes, as in calibrated arms.)

Arguments that the kernels of a chain take:

- ``chain``: :class:`~ik_service.kinematics.joint_path.ChainArrays`;
- ``q``: (n,) variables, of many postures (N, n);
- ``axes``: (m, 6) direction and origin of every joint's axis, in the base frame;
- ``frame``: (12,) the frame behind the last joint, which is the tip's but for its last rotation
  about z;
- ``rows``: (n, 6) columns of the Jacobian, linear before angular, in the base frame.
"""

from __future__ import annotations

import math
from typing import Any

from numba.core import types

from ik_service.jit.compile import inner_kernel, kernel, varied_kernel
from ik_service.kinematics.joint_space import FAR, FARTHEST_LIMIT


@varied_kernel
def last_frame(chain, q, axes, frame):
    """Write ``axes`` and ``frame``: forward kinematics up to the last joint."""
    base = chain.base
    joints = chain.joints
    xx, xy, xz = base[0], base[1], base[2]
    yx, yy, yz = base[3], base[4], base[5]
    zx, zy, zz = base[6], base[7], base[8]
    px, py, pz = base[9], base[10], base[11]
    for k in range(joints.shape[0]):
        value = q[chain.variables[k]]
        angle = joints[k, 0] + joints[k, 6] * value
        s = math.sin(angle)
        c = math.cos(angle)
        axes[k, 0], axes[k, 1], axes[k, 2] = zx, zy, zz
        axes[k, 3], axes[k, 4], axes[k, 5] = px, py, pz
        # about z
        ax, ay, az = c * xx + s * yx, c * xy + s * yy, c * xz + s * yz
        bx, by, bz = c * yx - s * xx, c * yy - s * xy, c * yz - s * xz
        # along all three
        tx, ty, tz = joints[k, 1], joints[k, 2], joints[k, 3] + joints[k, 7] * value
        px += ax * tx + bx * ty + zx * tz
        py += ay * tx + by * ty + zy * tz
        pz += az * tx + bz * ty + zz * tz
        # about x
        c = joints[k, 4]
        s = joints[k, 5]
        xx, xy, xz = ax, ay, az
        yx, yy, yz = c * bx + s * zx, c * by + s * zy, c * bz + s * zz
        zx, zy, zz = c * zx - s * bx, c * zy - s * by, c * zz - s * bz
    frame[0], frame[1], frame[2] = xx, xy, xz
    frame[3], frame[4], frame[5] = yx, yy, yz
    frame[6], frame[7], frame[8] = zx, zy, zz
    frame[9], frame[10], frame[11] = px, py, pz


@inner_kernel
def jacobian_rows(chain, axes, frame, rows):
    """
    Write the geometric Jacobian to ``rows`` (the transpose of its usual form).

    A turning joint with axis a and origin r contributes (a × (e − r), a), a sliding one (a, 0);
    e is the tip. A variable that moves several joints has the sum of their contributions.
    """
    ex, ey, ez = frame[9], frame[10], frame[11]
    for i in range(rows.shape[0]):
        fill_vector(rows[i], 0.0)
    for k in range(axes.shape[0]):
        row = rows[chain.variables[k]]
        turns = chain.joints[k, 6]
        slides = chain.joints[k, 7]
        ax, ay, az = axes[k, 0], axes[k, 1], axes[k, 2]
        dx, dy, dz = ex - axes[k, 3], ey - axes[k, 4], ez - axes[k, 5]
        row[0] += turns * (ay * dz - az * dy) + slides * ax
        row[1] += turns * (az * dx - ax * dz) + slides * ay
        row[2] += turns * (ax * dy - ay * dx) + slides * az
        row[3] += turns * ax
        row[4] += turns * ay
        row[5] += turns * az


@kernel
def forward(chain, q, axes, frame, pose):
    """Write T_base_tip (4, 4); returns whether q is finite and near enough for full precision."""
    last_frame(chain, q, axes, frame)
    c = chain.tip[0]
    s = chain.tip[1]
    for i in range(3):
        x = frame[i]
        y = frame[3 + i]
        pose[i, 0] = c * x + s * y
        pose[i, 1] = c * y - s * x
        pose[i, 2] = frame[6 + i]
        pose[i, 3] = frame[9 + i]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0
    return all_near(q)


@kernel
def jacobian(chain, q, axes, frame, rows, matrix):
    """Write the geometric Jacobian (6, n) in its usual form; returns the same as `forward`."""
    last_frame(chain, q, axes, frame)
    jacobian_rows(chain, axes, frame, rows)
    for i in range(rows.shape[0]):
        for j in range(6):
            matrix[j, i] = rows[i, j]
    return all_near(q)


@kernel
def fill_poses(chain, q, axes, frame, poses):
    """Write T_base_tip in many postures, (N, 4, 4)."""
    for k in range(q.shape[0]):
        forward(chain, q[k], axes, frame, poses[k])


@kernel
def fill_linearised(chain, q, axes, frames, rows):
    """Write frames (N, 12) behind the last joint, and Jacobians (N, n, 6), in many postures."""
    for k in range(q.shape[0]):
        last_frame(chain, q[k], axes, frames[k])
        jacobian_rows(chain, axes, frames[k], rows[k])


@kernel
def fill_speeds(chain, q, velocities, axes, frame, columns, speeds):
    """Write the speeds (N,) of the tip's origin [m/s] by the velocities (N, n) of variables."""
    for k in range(q.shape[0]):
        last_frame(chain, q[k], axes, frame)
        jacobian_rows(chain, axes, frame, columns)
        x = y = z = 0.0
        for i in range(columns.shape[0]):
            x += columns[i, 0] * velocities[k, i]
            y += columns[i, 1] * velocities[k, i]
            z += columns[i, 2] * velocities[k, i]
        speeds[k] = math.sqrt(x * x + y * y + z * z)


@inner_kernel
def has_lower(limit: float) -> bool:
    """Return whether a lower limit [rad] or [m] bounds the range to search."""
    return limit >= -FARTHEST_LIMIT


@inner_kernel
def has_upper(limit: float) -> bool:
    """Return whether an upper limit [rad] or [m] bounds the range to search."""
    return limit <= FARTHEST_LIMIT


@inner_kernel
def all_near(vector):
    """Return whether all of (n,) is finite and small enough to add angles to it precisely."""
    for i in range(vector.shape[0]):
        if not abs(vector[i]) <= FAR:
            return False
    return True


@inner_kernel
def all_finite(vector):
    """Return whether no element of (n,) is NaN or infinite."""
    for i in range(vector.shape[0]):
        if not math.isfinite(vector[i]):
            return False
    return True


@inner_kernel
def copy_vector(source, target):
    """Copy a vector (n,); written out because NumPy's assignment compiles to much more."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inner_kernel
def fill_vector(target, value):
    """Set all elements of a vector (n,) to a value."""
    for i in range(target.shape[0]):
        target[i] = value


_clock_gettime: Any = types.ExternalFunction(
    'clock_gettime', types.int32(types.int32, types.uintp)
)
_CLOCK_MONOTONIC = 1  # number of the clock for ``clock_gettime`` on Linux


@inner_kernel
def monotonic_ns(buffer):
    """Return the monotonic time [ns] in a kernel; the buffer is (2,) int64."""
    _clock_gettime(_CLOCK_MONOTONIC, buffer.ctypes.data)
    return buffer[0] * 1_000_000_000 + buffer[1]
