"""Random postures that guesses are learned from, and their poses and Jacobians."""

from __future__ import annotations

import numpy as np

from ik_service.extras.learning.table_kernels import linearise
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import sampled_range

# Postures that are drawn for each one that is kept, and how many are looked at together.
_DRAWS = 3
_BLOCK = 16_384
# Keeps the determinant of J Jᵀ above zero where the chain has fewer than six freedoms.
_DAMPING = 1e-3


def sample_postures(chain: KinematicChain, count: int, seed: int) -> np.ndarray:
    """
    Draw postures uniformly from :func:`sampled_range`.

    :param chain: the chain.
    :param count: how many.
    :param seed: of the random numbers; the same one gives the same postures.
    :returns: (count, n) [rad] or [m].
    """
    return np.random.default_rng(seed).uniform(*sampled_range(chain), (count, chain.n))


def manipulable_postures(chain: KinematicChain, count: int, seed: int) -> np.ndarray:
    """
    Draw three times as many postures and return those with the largest manipulability.

    From a posture far from singular ones, a search reaches more of the poses around. The measure
    is Yoshikawa's (1985), det J Jᵀ, with a little added to the squared singular values.

    :param chain: the chain.
    :param count: how many.
    :param seed: of the random numbers; the same one gives the same postures.
    :returns: (count, n) [rad] or [m].
    """
    postures = sample_postures(chain, _DRAWS * count, seed)
    measure = np.empty(len(postures))
    for first in range(0, len(postures), _BLOCK):
        rows = linearisation(chain, postures[first : first + _BLOCK])[1]
        gram = np.swapaxes(rows, 1, 2) @ rows + _DAMPING * np.eye(6)
        measure[first : first + _BLOCK] = np.linalg.slogdet(gram)[1]
    return postures[np.argsort(-measure, kind='stable')[:count]]


def linearisation(chain: KinematicChain, postures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frames and Jacobians of many postures.

    :param chain: the chain.
    :param postures: (N, n) [rad] or [m], contiguous.
    :returns: (N, 12) x, y and z axes, then origin, of the frames behind the last joint; (N, n, 6)
        Jacobians, one row a variable.
    """
    frames, rows = np.empty((len(postures), 12)), np.empty((*postures.shape, 6))
    axes = np.empty((len(chain.arrays.variables), 6))
    linearise(chain.arrays, postures, axes, frames, rows)
    return frames, rows


def tip_poses(chain: KinematicChain, postures: np.ndarray) -> np.ndarray:
    """
    Return the poses of the tip at many postures.

    :param chain: the chain.
    :param postures: (N, n) [rad] or [m].
    :returns: (N, 4, 4) T_base_tip.
    """
    return np.array([chain.forward(q) for q in postures]).reshape(-1, 4, 4)
