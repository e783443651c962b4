"""
Pose errors, and checks and digests of transforms.

An error is a 6-vector, linear before angular, in the base frame: the difference of the positions
and the rotation vector of R_target R_tipᵀ, that is, the twist that carries the tip to the target
in unit time.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.exceptions import ArgumentError
from ik_service.jit.compile import inner_kernel, kernel

# Contiguous, aligned, writable, no subclass: a kernel is compiled anew for arrays of another kind.
_AS_KERNELS_TAKE_THEM: Final = ('C', 'A', 'W', 'E')


_NEAR_PI = -0.99  # cosine of an angle beyond which the sine is too small to give the axis
# How far from a rotation the upper left block of a transform may be.
_ROTATION_TOLERANCE = 1e-6


@inner_kernel
def rotation_vector_near_pi(frame, goal, sx, sy, sz, error):
    """
    Write a rotation vector from the quaternion and its largest component.

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


# Below this cosine of the angle the axis is taken from the symmetric part of the rotation.
@kernel
def frame_error(frame, goal, error):
    """
    Write the error of a frame against a goal.

    :param frame: (12,) x, y and z axes, then origin.
    :param goal: (12,) likewise.
    :param error: (6,) out: position difference [m], rotation vector [rad].
    """
    # R_goal R_frameᵀ = Σ goal axis · frame axisᵀ: half its antisymmetric part is sin θ times the
    # axis, and its trace is 1 + 2 cos θ.
    sx = sy = sz = trace = 0.0
    for i in range(0, 9, 3):
        fx, fy, fz = frame[i], frame[i + 1], frame[i + 2]
        gx, gy, gz = goal[i], goal[i + 1], goal[i + 2]
        sx += fy * gz - fz * gy
        sy += fz * gx - fx * gz
        sz += fx * gy - fy * gx
        trace += fx * gx + fy * gy + fz * gz
    sx, sy, sz = 0.5 * sx, 0.5 * sy, 0.5 * sz
    cosine = 0.5 * (trace - 1.0)
    sine = math.sqrt(sx * sx + sy * sy + sz * sz)
    error[0] = goal[9] - frame[9]
    error[1] = goal[10] - frame[10]
    error[2] = goal[11] - frame[11]
    if cosine < _NEAR_PI:
        rotation_vector_near_pi(frame, goal, sx, sy, sz, error)
        return
    scale = math.atan2(sine, cosine) / sine if sine > 1e-9 else 1.0
    error[3] = scale * sx
    error[4] = scale * sy
    error[5] = scale * sz


@kernel
def transform_fault(T):
    """Return 1 for NaN or infinity in T (4, 4), 2 for its last row, 3 if not rigid, else 0."""
    for i in range(4):
        for j in range(4):
            if not math.isfinite(T[i, j]):
                return 1
    if T[3, 0] != 0.0 or T[3, 1] != 0.0 or T[3, 2] != 0.0 or T[3, 3] != 1.0:
        return 2
    for i in range(3):
        for j in range(i + 1):
            product = T[0, i] * T[0, j] + T[1, i] * T[1, j] + T[2, i] * T[2, j]
            if not abs(product - (1.0 if i == j else 0.0)) <= _ROTATION_TOLERANCE:
                return 3
    handed = (
        T[0, 0] * (T[1, 1] * T[2, 2] - T[1, 2] * T[2, 1])
        - T[0, 1] * (T[1, 0] * T[2, 2] - T[1, 2] * T[2, 0])
        + T[0, 2] * (T[1, 0] * T[2, 1] - T[1, 1] * T[2, 0])
    )
    return 0 if handed > 0.0 else 3


def pose_error(T_base_tip: ArrayLike, T_base_target: ArrayLike) -> np.ndarray:
    """
    Return the twist that carries the tip to the target in unit time.

    :param T_base_tip: (4, 4) pose of the tip.
    :param T_base_target: (4, 4) pose that it shall have.
    :returns: (6,) position difference [m], then rotation vector [rad] of R_target R_tipᵀ, at most
        π long; at π its sign is arbitrary.
    :raises ArgumentError: when one of them is not a rigid transform.
    """
    tip = frame_of(check_transform(T_base_tip, 'T_base_tip'))
    target = frame_of(check_transform(T_base_target, 'T_base_target'))
    error = np.empty(6)
    frame_error(tip, target, error)
    return error


def check_transform(T: ArrayLike, argument: str) -> np.ndarray:
    """
    Return a transform as an array of floats.

    :param T: (4, 4) transform.
    :param argument: its name in the error.
    :raises ArgumentError: when it is not (4, 4), finite and rigid.
    """
    matrix = real_array(T, argument)
    if matrix.shape != (4, 4):
        raise ArgumentError(argument, f'has shape {matrix.shape}, has to be (4, 4)')
    fault = transform_fault(matrix)
    if fault:
        raise ArgumentError(argument, _FAULTS[fault])
    return matrix


def check_transforms(T: ArrayLike, argument: str) -> np.ndarray:
    """
    Return transforms as an array of floats, the given one where it already is one.

    :param T: (N, 4, 4) transforms; an empty list holds none.
    :param argument: their name in the error.
    :raises ArgumentError: when it is not (N, 4, 4), or a row is not finite and rigid.
    """
    floats = T if type(T) is np.ndarray and T.dtype == np.float64 else real_array(T, argument)
    matrices = np.require(floats, None, _AS_KERNELS_TAKE_THEM)
    if matrices.shape == (0,):
        matrices = matrices.reshape(0, 4, 4)
    if matrices.ndim != 3 or matrices.shape[1:] != (4, 4):
        raise ArgumentError(argument, f'have shape {matrices.shape}, have to be (N, 4, 4)')
    row, fault = first_fault(matrices)
    if fault:
        raise ArgumentError(f'{argument}[{row}]', _FAULTS[fault])
    return matrices


_FAULTS = (
    '',
    'holds NaN or infinity',
    'has a last row other than 0 0 0 1',
    'is not rigid: its upper left 3×3 block has to be a rotation matrix',
)


@kernel
def first_fault(transforms):
    """
    Return the row of the first faulty transform, and its fault; 0 for none.

    :param transforms: (N, 4, 4).
    """
    for row in range(transforms.shape[0]):
        fault = transform_fault(transforms[row])
        if fault:
            return row, fault
    return 0, 0


def frame_of(T: np.ndarray) -> np.ndarray:
    """Return T (4, 4) as the (12,) that kernels take: x, y and z axes, then origin."""
    return np.concatenate([T[:3, :3].T.ravel(), T[:3, 3]])
