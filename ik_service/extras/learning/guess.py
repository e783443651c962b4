"""Interface of learned guesses of the joint vector at which a search starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ik_service.kinematics.chain import KinematicChain

Arrays = Mapping[str, np.ndarray]
FULL_POSE = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


class Guess(ABC):
    """
    Learned guess for one chain; several threads may use it at the same time.

    :cvar kind: its name, as in ``IkOptions.seed_source``.
    """

    kind: ClassVar[str]
    chain: KinematicChain

    @classmethod
    @abstractmethod
    def from_arrays(
        cls, chain: KinematicChain, arrays: Arrays, task_weights: ArrayLike = FULL_POSE
    ) -> Guess:
        """
        Restore a guess from the result of :meth:`arrays`.

        :param task_weights: (6,) weights of the pose error, as in the options of a solver.
        :raises KeyError: an array is missing.
        :raises ValueError: an array has another shape or is not finite.
        :raises MissingExtraError: a library that it takes is not installed.
        """

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the learned arrays by name, to be saved."""

    @abstractmethod
    def guess(self, T: np.ndarray) -> np.ndarray:
        """
        Return the joint vector at which to start the search for one target.

        :param T: (4, 4) T_base_tip, floats.
        :returns: (n,) joint vector within the limits [rad] or [m]; not finite for a target that
            is not finite, unless that is refused.
        :raises ArgumentError: when the target is not finite, if it is refused.
        """

    @abstractmethod
    def guess_many(self, targets: np.ndarray) -> np.ndarray:
        """
        Return the joint vectors at which to start the searches for many targets.

        :param targets: (N, 4, 4) T_base_tip, floats.
        :returns: (N, n) joint vectors, each as by :meth:`guess`.
        :raises ArgumentError: when a target is not finite, if it is refused.
        """


def check_array(array: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    """
    Return an array of a file as doubles, if it has the shape it should have.

    :param shape: required shape; None for any length but 0.
    :raises ValueError: it has another shape, is empty, or holds something else than finite
        numbers.
    """
    values = np.asarray(array, np.float64)
    fits = len(values.shape) == len(shape) and all(
        size == wanted if wanted is not None else size > 0
        for size, wanted in zip(values.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f'an array has the shape {values.shape}')
    if not np.isfinite(values).all():
        raise ValueError('an array holds NaN or infinity')
    return values
