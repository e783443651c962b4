"""Poses of a grid of positions, each with every orientation."""

from __future__ import annotations

import numpy as np

from ik_service.jit.compile import kernel


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
