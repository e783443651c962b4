"""
Smoothing of dense paths, whose rows are many for what the joints move.

Self-motions reach over a number of rows in a round. So a dense path is smoothed first with few of
its rows, on which the joints may move so much farther from one to the next; the others follow on
curves between these.

What is lowered is Σ‖q(i+1) − q(i)‖² + ℓ² Σ‖q(i+1) − 2 q(i) + q(i−1)‖²: the path gets short, and
bends over ℓ rows. In each round this is a quadratic problem in the null spaces of all rows, whose
banded system is solved exactly; then every row is brought back to its target. Where a row does
not come back, or would collide or jump, it and its neighbours are damped.
"""

from __future__ import annotations

import numpy as np

from ik_service.paths.search.problem import PathProblem
from ik_service.paths.search.redundancy import null_spaces, solve_in_null_spaces

# Rounds, and solutions of the system, at most.
_ROUNDS = 25
_SOLUTIONS = 80
# Rows over which a path bends, as a share of its rows, and at most.
_BEND = 0.005
_LARGEST_BEND = 10.0
# Distance from a limit at which it begins to push [rad] or [m], and how much.
_MARGIN = 0.02
_PUSH = 0.03
# Damping at first, the factors by which it grows where a row does not come back and falls
# otherwise, and that of rows that stay.
_DAMPING = 1e-4
_GROWTH = 30.0
_FALL = 0.1
_HELD = 1e9
# Largest motion of a joint in a round [rad] or [m]; share that a round has to win.
_LONGEST = 0.3
_PROGRESS = 0.003


class Smoothing:
    """
    Smoothing of one path.

    :param problem: the path's targets and bounds.
    :param q: (k, n) a path through the first of them without a jump [rad] or [m]; overwritten.
    :param held: (k,) bool: rows that stay.
    """

    def __init__(self, problem: PathProblem, q: np.ndarray, held: np.ndarray) -> None:
        self._problem, self.q, self._held = problem, q, held
        self._targets = problem.targets[: len(q)]
        self._bend = min(_LARGEST_BEND, max(1.0, _BEND * len(q))) ** 2
        rows, n = q.shape
        r = problem.redundancy
        self._coupling = _coupling(rows, self._bend)
        self._bases = np.empty((rows, r, n))
        self._band = np.empty((rows * r, 3 * r))
        self._vector = np.empty(rows * r)
        chain = problem.chain
        lower, upper = chain.search_limits()
        room = np.minimum(_MARGIN, 0.1 * (upper - lower))
        self._lower, self._upper = lower + room, upper - room
        self._damping = np.full(rows, _DAMPING)

    def run(self) -> np.ndarray:
        """Return the path, as smooth as can be."""
        if self._bases.shape[1] == 0 or len(self.q) < 3:
            return self.q
        cost, solutions = self._cost(self.q), 0
        for _ in range(_ROUNDS):
            if self._problem.out_of_time:
                break
            self._write_bases()
            before = cost
            while cost == before and solutions < _SOLUTIONS and not self._problem.out_of_time:
                solutions += 1
                cost = self._improve(cost)
            if not cost < (1.0 - _PROGRESS) * before:
                break
        return self.q

    def _improve(self, cost: float) -> float:
        """Move all rows once; returns the cost, the same where that was no use."""
        motion = self._motion()
        longest = np.abs(motion).max()
        if not longest > 0.0:
            return cost
        trial = self.q + motion * min(1.0, _LONGEST / longest)
        if self._problem.limited:
            chain = self._problem.chain
            np.clip(trial, chain.lower, chain.upper, out=trial)
        trial[self._held] = self.q[self._held]
        faulty = ~self._problem.project(trial, self._targets, _LONGEST)
        fine = ~faulty
        self._problem.refuse_colliding(trial, fine)
        faulty = ~fine & ~self._held
        jumps = np.abs(np.diff(trial, axis=0)).max(axis=1) > self._problem.bound
        faulty[:-1] |= jumps
        faulty[1:] |= jumps
        if faulty.any():
            reach = int(2 * np.sqrt(self._bend)) + 1
            near = np.convolve(faulty, np.ones(2 * reach + 1))[reach:-reach] > 0.5
            self._damping[near] *= _GROWTH
            return cost
        after = self._cost(trial)
        if not after < cost:
            self._damping *= _GROWTH
            return cost
        self._damping = np.maximum(_DAMPING, self._damping * _FALL)
        self.q = trial
        return after

    def _motion(self) -> np.ndarray:
        """Return the self-motion of each row that lowers the cost most, (k, n)."""
        gradient = self._stiff(self.q)
        beyond = self._beyond(self.q)
        gradient += _PUSH * beyond
        stiffness = np.where(beyond != 0.0, _PUSH, 0.0)
        damping = np.where(self._held, _HELD, self._damping)
        self._problem.run(
            solve_in_null_spaces, self._bases, self._coupling, stiffness, damping, gradient,
            self._band, self._vector,
        )  # fmt: skip
        return gradient

    def _cost(self, q: np.ndarray) -> float:
        bent = np.square(np.diff(q, 2, axis=0)).sum()
        pushed = np.square(self._beyond(q)).sum()
        return float(np.square(np.diff(q, axis=0)).sum() + self._bend * bent + _PUSH * pushed)

    def _beyond(self, q: np.ndarray) -> np.ndarray:
        """Return how far every joint is within the margin of a limit, (k, n)."""
        if not self._problem.limited:
            return np.zeros_like(q)
        return q - np.clip(q, self._lower, self._upper)

    def _stiff(self, q: np.ndarray) -> np.ndarray:
        """Return the gradient of half the cost without limits, (k, n)."""
        gradient = np.zeros_like(q)
        first = np.diff(q, axis=0)
        gradient[1:] += first
        gradient[:-1] -= first
        second = self._bend * np.diff(q, 2, axis=0)
        gradient[2:] += second
        gradient[1:-1] -= 2.0 * second
        gradient[:-2] += second
        return gradient

    def _write_bases(self) -> None:
        n = self.q.shape[1]
        self._problem.run(
            null_spaces, self._problem.kernel_arrays(), self._targets, self.q, self._bases,
            np.empty((n, n)), self._problem.no_trace,
        )  # fmt: skip


def _coupling(rows: int, bend: float) -> np.ndarray:
    """Return the coupling of each row with itself and the two before it, (3, rows)."""
    coupling = np.zeros((3, rows))
    coupling[0, 1:] += 1.0
    coupling[0, :-1] += 1.0
    coupling[1, 1:] -= 1.0
    coupling[0, 2:] += bend
    coupling[0, 1:-1] += 4.0 * bend
    coupling[0, :-2] += bend
    coupling[1, 1:-1] -= 2.0 * bend
    coupling[1, 2:] -= 2.0 * bend
    coupling[2, 2:] += bend
    return coupling


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
