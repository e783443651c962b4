"""Estimate of what a survey misses, from a sample that is searched for thoroughly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SAMPLE = 3000
"""Targets that are searched for once more, at most."""


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
    numbers = np.flatnonzero(given_up)
    if len(numbers) > SAMPLE:
        numbers = np.random.default_rng(0).choice(numbers, SAMPLE, replace=False, shuffle=False)
    return np.sort(numbers)
