"""Training of learned guesses."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path

from ik_service.extras.learning.guess import Guess
from ik_service.extras.learning.guess_file import default_path, replaced_file, write_guess
from ik_service.extras.learning.loading import guess_class
from ik_service.extras.learning.network import NetworkGuess
from ik_service.extras.learning.network_training import train_network
from ik_service.extras.learning.table import train_table
from ik_service.kinematics.chain import KinematicChain

Trainer = Callable[[KinematicChain, int, int], Guess]
"""Trains a guess for a chain: number of random postures, seed of the random numbers."""


def train_guess(
    chain: KinematicChain,
    kind: str,
    samples: int,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Guess:
    """
    Train a guess for a chain and save it.

    :param chain: the chain.
    :param kind: ``table`` or ``network``.
    :param samples: number of random postures to learn from.
    :param path: its file; by default beside the URDF, where it is found when it is loaded.
    :param seed: seed of the random postures.
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
