"""
Guesses for solves without a seed: their interface, and loading by ``IkOptions.seed_source``.

Guesses are an optional part: a solver takes any object that implements :class:`SeedGuess`, and the
sources that ``IkOptions.seed_source`` names are looked up when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions


class SeedGuess(Protocol):
    """Guess of joint vectors for a chain; several threads may use it at the same time."""

    def guess(self, T: np.ndarray) -> np.ndarray:
        """
        Return the joint vector at which to start the search for one target.

        :param T: (4, 4) T_base_tip.
        :returns: (n,) joint vector [rad] or [m].
        """

    def guess_many(self, targets: np.ndarray) -> np.ndarray:
        """
        Return the joint vectors at which to start the searches for many targets.

        :param targets: (N, 4, 4) T_base_tip.
        :returns: (N, n) joint vectors [rad] or [m].
        """


SeedLoader = Callable[[KinematicChain, str, str | None, tuple[float, ...]], SeedGuess]
"""Function of a chain, the source's name, a file or None, and task weights (6,)."""

# Written as entry points: the module of the loader is imported when it is needed.
_LOADERS = {
    'table': 'ik_service.extras.learning.guess_file:load_guess',
    'network': 'ik_service.extras.learning.guess_file:load_guess',
}


def load_seed_guess(chain: KinematicChain, options: IkOptions) -> SeedGuess:
    """
    Load the guess that the options ask for.

    :param chain: the chain.
    :param options: the options; ``seed_source``, other than "given", ``seed_file``
        and ``task_weights`` count.
    :returns: the guess.
    :raises SeedFileError: it is not there; the message names the command that makes it.
    """
    module, _, name = _LOADERS[options.seed_source].partition(':')
    load: SeedLoader = getattr(import_module(module), name)
    return load(chain, options.seed_source, options.seed_file, options.task_weights)
