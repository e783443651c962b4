"""
Smoothing of dense paths, whose rows are many for what the joints move.

Self-motions reach over a number of rows in a round. So a dense path is smoothed first with few of
its rows, on which the joints may move so much farther from one to the next; the others follow on
curves between these.
"""

from __future__ import annotations

import numpy as np

from ik_service.solvers.path.problem import PathProblem
from ik_service.solvers.path.smoothing import Smoothing

# Median motion from one of the few rows to the next [rad] or [m], and the least number of rows
# from one to the next, and of rows left, for which it is worth while.
_STEP = 0.05
_LEAST_STRIDE = 4
_LEAST_ROWS = 50
# How far rows may be from their targets on the curves [rad] or [m].
_ASTRAY = 0.1
# Strides around faulty rows within which the path is left as it was, one try after the other.
_REACHES = (1, 3, 10)


def smoothed(problem: PathProblem, way: np.ndarray, held: np.ndarray) -> np.ndarray:
    """
    Return a path without the self-motions that are not needed.

    :param problem: the path's targets and bounds.
    :param way: (k, n) a path through the first of them without a jump [rad] or [m].
    :param held: (k,) bool: rows that stay.
    """
    steps = np.abs(np.diff(way, axis=0)).max(axis=1, initial=0.0)
    stride = int(_STEP / max(float(np.median(steps)), 1e-9)) if len(steps) else 0
    stride = min(stride, len(way) // _LEAST_ROWS)
    while stride >= _LEAST_STRIDE and problem.redundancy > 0 and not problem.out_of_time:
        found = _smoothed_coarsely(problem, way, held, stride)
        if found is not None:
            way = found
            break
        stride //= 2
    return Smoothing(problem, way, held).run()


def _smoothed_coarsely(
    problem: PathProblem, way: np.ndarray, held: np.ndarray, stride: int
) -> np.ndarray | None:
    """Return a path with the self-motions of one row in a stride; None if it fails."""
    rows = np.unique(np.append(np.arange(0, len(way), stride), [len(way) - 1]))
    thinned, kept = problem.thinned(rows, stride), held
    for reach in _REACHES:
        few = Smoothing(thinned, np.ascontiguousarray(way[rows]), kept[rows]).run()
        found = _between(rows, few, len(way))
        if problem.limited:
            np.clip(found, problem.chain.lower, problem.chain.upper, out=found)
        found[kept] = way[kept]
        faulty = _faulty(problem, found)
        if not faulty.any():
            shorter = _cost(found) < _cost(way)
            return found if shorter else None
        near = np.convolve(faulty, np.ones(2 * reach * stride + 1))
        kept = kept | _whole(near[reach * stride : -reach * stride] > 0.5, rows)
    return None


def _faulty(problem: PathProblem, q: np.ndarray) -> np.ndarray:
    """Bring rows to their targets, in place; returns which fail, collide or jump, (k,) bool."""
    fine = problem.project(q, problem.targets[: len(q)], _ASTRAY)
    problem.refuse_colliding(q, fine)
    jumps = np.abs(np.diff(q, axis=0)).max(axis=1) > problem.bound
    return ~fine | np.append(jumps, False) | np.append(False, jumps)


def _whole(flags: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return flags (k,) set in all of each part between two rows in which some are."""
    parts = np.maximum.reduceat(flags, rows[:-1])
    whole = np.append(np.repeat(parts, np.diff(rows)), flags[-1])
    whole[rows[1:]] |= parts
    return whole


def _cost(q: np.ndarray) -> float:
    return float(np.square(np.diff(q, axis=0)).sum())


def _between(rows: np.ndarray, few: np.ndarray, count: int) -> np.ndarray:
    """
    Return cubics between some rows of a path, with slopes from their neighbours.

    :param rows: (m,) numbers of the rows, from 0 to ``count`` − 1.
    :param few: (m, n) the rows.
    :param count: number of all rows.
    :returns: (count, n).
    """
    slopes = np.gradient(few, rows, axis=0)
    every = np.arange(count)
    segment = np.minimum(np.searchsorted(rows, every, side='right'), len(rows) - 1) - 1
    h = np.diff(rows)[segment][:, None]
    t = (every - rows[segment])[:, None] / h
    ahead = few[segment + 1] - few[segment]
    bow = (1.0 - t) * (h * slopes[segment] - ahead) - t * (h * slopes[segment + 1] - ahead)
    return np.ascontiguousarray(few[segment] + t * ahead + t * (1.0 - t) * bow)
