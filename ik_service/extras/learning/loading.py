"""Loading of the learned guess of a chain."""

from __future__ import annotations

import os
from pathlib import Path

from numpy.typing import ArrayLike

from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.extras.learning.guess import FULL_POSE, Guess
from ik_service.extras.learning.guess_file import default_path, read_arrays, train_command
from ik_service.extras.learning.network import NetworkGuess
from ik_service.extras.learning.table import TableGuess
from ik_service.kinematics.chain import KinematicChain

_GUESSES: dict[str, type[Guess]] = {guess.kind: guess for guess in (TableGuess, NetworkGuess)}
KINDS = tuple(_GUESSES)


def load_guess(
    chain: KinematicChain,
    kind: str,
    path: str | os.PathLike[str] | None = None,
    task_weights: ArrayLike = FULL_POSE,
) -> Guess:
    """
    Load the learned guess of a chain.

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
    guess = guess_class(kind)
    path = default_path(chain, kind) if path is None else Path(path)
    arrays = read_arrays(path, chain, kind)
    try:
        return guess.from_arrays(chain, arrays, task_weights)
    except (KeyError, ValueError, TypeError) as error:
        remedy = train_command(chain, kind, path)
        raise SeedFileError(path, f'is damaged ({error}); make it with: {remedy}') from error


def guess_class(kind: str) -> type[Guess]:
    """
    Return the class of a kind of guess.

    :param kind: ``table`` or ``network``.
    :raises ArgumentError: there is no such kind.
    """
    if kind not in _GUESSES:
        raise ArgumentError('kind', f'has to be one of {", ".join(KINDS)}, not {kind!r}')
    return _GUESSES[kind]
