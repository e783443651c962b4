"""Target orientations given on the command line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.common.transforms import (
    normalized_quaternion,
    rotation_from_quaternion_xyzw,
    UNIT_TOLERANCE,
)
from ik_service.exceptions import ArgumentError


def rotation_from_quaternion(quaternion: Sequence[float], argument: str) -> np.ndarray:
    """
    Return the rotation of a quaternion, which is normalised if it is nearly a unit one.

    :param quaternion: (4,) x, y, z, w.
    :param argument: name of the command-line argument, for the message.
    :returns: (3, 3).
    :raises ArgumentError: it is zero, or its norm is off by more than a hundredth.
    """
    unit, norm = normalized_quaternion(quaternion)
    if norm == 0.0:
        raise ArgumentError(argument, 'is the zero quaternion, which is no rotation')
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        wanted = ' '.join(f'{value:.6g}' for value in unit)
        raise ArgumentError(argument, f'has the norm {norm:g}, but a rotation has 1: {wanted}')
    return rotation_from_quaternion_xyzw(*unit)
