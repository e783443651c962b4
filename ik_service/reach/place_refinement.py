"""Search around good places for a base for better ones."""

from __future__ import annotations

import numpy as np

from ik_service.reach.base_scores import BaseScores
from ik_service.reach.place_task import Task

_ROUNDS = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125)  # shares of the first step


def refine(task: Task, places: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Move places to where they are better, by a pattern search along x, y, z and yaw.

    :param task: arm, region and poses.
    :param places: (S, 4) x, y, z [m] and yaw [rad].
    :param steps: (4,) first step along each [m] and [rad].
    :returns: the places (S, 4), and their numbers, the best first.
    """
    free = np.flatnonzero(task.region.upper > task.region.lower)
    scores, q = task.estimate(places)
    for share in _ROUNDS if len(free) else ():
        trials = _neighbours(task, places, share * steps, free)
        count = trials.shape[1]
        flat = trials.reshape(-1, 4)
        seeds = np.repeat(q, count, axis=0).reshape(-1, q.shape[-1])
        tried = task.estimate(flat, seeds)
        places, scores, q = _better((places, scores, q), (flat, *tried))
    return places, scores.order()


_State = tuple[np.ndarray, BaseScores, np.ndarray]


def _neighbours(task: Task, places: np.ndarray, steps: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the places a step to either side along each axis (S, 2 a, 4), inside the region."""
    moves = np.vstack([np.diag(steps)[free], -np.diag(steps)[free]])
    moved = task.region.bounded((places[:, None] + moves).reshape(-1, 4))
    outside = ~task.region.contains(moved)
    moved[outside] = np.repeat(places, len(moves), axis=0)[outside]
    return moved.reshape(len(places), -1, 4)


def _better(present: _State, trials: _State) -> _State:
    """Return the best of each place and its neighbours."""
    count = len(present[0])
    places, q = (np.concatenate([present[k], trials[k]]) for k in (0, 2))
    scores = BaseScores.joined([present[1], trials[1]])
    neighbours = np.arange(count, len(places)).reshape(count, -1)
    groups = np.hstack([np.arange(count)[:, None], neighbours])
    chosen = np.array([group[scores.take(group).order()[0]] for group in groups])
    return places[chosen], scores.take(chosen), q[chosen]
