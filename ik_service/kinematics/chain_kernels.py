"""Compiled forward kinematics and Jacobian of a chain, to be called from Python."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import jacobian_rows, last_frame

FAR = 1e6
"""Farther out [rad], an angle that is added to another loses more than 1e-10 rad by rounding."""


@kernel
def forward(chain, q, axes, frame, pose):
    """
    Write the pose of the tip.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param q: (n,) variables.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param pose: (4, 4) out: T_base_tip.
    :returns: whether all of q is finite and near enough for full precision.
    """
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
    """
    Write the geometric Jacobian in its usual form.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param q: (n,) variables.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param rows: (n, 6) scratch.
    :param matrix: (6, n) out.
    :returns: whether all of q is finite and near enough for full precision.
    """
    last_frame(chain, q, axes, frame)
    jacobian_rows(chain, axes, frame, rows)
    for i in range(rows.shape[0]):
        for j in range(6):
            matrix[j, i] = rows[i, j]
    return all_near(q)


@kernel
def fill_poses(chain, q, axes, frame, poses):
    """
    Write the poses of the tip in many postures.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param q: (N, n) variables.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param poses: (N, 4, 4) out: T_base_tip.
    """
    for k in range(q.shape[0]):
        forward(chain, q[k], axes, frame, poses[k])


@kernel
def fill_speeds(chain, q, velocities, axes, frame, columns, speeds):
    """
    Write the speed of the origin of the tip in many postures.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param q: (N, n) variables.
    :param velocities: (N, n) of the variables.
    :param axes: (m, 6) scratch.
    :param frame: (12,) scratch.
    :param columns: (n, 6) scratch: the columns of the Jacobian, linear before angular.
    :param speeds: (N,) out [m/s].
    """
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
def all_near(vector):
    """
    Return whether every element is finite and small enough to add angles to it precisely.

    :param vector: (n,) [rad] or [m].
    """
    for i in range(vector.shape[0]):
        if not abs(vector[i]) <= FAR:
            return False
    return True
