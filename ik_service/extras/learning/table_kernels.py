"""
Kernels of the table guess: choice among neighbours.

The frame that is compared is the one behind the chain's last joint, as in the solvers' loop.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import copy_vector, last_frame
from ik_service.kinematics.pose_error import frame_error


@kernel
def choose_neighbours(
    chain, weights, goals, neighbours, postures, frames, corrections, axes, scratch, q, guesses
):
    """
    Write for each goal the neighbour that is closest to it after a first-order correction.

    :param chain: :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    :param weights: (6,) square roots of the task weights.
    :param goals: (M, 12) where the frame behind the last joint shall be.
    :param neighbours: (M, k) rows of the table.
    :param postures: (N, n) the table's joint vectors.
    :param frames: (N, 12) the table's frames.
    :param corrections: (N, n, 6) joint motion for a weighted twist at each posture.
    :param axes: (m, 6) scratch.
    :param scratch: (18,) scratch.
    :param q: (n,) scratch.
    :param guesses: (M, n) out: the corrected joint vectors, within the limits.
    """
    frame = scratch[:12]
    error = scratch[12:18]
    for m in range(goals.shape[0]):
        least = math.inf
        for j in range(neighbours.shape[1]):
            row = neighbours[m, j]
            _weighted_error(frames[row], goals[m], weights, error)
            _correct(chain, postures[row], corrections[row], error, q)
            last_frame(chain, q, axes, frame)
            cost = _weighted_error(frame, goals[m], weights, error)
            if cost < least:
                least = cost
                copy_vector(q, guesses[m])


@inner_kernel
def _weighted_error(frame, goal, weights, error):
    """Compute the weighted pose error; return its square."""
    frame_error(frame, goal, error)
    square = 0.0
    for i in range(6):
        error[i] *= weights[i]
        square += error[i] * error[i]
    return square


@inner_kernel
def _correct(chain, posture, correction, error, q):
    """Move a posture by a correction for a weighted error, within the limits."""
    for i in range(q.shape[0]):
        value = posture[i]
        for j in range(6):
            value += correction[i, j] * error[j]
        q[i] = min(max(value, chain.lower[i]), chain.upper[i])
