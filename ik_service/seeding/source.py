"""The way in: the learned guess of a chain, by name."""

from __future__ import annotations

import os
from pathlib import Path

from numpy.typing import ArrayLike

from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.kinematics.chain import KinematicChain
from ik_service.seeding.files import default_path, new_file, read, train_command, write
from ik_service.seeding.guess import FULL_POSE, Guess
from ik_service.seeding.network import NetworkGuess
from ik_service.seeding.table import TableGuess

_GUESSES: dict[str, type[Guess]] = {guess.kind: guess for guess in (TableGuess, NetworkGuess)}
KINDS = tuple(_GUESSES)


def load_guess(
    chain: KinematicChain,
    kind: str,
    path: str | os.PathLike[str] | None = None,
    task_weights: ArrayLike = FULL_POSE,
) -> Guess:
    """
    Load the learned first guess of a chain.

    :param chain: the chain.
    :param kind: ``table`` or ``network``.
    :param path: its file; by default the one that ``ik_train`` makes beside the URDF.
    :param task_weights: (6,) weights of the pose error, as in the options of a solver: where the
        orientation does not count at all, the table is searched by position alone, and the other
        way round.
    :raises ArgumentError: there is no such kind, or the path is left out though the robot was not
        read from a file.
    :raises SeedFileError: the file is missing, damaged, or of another chain; the message names
        the command that makes it.
    :raises MissingExtraError: a library that it takes is not installed.
    """
    guess = _guess(kind)
    path = default_path(chain, kind) if path is None else Path(path)
    arrays = read(path, chain, kind)
    try:
        return guess.from_arrays(chain, arrays, task_weights)
    except (KeyError, ValueError, TypeError) as error:
        remedy = train_command(chain, kind, path)
        raise SeedFileError(path, f'is damaged ({error}); make it with: {remedy}') from error


def train_guess(
    chain: KinematicChain,
    kind: str,
    samples: int,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Guess:
    """
    Learn the first guess of a chain and save it.

    :param chain: the chain.
    :param kind: ``table`` or ``network``.
    :param samples: random postures to learn from.
    :param path: its file; by default beside the URDF, where :func:`load_guess` finds it.
    :param seed: of the random postures.
    :raises ArgumentError: there is no such kind, or the path is left out though the robot was not
        read from a file.
    :raises SeedFileError: the file cannot be written; this is found out before the training.
    :raises MissingExtraError: a library that it takes is not installed.
    :raises TrainingError: a network cannot be trained for this chain.
    """
    learner = _guess(kind)
    with new_file(default_path(chain, kind) if path is None else Path(path)) as file:
        guess = learner.trained(chain, samples, seed)
        write(file, guess)
    return guess


def _guess(kind: str) -> type[Guess]:
    if kind not in _GUESSES:
        raise ArgumentError('kind', f'has to be one of {", ".join(KINDS)}, not {kind!r}')
    return _GUESSES[kind]
