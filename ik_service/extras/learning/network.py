"""
Guess by a neural network that maps the twelve numbers of a pose to a posture.

It gives the sine and the cosine of every joint that turns, because angles that differ by a full
turn are the same to the pose and should be so to the network. Using it takes nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ik_service.extras.learning.guess import Arrays, check_array, FULL_POSE, Guess
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import sampled_range

Layer = tuple[np.ndarray, np.ndarray]


class NetworkGuess(Guess):
    """
    Guess by a fully connected network with rectified linear units.

    Free axes of a task make no difference to it: it uses the whole pose.

    :ivar layers: for each layer the matrix (inputs, outputs) and the vector (outputs,) of its
        weights, single precision.
    """

    kind: ClassVar[str] = 'network'

    def __init__(self, chain: KinematicChain, layers: Sequence[Layer]) -> None:
        """
        Prepare the network.

        :param layers: matrix and vector of each layer. The first takes the upper 3×4 block of
            T_base_tip, row by row; the last gives a posture as :func:`encode` encodes it.
        """
        self.chain = chain
        self.layers = tuple(
            (np.ascontiguousarray(W, np.float32), np.ascontiguousarray(b, np.float32))
            for W, b in layers
        )
        self._middle, self._half = _middle_and_half(chain)
        self._slides = np.flatnonzero(chain.arrays.turn == 0.0)

    @classmethod
    def from_arrays(
        cls, chain: KinematicChain, arrays: Arrays, task_weights: ArrayLike = FULL_POSE
    ) -> NetworkGuess:
        """
        Restore a guess from saved weights; see :meth:`Guess.from_arrays`.

        :param task_weights: (6,) weights of the pose error; not used.
        """
        layers = []
        inputs = 12
        for k in range(int(check_array(arrays['layers'], ()))):
            W = check_array(arrays[f'matrix{k}'], (inputs, None))
            layers.append((W, check_array(arrays[f'vector{k}'], (W.shape[1],))))
            inputs = W.shape[1]
        if not layers or inputs != 2 * chain.n:
            raise ValueError(f'the last of {len(layers)} layers gives {inputs} numbers')
        return cls(chain, layers)

    def arrays(self) -> Arrays:
        """Return the number of layers and the weights of each by name."""
        arrays = {'layers': np.array(len(self.layers))}
        for k, (W, b) in enumerate(self.layers):
            arrays[f'matrix{k}'], arrays[f'vector{k}'] = W, b
        return arrays

    def guess(self, T: np.ndarray) -> np.ndarray:
        """
        Return the joint vector for one target; see :meth:`Guess.guess`.

        :param T: (4, 4) T_base_tip.
        :returns: (n,) joint vector [rad] or [m].
        """
        return self._postures(T[:3].reshape(12))

    def guess_many(self, targets: np.ndarray) -> np.ndarray:
        """
        Return the joint vectors for many targets; see :meth:`Guess.guess_many`.

        :param targets: (N, 4, 4) T_base_tip.
        :returns: (N, n) joint vectors [rad] or [m].
        """
        return self._postures(targets[:, :3].reshape(-1, 12))

    def _postures(self, poses: np.ndarray) -> np.ndarray:
        """Return postures (…, n) for poses (…, 12)."""
        values = poses.astype(np.float32)
        for W, b in self.layers[:-1]:
            values = values @ W
            values += b
            np.maximum(values, 0.0, out=values)
        W, b = self.layers[-1]
        return self._decode(values @ W + b)

    def _decode(self, values: np.ndarray) -> np.ndarray:
        """Return postures within limits for outputs of the network; inverse of :func:`encode`."""
        n = self.chain.n
        offset = np.arctan2(values[..., :n], values[..., n:])
        if self._slides.size:
            offset[..., self._slides] = values[..., self._slides]
        postures = self._middle + self._half * offset
        # Two calls of ufuncs take a fifth of the time of np.clip.
        np.maximum(postures, self.chain.lower, out=postures)
        return np.minimum(postures, self.chain.upper, out=postures)


def encode(chain: KinematicChain, postures: np.ndarray) -> np.ndarray:
    """
    Return the outputs that the network is trained to give for postures.

    :param postures: (N, n) [rad] or [m].
    :returns: (N, 2n): for a joint that turns the sine and, n columns on, the cosine of its angle
        from the middle; for another the distance from the middle in shares of half its range, and
        a zero.
    """
    middle, half = _middle_and_half(chain)
    turns = chain.arrays.turn > 0.0
    offset = (postures - middle) / half
    sines = np.where(turns, np.sin(offset), offset)
    return np.concatenate([sines, np.where(turns, np.cos(offset), 0.0)], axis=1)


def _middle_and_half(chain: KinematicChain) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of each joint's range, and half its range or 1 for those that turn."""
    lower, upper = sampled_range(chain)
    half = np.where(upper > lower, 0.5 * (upper - lower), 1.0)
    return chain.mid_range(), np.where(chain.arrays.turn > 0.0, 1.0, half)
