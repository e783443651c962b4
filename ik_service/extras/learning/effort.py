"""
Measurement of the effort of a solver with and without a guess, and of guess times.

Times are those of the processor in this thread, so that other programs have no part in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import thread_time

import numpy as np

from ik_service.extras.learning.guess import Guess
from ik_service.solvers.solver import Solver


@dataclass(frozen=True)
class Effort:
    """
    Effort of a solver for some targets; all but the shares are means over them.

    :ivar iterations: steps over all searches.
    :ivar searches: searches started.
    :ivar first_search: share of the targets that the first search reached.
    :ivar solved: share of the targets that were reached.
    :ivar call_time: time of the call from Python, with that of the guess [s].
    """

    iterations: float
    searches: float
    first_search: float
    solved: float
    call_time: float


def measure_effort(solver: Solver, targets: np.ndarray) -> Effort:
    """
    Measure the effort of solving targets from the solver's own starting postures.

    :param solver: the solver; its options say where the searches start.
    :param targets: (N, 4, 4) T_base_tip, N at least 1.
    """
    solver.solve(targets[0])  # compiles, or loads the compiled code
    results, times = [], []
    for T in targets:
        began = thread_time()
        results.append(solver.solve(T))
        times.append(thread_time() - began)
    return Effort(
        iterations=_mean(result.iterations for result in results),
        searches=_mean(result.searches for result in results),
        first_search=_mean(result.success and result.searches == 1 for result in results),
        solved=_mean(result.success for result in results),
        call_time=_mean(times),
    )


def mean_guess_time(guess: Guess, targets: np.ndarray) -> float:
    """
    Return the mean time of a guess [s].

    :param guess: the guess.
    :param targets: (N, 4, 4) T_base_tip, N at least 1.
    """
    guess.guess(targets[0])
    times = []
    for T in targets:
        began = thread_time()
        guess.guess(T)
        times.append(thread_time() - began)
    return _mean(times)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
