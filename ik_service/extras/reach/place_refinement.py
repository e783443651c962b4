"""Search around good places for a base for better ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.extras.reach.base_scores import BaseScores
from ik_service.extras.reach.place_task import Task

_ROUNDS = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125)  # shares of the first step


class Refined(NamedTuple):
    """
    Places, their scores, and the postures there.

    :ivar places: (S, 4) x, y, z [m] and yaw [rad].
    :ivar scores: of the places.
    :ivar q: (S, K, n) [rad] or [m].
    """

    places: np.ndarray
    scores: BaseScores
    q: np.ndarray


def refine(task: Task, places: np.ndarray, q: np.ndarray, steps: np.ndarray) -> Refined:
    """
    Move places to where they are better, by a pattern search along x, y, z and yaw.

    :param task: arm, region and poses.
    :param places: (S, 4) x, y, z [m] and yaw [rad].
    :param q: (S, K, n) postures at which the searches start [rad] or [m].
    :param steps: (4,) first step along each [m] and [rad].
    :returns: as many places.
    """
    free = np.flatnonzero(task.region.upper > task.region.lower)
    scores, q = task.estimate(places, q.reshape(-1, q.shape[-1]))
    for share in _ROUNDS if len(free) else ():
        trials = _neighbours(task, places, share * steps, free)
        count = trials.shape[1]
        flat = trials.reshape(-1, 4)
        seeds = np.repeat(q, count, axis=0).reshape(-1, q.shape[-1])
        tried = task.estimate(flat, seeds)
        places, scores, q = _better(Refined(places, scores, q), Refined(flat, *tried))
    return Refined(places, scores, q)


def _neighbours(task: Task, places: np.ndarray, steps: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the places a step to either side along each axis (S, 2 a, 4), inside the region."""
    moves = np.vstack([np.diag(steps)[free], -np.diag(steps)[free]])
    moved = task.region.bounded((places[:, None] + moves).reshape(-1, 4))
    outside = ~task.region.contains(moved)
    moved[outside] = np.repeat(places, len(moves), axis=0)[outside]
    return moved.reshape(len(places), -1, 4)


def _better(present: Refined, trials: Refined) -> Refined:
    """Return the best of each place and its neighbours."""
    count = len(present.places)
    places = np.concatenate([present.places, trials.places])
    scores = BaseScores.joined([present.scores, trials.scores])
    neighbours = np.arange(count, len(places)).reshape(count, -1)
    groups = np.hstack([np.arange(count)[:, None], neighbours])
    chosen = np.array([group[scores.take(group).order()[0]] for group in groups])
    return Refined(
        places[chosen], scores.take(chosen), np.concatenate([present.q, trials.q])[chosen]
    )
