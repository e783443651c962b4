"""
Guess from a table of postures: the nearest neighbour of the target, moved by one step.

A k-d tree (Bentley 1975) over the poses of random postures finds a few whose poses are close to
the target. Each is moved by one damped least-squares step towards it, and the one that ends
closest is the guess: the nearest pose is often one that the joint limits keep from the target.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.resources import extra_module
from ik_service.extras.learning import table_kernels
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import sampled_range
from ik_service.kinematics.link_poses import linearised
from ik_service.kinematics.pose_error import check_transforms

# Postures that are drawn for each one that is kept, and how many are compared together.
_DRAWS = 3
_BLOCK = 16_384
# Keeps the determinant of J Jᵀ above zero where the chain has fewer than six freedoms.
_GRAM_DAMPING = 1e-3

# Neighbours that are compared, and the share by which they may be farther away than the nearest
# ones: more neighbours and a smaller share reach few poses more, and take longer.
_NEIGHBOURS = 6
_SLACK = 2.0
# The distance that counts as much as turning by about one radian, in shares of the root mean
# square distance of the poses from their middle.
_LENGTH_IN_SPREADS = 0.4
# Added to the squared singular values of the weighted Jacobian.
_DAMPING = 0.003
FULL_POSE = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def sample_postures(chain: KinematicChain, count: int, seed: int) -> np.ndarray:
    """Draw postures (count, n) uniformly from :func:`sampled_range`, the same for a seed."""
    return np.random.default_rng(seed).uniform(*sampled_range(chain), (count, chain.n))


def manipulable_postures(chain: KinematicChain, count: int, seed: int) -> np.ndarray:
    """
    Draw three times as many postures and return those with the largest manipulability.

    From a posture far from singular ones, a search reaches more of the poses around. The measure
    is Yoshikawa's (1985), det J Jᵀ, with a little added to the squared singular values.

    :param seed: of the random numbers; the same one gives the same postures.
    :returns: (count, n) [rad] or [m].
    """
    postures = sample_postures(chain, _DRAWS * count, seed)
    measure = np.empty(len(postures))
    for first in range(0, len(postures), _BLOCK):
        rows = linearised(chain, postures[first : first + _BLOCK])[1]
        gram = np.swapaxes(rows, 1, 2) @ rows + _GRAM_DAMPING * np.eye(6)
        measure[first : first + _BLOCK] = np.linalg.slogdet(gram)[1]
    return postures[np.argsort(-measure, kind='stable')[:count]]


class TableGuess:
    """
    Guess from a table of postures, searched by pose; several threads may use it at once.

    Poses, Jacobians and tree are made anew from the postures, so they fit the chain as it is.

    :ivar postures: (N, n) joint vectors [rad] or [m], read-only.
    """

    def __init__(
        self, chain: KinematicChain, postures: ArrayLike, task_weights: ArrayLike = FULL_POSE
    ) -> None:
        """
        Prepare the table.

        :param postures: (N, n) joint vectors; those outside the limits are brought inside.
        :param task_weights: (6,) weights of the pose error, as in the options of a solver. Where
            the orientation does not count at all, neighbours are searched by position alone, and
            vice versa.
        :raises MissingExtraError: SciPy is not installed.
        """
        spatial = extra_module('scipy.spatial', 'learn', 'scipy')
        self.chain = chain
        self.postures = np.clip(np.array(postures, np.float64), chain.lower, chain.upper)
        self._weights = _counting(task_weights)
        self._frames, rows = linearised(chain, self.postures)
        self._corrections = _corrections(rows * self._weights)
        self._goal_map = _goal_map(chain.arrays.tip)
        self._scale = _feature_scale(self._weights, self._frames)
        self._neighbours = min(_NEIGHBOURS, len(self.postures))
        self.postures.setflags(write=False)
        self._query = spatial.cKDTree(self._frames * self._scale).query

    def guess(self, T: np.ndarray) -> np.ndarray:
        """Return the joint vector (n,) at which to start for T (4, 4) T_base_tip, floats."""
        return self._choose(T[None])[0]

    def guess_many(self, targets: np.ndarray) -> np.ndarray:
        """Return the joint vectors (N, n) at which to start for (N, 4, 4) T_base_tip, floats."""
        return self._choose(targets) if len(targets) else np.empty((0, self.chain.n))

    def _choose(self, targets: np.ndarray) -> np.ndarray:
        with np.errstate(invalid='ignore'):  # infinity is refused below
            goals = targets[:, :3].reshape(-1, 12) @ self._goal_map
        try:
            _, rows = self._query(goals * self._scale, self._neighbours, _SLACK)
        except ValueError:  # NaN or infinity
            check_transforms(targets, 'targets')
            raise
        rows = rows.reshape(len(goals), -1)  # a single neighbour comes without the axis
        guesses = np.empty((len(goals), self.chain.n))
        self._kernel(*self._arguments(goals, rows, guesses))
        return guesses

    def _arguments(self, goals: np.ndarray, rows: np.ndarray, guesses: np.ndarray) -> tuple:
        arrays = self.chain.arrays
        return (
            arrays, self._weights, goals, rows, self.postures, self._frames, self._corrections,
            np.empty((len(arrays.variables), 6)), np.empty(18), np.empty(self.chain.n), guesses,
        )  # fmt: skip

    @cached_property
    def _kernel(self) -> Callable:
        rows = np.zeros((1, self._neighbours), np.int64)
        example = self._arguments(np.zeros((1, 12)), rows, np.empty((1, self.chain.n)))
        return entry_point(table_kernels.choose_neighbours, *example)


def _corrections(rows: np.ndarray) -> np.ndarray:
    """Damped pseudoinverses Jᵀ (J Jᵀ + λI)⁻¹ (Nakamura and Hanafusa 1986) of rows (N, n, 6)."""
    gram = np.swapaxes(rows, 1, 2) @ rows + _DAMPING * np.eye(6)
    return np.swapaxes(np.linalg.solve(gram, np.swapaxes(rows, 1, 2)), 1, 2).astype(
        np.float32, order='C'
    )


def _goal_map(tip: np.ndarray) -> np.ndarray:
    """Matrix (12, 12): rows of T_base_tip's upper 3×4 block to the frame behind the last joint."""
    c, s = tip
    turn = np.eye(4)
    turn[:2, :2] = [[c, s], [-s, c]]
    return np.kron(turn, np.eye(3))[np.arange(12).reshape(4, 3).T.ravel()]


def _counting(task_weights: ArrayLike) -> np.ndarray:
    """
    Weights of the neighbour search: 1 or 0 for the position, and for the orientation.

    Single axes are not left out: with one free axis of rotation, searches from such neighbours
    took three times as many iterations, as a far neighbour makes errors about the others change.
    """
    weights = np.reshape(np.array(task_weights, np.float64), (2, 3))
    return np.repeat(np.where(weights.any(axis=1), 1.0, 0.0), 3)


def _feature_scale(weights: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return factors for the 12 numbers of a frame whose distances then measure pose errors."""
    length = _LENGTH_IN_SPREADS * float(np.linalg.norm(frames[:, 9:].std(axis=0))) or 1.0
    return np.concatenate([np.repeat(weights[3], 9), weights[:3] / length])
