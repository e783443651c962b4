"""Search around good places for a base for better ones."""

from __future__ import annotations

import numpy as np

from ik_service.reach.base_scores import BaseScores, Task

_ROUNDS = (1.0, 1.0, 0.5, 0.5, 0.25, 0.25)  # steps of the rounds, as shares of the first one


def refine(task: Task, places: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Move places to where they are better, by a pattern search along x, y, z and yaw.

    :param task: arm, region and poses.
    :param places: (S, 4) x, y, z [m] and yaw [rad].
    :param steps: (4,) first step along each [m] and [rad].
    :returns: the places (S, 4), and their numbers, the best first.
    """
    free = np.flatnonzero(task.region.upper > task.region.lower)
    batch = task.solve(places, collisions=True)
    scores, q = task.scores_of(batch), _by_place(batch.q, len(places))
    for share in _ROUNDS if len(free) else ():
        trials = _neighbours(task, places, share * steps, free)
        count = trials.shape[1]
        flat = trials.reshape(-1, 4)
        seeds = np.repeat(q, count, axis=0).reshape(-1, q.shape[-1])
        tried = task.solve(flat, seeds, collisions=True)
        places, scores, q = _better(
            (places, scores, q),
            (flat, task.scores_of(tried), _by_place(tried.q, len(flat))),
        )
    return places, scores.order()


_State = tuple[np.ndarray, BaseScores, np.ndarray]


def _neighbours(
    task: Task, places: np.ndarray, steps: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Return the places a step to either side along each axis (S, 2 a, 4), inside the region."""
    moves = np.vstack([np.diag(steps)[free], -np.diag(steps)[free]])
    moved = task.region.bounded((places[:, None] + moves).reshape(-1, 4))
    outside = ~task.region.contains(moved)
    moved[outside] = np.repeat(places, len(moves), axis=0)[outside]
    return moved.reshape(len(places), -1, 4)


def _better(present: _State, trials: _State) -> _State:
    """Return the best of each place and its neighbours."""
    places, scores, q = present
    others, other_scores, other_q = trials
    count = len(others) // len(places)
    chosen = []
    for number in range(len(places)):
        own = slice(count * number, count * (number + 1))
        group = BaseScores(
            *(np.append(getattr(scores, name)[number], getattr(other_scores, name)[own])
              for name in ('share', 'quality', 'miss'))
        )  # fmt: skip
        first = int(group.order()[0])
        chosen.append(number if first == 0 else len(places) + own.start + first - 1)
    picked = np.array(chosen)
    return (
        np.concatenate([places, others])[picked],
        BaseScores(
            *(np.concatenate([getattr(scores, name), getattr(other_scores, name)])[picked]
              for name in ('share', 'quality', 'miss'))
        ),
        np.concatenate([q, other_q])[picked],
    )  # fmt: skip


def _by_place(q: np.ndarray, count: int) -> np.ndarray:
    return q.reshape(count, -1, q.shape[-1])
