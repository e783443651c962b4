"""What the answers of a survey say about its positions, read part by part."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.reach.postures import PostureMeasure
from ik_service.scale.result_store import ResultStore
from ik_service.solvers.result import IkStatus

_ROWS = 200_000  # that are held at a time
_SUCCESS = IkStatus.SUCCESS.number


def best_measures(
    chain: KinematicChain, answers: ResultStore, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the best measures of the successful answers at each position.

    :param chain: the chain.
    :param answers: those of the poses, the ``width`` of a position together.
    :param width: poses at a position.
    :returns: (P,) the largest manipulability, and (P,) the largest distance from the limits, as
        :class:`~ik_service.reach.postures.PostureMeasure` has them; NaN where no answer is one.
    """
    measure = PostureMeasure(chain)
    best = np.full((2, answers.size // width), -np.inf)
    for first, last in _parts(answers.size, width):
        solved = np.flatnonzero(answers.read('status', first, last) == _SUCCESS)
        q = answers.read('q', first, last)[solved]
        for row, of in zip(best, (measure.manipulability, measure.limit_distance), strict=True):
            np.maximum.at(row, (first + solved) // width, of(q))
    best[np.isinf(best)] = np.nan
    return best[0], best[1]


def _parts(count: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of parts, and the one after their last; positions stay whole."""
    size = max(1, _ROWS // width) * width
    for first in range(0, count, size):
        yield first, min(first + size, count)
