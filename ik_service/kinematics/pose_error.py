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


@kernel
def mark_rigid(transforms, rigid):
    """
    Mark which transforms are finite and rigid.

    :param transforms: (N, 4, 4).
    :param rigid: (N,) bool, changed.
    """
    for row in range(transforms.shape[0]):
        rigid[row] = transform_fault(transforms[row]) == 0


def frame_of(T: np.ndarray) -> np.ndarray:
    """
    Return a transform as the 12 numbers that kernels take.

    :param T: (4, 4).
    :returns: (12,) x, y and z axes, then origin.
    """
    return np.concatenate([T[:3, :3].T.ravel(), T[:3, 3]])


_START = np.uint64(0xCBF29CE484222325)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a word is lost
_HALF = np.uint64(32)


def transform_digests(transforms: np.ndarray) -> np.ndarray:
    """
    Return a digest of each transform, of all bits of its numbers.

    :param transforms: (k, 4, 4).
    :returns: (k,) numbers of 32 bits.
    """
    digests = np.empty(len(transforms), np.uint32)
    words = np.ascontiguousarray(transforms, dtype=np.float64).reshape(-1, 16).view(np.uint64)
    _digest_rows(words, digests)
    return digests


@kernel
def _digest_rows(words: np.ndarray, digests: np.ndarray) -> None:
    """
    Compute digests of rows of words by the hash of Fowler, Noll and Vo, with words for bytes.

    :param words: (k, 16) of 64 bits.
    :param digests: (k,) of 32 bits, changed.
    """
    for row in range(words.shape[0]):
        mixed = _START
        for word in words[row]:
            mixed = (mixed ^ word) * _FACTOR
            mixed ^= mixed >> _HALF
        digests[row] = np.uint32(mixed >> _HALF)


@kernel
def write_grid_poses(
    positions: np.ndarray, turned: np.ndarray, first: int, poses: np.ndarray
) -> None:
    """
    Write poses of a grid; the orientations of one position come together.

    :param positions: (P, 3) [m].
    :param turned: (K, 4, 4) the orientations, at the origin.
    :param first: number of the first pose.
    :param poses: (k, 4, 4) out.
    """
    place, turn = first // max(turned.shape[0], 1), first % max(turned.shape[0], 1)
    for row in range(poses.shape[0]):
        for i in range(4):
            for j in range(4):
                poses[row, i, j] = turned[turn, i, j]
        for i in range(3):
            poses[row, i, 3] = positions[place, i]
        turn += 1
        if turn == turned.shape[0]:
            place, turn = place + 1, 0
