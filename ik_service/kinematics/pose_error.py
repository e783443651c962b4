"""
Pose errors, and checks and digests of transforms.

An error is a 6-vector, linear before angular, in the base frame: the difference of the positions
and the rotation vector of R_target R_tipᵀ, that is, the twist that carries the tip to the target
in unit time.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.exceptions import ArgumentError
from ik_service.jit.compile import kernel
from ik_service.kinematics.kernels import frame_error, transform_fault

# Contiguous, aligned, writable, no subclass: a kernel is compiled anew for arrays of another kind.
_AS_KERNELS_TAKE_THEM: Final = ('C', 'A', 'W', 'E')


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

    :param T: (N, 4, 4) transforms.
    :param argument: their name in the error.
    :raises ArgumentError: when it is not (N, 4, 4), or a row is not finite and rigid.
    """
    floats = T if isinstance(T, np.ndarray) and T.dtype == np.float64 else real_array(T, argument)
    matrices = np.require(floats, None, _AS_KERNELS_TAKE_THEM)
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
    """
    Return a transform as the 12 numbers that kernels take.

    :param T: (4, 4).
    :returns: (12,) x, y and z axes, then origin.
    """
    return np.concatenate([T[:3, :3].T.ravel(), T[:3, 3]])
