"""What the answers of a survey say about its positions, read part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ik_service.extras.reach.postures import PostureMeasure
from ik_service.extras.scale.result_store import ResultStore
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.result import IkStatus

_ROWS = 200_000  # that are read at a time
_SUCCESS, _IN_COLLISION = IkStatus.SUCCESS.number, IkStatus.IN_COLLISION.number


class Summary(NamedTuple):
    """
    What is known of P positions with W poses at each.

    :ivar reached: (P, W) bool, reached within the joint limits.
    :ivar free: (P, W) bool, and without a collision.
    :ivar manipulability: (P,) the largest of the free answers; NaN where there is none.
    :ivar limit_distance: (P,) likewise.
    """

    reached: np.ndarray
    free: np.ndarray
    manipulability: np.ndarray
    limit_distance: np.ndarray


def summary(chain: KinematicChain, answers: ResultStore, width: int) -> Summary:
    """
    Sum up answers; at no time are all of them in memory.

    :param chain: the chain.
    :param answers: those of the poses; the poses of a position follow each other.
    :param width: poses at a position.
    """
    measure = PostureMeasure(chain)
    count = answers.size // width
    reached, free = np.empty((2, count, width), bool)
    best = np.full((2, count), np.nan)
    for first, last in _parts(count, width):
        rows = first * width, last * width
        status = answers.read('status', *rows)
        free[first:last] = (status == _SUCCESS).reshape(-1, width)
        reached[first:last] = (status == _IN_COLLISION).reshape(-1, width)
        q = answers.read('q', *rows)[status == _SUCCESS]
        at = first + np.flatnonzero(status == _SUCCESS) // width
        for row, values in zip(
            best, (measure.manipulability(q), measure.limit_distance(q)), strict=True
        ):
            np.fmax.at(row, at, values)
    reached |= free
    return Summary(reached, free, *best)


def _parts(count: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield the first position of parts, and the one after their last."""
    size = max(1, _ROWS // width)
    for first in range(0, count, size):
        yield first, min(first + size, count)
