"""Solutions that differ by full turns of joints."""

from __future__ import annotations

from itertools import product
import math

import numpy as np

from ik_service.kinematics.chain_arrays import ChainArrays


def with_full_turns(
    chain: ChainArrays, solutions: np.ndarray, most: int
) -> tuple[np.ndarray, bool]:
    """
    Return solutions with all others that full turns within the limits make of them.

    Joints that lack a limit have no end of turns; they stay where they are.

    :param chain: limits and turns of the variables.
    :param solutions: (k, n) [rad] or [m].
    :param most: number of solutions after which no more are made.
    :returns: (m, n), and whether these are all.
    """
    made: list[tuple[float, ...]] = []
    for solution in solutions:
        for turned in product(*map(_turned, solution, chain.lower, chain.upper, chain.turn)):
            if len(made) > most:
                return np.array(made), False
            made.append(turned)
    return np.array(made).reshape(-1, solutions.shape[1]), True


def _turned(value: float, lower: float, upper: float, turn: float) -> list[float]:
    """Return the positions of a joint that full turns lead to, within its limits."""
    if turn == 0.0 or math.isinf(upper - lower):
        return [value]
    first, last = math.ceil((lower - value) / turn), math.floor((upper - value) / turn)
    return [value + k * turn for k in range(first, last + 1)] or [value]
