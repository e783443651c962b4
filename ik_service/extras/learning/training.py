"""
Training of learned guesses.

A pose has many postures, and a network trained on random ones would learn their mean, which
reaches nothing. So every pose is first solved from the middle of the limits: the posture a search
finds from there is nearly a function of the pose. Where that search fails, and where neighbouring
poses came out in different branches, the trained network helps: the poses are solved once more
from its own guesses, which agree with each other better, and it is trained on with these.
"""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
from typing import TYPE_CHECKING
import warnings

import numpy as np

from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.extras.learning.guess import Guess
from ik_service.extras.learning.guess_file import (
    default_path,
    guess_class,
    replaced_file,
    write_guess,
)
from ik_service.extras.learning.network import encode, Layer, NetworkGuess
from ik_service.extras.learning.table import sample_postures, train_table
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tip_poses import tip_poses
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.options import IkOptions

if TYPE_CHECKING:
    from sklearn.neural_network import MLPRegressor


_HIDDEN = (128, 128)
_EPOCHS = 30
# Of the first and the second round; the steps of the second have to settle.
_LEARNING_RATES = (2e-3, 5e-4)
_BATCH = 256
# Poses that have to be solved, at least, for a network to be worth its name.
_FEWEST = 50

Trainer = Callable[[KinematicChain, int, int], Guess]
"""Trains a guess for a chain: number of random postures, seed of the random numbers."""


class TrainingError(IkServiceError):
    """Failure to train a network for a chain."""


def train_network(chain: KinematicChain, samples: int, seed: int = 0) -> NetworkGuess:
    """
    Train a network for a chain.

    :param samples: number of random poses to train with.
    :param seed: seed of the random postures and of the network's weights.
    :raises MissingExtraError: scikit-learn is not installed.
    :raises TrainingError: hardly any of the poses could be solved.
    """
    regressor = _regressor(seed)
    targets = tip_poses(chain, sample_postures(chain, samples, seed))
    inputs = targets[:, :3].reshape(-1, 12)
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread[spread < 1e-9] = 1.0  # as in the plane, where some numbers of a pose never change
    starts = None
    for rate in _LEARNING_RATES:
        solved, postures = _solve(chain, targets, starts)
        regressor.set_params(learning_rate_init=rate)
        _fit(regressor, (inputs[solved] - mean) / spread, encode(chain, postures))
        guess = NetworkGuess(chain, _layers(regressor, mean, spread))
        starts = guess.guess_many(targets)
    return guess


def _solve(
    chain: KinematicChain, targets: np.ndarray, starts: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return which targets one search reaches from their starts, and the postures it finds."""
    batch = solve_ik_batch(chain, targets, starts, options=IkOptions(max_searches=1))
    if batch.success.sum() < min(_FEWEST, len(targets)):
        raise TrainingError(
            f'only {batch.success.sum()} of {len(targets)} random poses of the chain could be '
            'solved in one search: too few to train a network with'
        )
    return batch.success, batch.q[batch.success]


def _regressor(seed: int) -> MLPRegressor:
    try:
        from sklearn.neural_network import MLPRegressor
    except ImportError as error:
        raise MissingExtraError('scikit-learn', 'learn') from error
    return MLPRegressor(
        hidden_layer_sizes=_HIDDEN,
        batch_size=_BATCH,
        max_iter=_EPOCHS,
        n_iter_no_change=_EPOCHS,
        random_state=seed,
        warm_start=True,
    )


def _fit(regressor: MLPRegressor, inputs: np.ndarray, outputs: np.ndarray) -> None:
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    # For matrices as small as these, several threads of BLAS are slower than one.
    with warnings.catch_warnings(), threadpool_limits(1):
        # The number of epochs is chosen, so reaching it is no news.
        warnings.simplefilter('ignore', ConvergenceWarning)
        if len(inputs) < _BATCH:
            regressor.set_params(batch_size=len(inputs))
        regressor.fit(inputs, outputs)


def _layers(regressor: MLPRegressor, mean: np.ndarray, spread: np.ndarray) -> list[Layer]:
    """Return the weights, with the scaling of the inputs made part of the first layer."""
    matrices, vectors = list(regressor.coefs_), list(regressor.intercepts_)
    vectors[0] = vectors[0] - (mean / spread) @ matrices[0]
    matrices[0] = matrices[0] / spread[:, None]
    return list(zip(matrices, vectors, strict=True))


def train_guess(
    chain: KinematicChain,
    kind: str,
    samples: int,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Guess:
    """
    Train a guess for a chain and save it.

    :param kind: ``table`` or ``network``.
    :param samples: number of random postures to learn from.
    :param path: its file; by default beside the URDF, where it is found when it is loaded.
    :raises ArgumentError: there is no such kind, or the path is left out though the robot was not
        read from a file.
    :raises SeedFileError: the file cannot be written; this is found out before the training.
    :raises MissingExtraError: a library that it takes is not installed.
    :raises TrainingError: a network cannot be trained for this chain.
    """
    train = trainer(kind)
    with replaced_file(default_path(chain, kind) if path is None else Path(path)) as file:
        guess = train(chain, samples, seed)
        write_guess(file, guess)
    return guess


def trainer(kind: str) -> Trainer:
    """
    Return the function that trains a kind of guess.

    :param kind: ``table`` or ``network``.
    :raises ArgumentError: there is no such kind.
    """
    return train_network if guess_class(kind) is NetworkGuess else train_table
