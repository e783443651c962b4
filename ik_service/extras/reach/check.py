"""Estimate of what a survey misses, from a sample that is searched for thoroughly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SAMPLE = 3000
"""Targets that are searched for once more, at most."""

_PART = 1_000_000  # targets that are looked through at a time


@dataclass(frozen=True)
class Check:
    """
    Sample of the targets that were given up, searched for more thoroughly.

    :ivar tried: targets that were given up, and searched for once more.
    :ivar found: those of them that were reached then.
    :ivar given_up: how many targets there are that were given up.
    """

    tried: int
    found: int
    given_up: int

    @property
    def missed(self) -> float:
        """
        Estimated number of reachable targets that the survey misses.

        Where the sample has none, this is the number that is not exceeded with 95 % confidence:
        three in place of none were found (the "rule of three").
        """
        if self.tried in (0, self.given_up):
            return float(self.found)
        return (self.found or 3) / self.tried * self.given_up


def sample(given_up: np.ndarray) -> np.ndarray:
    """
    Return which targets are searched for once more; the same ones at every call.

    :param given_up: (N,) bool, the targets that were given up.
    :returns: (k,) their numbers, in ascending order.
    """
    total = int(np.count_nonzero(given_up))
    # Not all numbers first, of which there may be very many.
    rng = np.random.default_rng(0)
    ranks = np.sort(rng.choice(total, min(total, SAMPLE), replace=False, shuffle=False))
    chosen, before = [np.empty(0, int)], 0
    for first in range(0, len(given_up), _PART):
        numbers = first + np.flatnonzero(given_up[first : first + _PART])
        here = slice(*np.searchsorted(ranks, (before, before + len(numbers))))
        chosen.append(numbers[ranks[here] - before])
        before += len(numbers)
    return np.concatenate(chosen)
