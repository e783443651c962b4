"""Solutions that differ by full turns of joints."""

from __future__ import annotations

from itertools import product
import math

import numpy as np

from ik_service.kinematics.chain_arrays import ChainArrays
from ik_service.kinematics.search_range import FARTHEST_LIMIT


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
        joints = zip(solution, chain.lower, chain.upper, chain.turn, strict=True)
        for turned in product(*(_turned(*joint, most) for joint in joints)):
            if len(made) > most:
                return np.array(made), False
            made.append(turned)
    return np.array(made).reshape(-1, solutions.shape[1]), True


def _turned(value: float, lower: float, upper: float, turn: float, most: int) -> list[float]:
    """Return positions of a joint that full turns lead to, within its limits; not too many."""
    if turn == 0.0 or not (lower >= -FARTHEST_LIMIT and upper <= FARTHEST_LIMIT):
        return [value]
    first, last = math.ceil((lower - value) / turn), math.floor((upper - value) / turn)
    # By rounding, a position on a limit may seem to have none.
    return [value + k * turn for k in range(first, min(last, first + most) + 1)] or [value]
