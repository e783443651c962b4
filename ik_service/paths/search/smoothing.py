"""
Smoothing of dense paths, with many rows for the motion of the joints.

Self-motions reach over a number of rows in a round. So a dense path is smoothed first with few of
its rows, on which the joints may move so much farther from one to the next; the others follow on
curves between these.

The objective is Σ‖q(i+1) − q(i)‖² + ℓ² Σ‖q(i+1) − 2 q(i) + q(i−1)‖²: the path gets short, and
bends over ℓ rows. In each round this is a quadratic problem in the null spaces of all rows, whose
banded system is solved exactly; then every row is brought back to its target. Where a row does
not come back, or would collide or jump, it and its neighbours are damped.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import copy_vector, fill_vector
from ik_service.paths.search.problem import PathProblem
from ik_service.solvers.loop.iteration import evaluate_pose, set_goal, weighted_rows
from ik_service.solvers.loop.linear_algebra import damped_step, solve_banded
from ik_service.solvers.loop.problem import open_problem

# Squared singular value of the Jacobian below which a direction belongs to the null space, and
# the length of the remainder of a direction that counts as another one.
_NULL = 1e-8
_LEAST = 0.3


@kernel
def null_spaces(problem, targets, q, bases, scratch, trace):
    """
    Write an orthonormal basis of the null space of the Jacobian at every row of a path.

    The columns of I − J⁺J, the longest first, are made orthogonal one after the other (Gram and
    Schmidt); where there are fewer, zeros are left.

    The arguments are those of :mod:`ik_service.paths.search.problem`.

    :param bases: (N, r, n) out.
    :param scratch: (n, n).
    """
    chain, settings, work = open_problem(problem)
    for row in range(q.shape[0]):
        set_goal(chain, targets[row], work.goal)
        copy_vector(q[row], work.q)
        evaluate_pose(chain, settings, work, 0, trace)
        weighted_rows(chain, settings, work)
        _write_projector(chain, work, scratch)
        for k in range(bases.shape[1]):
            if not _take_longest(scratch, bases[row, k]):
                for rest in range(k, bases.shape[1]):
                    fill_vector(bases[row, rest], 0.0)
                break


@inner_kernel
def _write_projector(chain, work, projector):
    """Write I − J⁺J; joints that cannot move have zeros."""
    n = projector.shape[0]
    for i in range(n):
        if not chain.lower[i] < chain.upper[i]:
            fill_vector(work.rows[i], 0.0)
    for i in range(n):
        copy_vector(work.rows[i], work.vector)
        damped_step(work, work.vector, _NULL)
        free = chain.lower[i] < chain.upper[i]
        for j in range(n):
            projector[i, j] = -work.step[j] if free else 0.0
        if free:
            projector[i, i] += 1.0


@inner_kernel
def _take_longest(vectors, longest):
    """Write the longest of some vectors, normalised, and take its share from all; False: none."""
    best, square = 0, 0.0
    for i in range(vectors.shape[0]):
        total = 0.0
        for j in range(vectors.shape[1]):
            total += vectors[i, j] * vectors[i, j]
        if total > square:
            best, square = i, total
    if square < _LEAST * _LEAST:
        return False
    length = math.sqrt(square)
    for j in range(longest.shape[0]):
        longest[j] = vectors[best, j] / length
    for i in range(vectors.shape[0]):
        share = 0.0
        for j in range(longest.shape[0]):
            share += vectors[i, j] * longest[j]
        for j in range(longest.shape[0]):
            vectors[i, j] -= share * longest[j]
    return True


@kernel
def solve_in_null_spaces(bases, coupling, stiffness, damping, gradient, band, vector):
    """
    Solve for the self-motions of all rows that lower a quadratic cost most.

    The cost couples each row with the two before it; its matrix in the coordinates of the null
    spaces has 3r − 1 diagonals below the main one. It is factorised as LDLᵀ.

    :param bases: (N, r, n) of the null spaces.
    :param coupling: (3, N) of each row with itself, the one before and the one before that.
    :param stiffness: (N, n) added to the coupling of each joint with itself.
    :param damping: (N,) added to the main diagonal.
    :param gradient: (N, n) of the cost; overwritten with the motions of the joints.
    :param band: (N r, 3r) scratch.
    :param vector: (N r,) scratch.
    """
    _assemble(bases, coupling, stiffness, damping, gradient, band, vector)
    solve_banded(band, vector)
    rows, r, n = bases.shape
    for row in range(rows):
        for i in range(n):
            motion = 0.0
            for k in range(r):
                motion += bases[row, k, i] * vector[row * r + k]
            gradient[row, i] = motion


@inner_kernel
def _assemble(bases, coupling, stiffness, damping, gradient, band, vector):
    """Write the lower half of the matrix and the right side."""
    rows, r, n = bases.shape
    for row in range(rows):
        for k in range(r):
            p = row * r + k
            fill_vector(band[p], 0.0)
            vector[p] = 0.0
            for i in range(n):
                vector[p] -= bases[row, k, i] * gradient[row, i]
            for back in range(min(row, 2) + 1):
                for other in range(k + 1 if back == 0 else r):
                    product = stiff = 0.0
                    for i in range(n):
                        term = bases[row, k, i] * bases[row - back, other, i]
                        product += term
                        stiff += term * stiffness[row, i]
                    value = coupling[back, row] * product
                    if back == 0:
                        value += stiff
                    band[p, back * r + k - other] = value
            band[p, 0] += damping[row]


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


def smoothed(problem: PathProblem, path: np.ndarray, held: np.ndarray) -> np.ndarray:
    """
    Return a path without the self-motions that are not needed.

    :param problem: the path's targets and bounds.
    :param path: (k, n) a path through the first of them without a jump [rad] or [m].
    :param held: (k,) bool: rows that stay.
    """
    steps = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0)
    stride = int(_STEP / max(float(np.median(steps)), 1e-9)) if len(steps) else 0
    stride = min(stride, len(path) // _LEAST_ROWS)
    while stride >= _LEAST_STRIDE and problem.redundancy > 0 and not problem.out_of_time:
        found = _smoothed_coarsely(problem, path, held, stride)
        if found is not None:
            path = found
            break
        stride //= 2
    return Smoothing(problem, path, held).run()


def _smoothed_coarsely(
    problem: PathProblem, path: np.ndarray, held: np.ndarray, stride: int
) -> np.ndarray | None:
    """Return a path with the self-motions of one row in a stride; None if it fails."""
    rows = np.unique(np.append(np.arange(0, len(path), stride), [len(path) - 1]))
    thinned, kept = problem.thinned(rows, stride), held
    for reach in _REACHES:
        few = Smoothing(thinned, np.ascontiguousarray(path[rows]), kept[rows]).run()
        found = _between(rows, few, len(path))
        if problem.limited:
            np.clip(found, problem.chain.lower, problem.chain.upper, out=found)
        found[kept] = path[kept]
        faulty = _faulty(problem, found)
        if not faulty.any():
            shorter = _cost(found) < _cost(path)
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
    """Return cubics (count, n) between rows (m, n) by their numbers, with neighbours' slopes."""
    slopes = np.gradient(few, rows, axis=0)
    every = np.arange(count)
    segment = np.minimum(np.searchsorted(rows, every, side='right'), len(rows) - 1) - 1
    h = np.diff(rows)[segment][:, None]
    t = (every - rows[segment])[:, None] / h
    ahead = few[segment + 1] - few[segment]
    bow = (1.0 - t) * (h * slopes[segment] - ahead) - t * (h * slopes[segment + 1] - ahead)
    return np.ascontiguousarray(few[segment] + t * ahead + t * (1.0 - t) * bow)
