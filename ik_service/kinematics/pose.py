"""
Pose errors.

An error is a 6-vector, linear before angular, in the base frame: the difference of the positions
and the rotation vector of R_target R_tipᵀ, that is, the twist that carries the tip to the target
in unit time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.numbers import real_numbers
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.compile import kernel
from ik_service.kinematics.kernels import frame_error, transform_fault

# Contiguous, aligned, writable, no subclass: a kernel is compiled anew for arrays of another kind.
_AS_KERNELS_TAKE_THEM = ('C', 'A', 'W', 'E')


def pose_error(T_base_tip: ArrayLike, T_base_target: ArrayLike) -> np.ndarray:
    """
    Twist that carries the tip to the target in unit time.

    :param T_base_tip: (4, 4).
    :param T_base_target: (4, 4).
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
    Transform as an array of floats.

    :raises ArgumentError: when it is not (4, 4), finite and rigid.
    """
    matrix = real_numbers(T, argument)
    if matrix.shape != (4, 4):
        raise ArgumentError(argument, f'has shape {matrix.shape}, has to be (4, 4)')
    fault = transform_fault(matrix)
    if fault:
        raise ArgumentError(argument, _FAULTS[fault])
    return matrix


def check_transforms(T: ArrayLike, argument: str) -> np.ndarray:
    """
    Transforms as an array of floats, the given one if it will do.

    :raises ArgumentError: when it is not (N, 4, 4), or a row is not finite and rigid.
    """
    usable = isinstance(T, np.ndarray) and T.dtype == np.float64
    matrices = np.require(T if usable else real_numbers(T, argument), None, _AS_KERNELS_TAKE_THEM)
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
    """Row of the first faulty one of (N, 4, 4) transforms, and its fault; 0 for none."""
    for row in range(transforms.shape[0]):
        fault = transform_fault(transforms[row])
        if fault:
            return row, fault
    return 0, 0


def frame_of(T: np.ndarray) -> np.ndarray:
    """The 12 numbers of a frame: the x, y and z axes, then the origin."""
    return np.concatenate([T[:3, :3].T.ravel(), T[:3, 3]])
