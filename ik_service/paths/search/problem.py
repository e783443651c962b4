"""
Path to be found: chain, targets as kernels take them, bounds, and continuation along it.

The arguments ``chain``, ``settings`` and ``work`` of the kernels are as described in
:mod:`ik_service.solvers.loop`; so they serve chains, trees and tolerances alike. ``problem`` is a
:class:`~ik_service.solvers.loop.problem.Problem`, or that of a tree; ``targets`` (N, …) are as the
kernels of the solver take them, ``q`` (N, n) are the rows of a path [rad] or [m], and ``trace``
(0, 2n + 3) is for none.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import copy
import math
import time
from typing import Any, Self

import numpy as np

from ik_service.jit.compile import CompiledKernel, inner_kernel, kernel, merged_kernel
from ik_service.jit.entry import entry_point
from ik_service.kinematics.kernels import copy_vector, fill_vector
from ik_service.solvers.loop import search
from ik_service.solvers.loop.iteration import (
    errors_at,
    evaluate_pose,
    set_goal,
    step_within_limits,
    weighted_rows,
)
from ik_service.solvers.loop.linear_algebra import damped_step
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.search import uniform
from ik_service.solvers.methods.levenberg_marquardt import LevenbergMarquardt
from ik_service.solvers.options import LimitStrategy
from ik_service.solvers.result import IkStatus
from ik_service.solvers.solver import Solver
from ik_service.solvers.task import BLOCK_ROWS

_DAMPING = 0.1  # λ of the steps, relative to the error
_STEPS = 25  # to a target, at most
# Cost [half a squared error] below which no step can win anything.
_FINEST = 1e-24
# Squared singular value of the Jacobian below which a direction belongs to the null space, and
# the share of a vector that has to lie in it.
_NULL = 1e-5
_NULL_SHARE = 0.1


@merged_kernel
def converge(chain, settings, work, strategy, origin, bound, fine, trace):
    """
    Bring ``work.q`` to the goal without leaving the neighbourhood of a joint vector.

    :param origin: (n,) the joint vector [rad] or [m].
    :param bound: largest difference of a joint from it [rad] or [m].
    :param fine: whether to go on as long as the error falls, instead of to the tolerance.
    :returns: whether the goal is reached within the bound.
    """
    before = math.inf
    found = False
    for _ in range(_STEPS):
        cost, reached = evaluate_pose(chain, settings, work, 0, trace)
        if found and not (reached and cost < before):
            copy_vector(work.best_q, work.q)
            break
        if reached:
            found = True
            copy_vector(work.q, work.best_q)
            if not fine or cost < _FINEST:
                break
        elif not cost < 4.0 * before:
            return False
        before = cost
        step_within_limits(chain, LevenbergMarquardt(_DAMPING, 0.0), settings, work, strategy)
        if distance(origin, work.q) > 3.0 * bound:
            return False
    if found:
        copy_vector(work.best_q, work.q)
    return found and distance(origin, work.q) <= bound


@inner_kernel
def distance(a, b):
    """Return the largest difference of two joint vectors (n,) [rad] or [m]; inf for NaN."""
    largest = 0.0
    for i in range(a.shape[0]):
        difference = abs(a[i] - b[i])
        if not difference <= largest:
            largest = difference if difference > largest else math.inf
    return largest


@inner_kernel
def self_motion(chain, settings, work, trace, drawn, motion):
    """
    Write a direction that does not move the tip from ``work.q``, its largest element 1.

    It is v − J⁺ J v for a vector v, where a joint that cannot move has none.

    :param drawn: whether v is drawn at random.
    :param motion: (n,) in: v, where it is not drawn; out: the direction.
    :returns: whether there is such a direction.
    """
    evaluate_pose(chain, settings, work, 0, trace)
    weighted_rows(chain, settings, work)
    vector = work.vector
    fill_vector(vector, 0.0)
    whole = 0.0
    for i in range(motion.shape[0]):
        held = not chain.lower[i] < chain.upper[i]
        if held:
            motion[i] = 0.0
        elif drawn:
            motion[i] = 2.0 * uniform(work.random) - 1.0
        whole += motion[i] * motion[i]
        for j in range(vector.shape[0]):
            if held:
                work.rows[i, j] = 0.0
            vector[j] += motion[i] * work.rows[i, j]
    damped_step(work, vector, _NULL)
    left = largest = 0.0
    for i in range(motion.shape[0]):
        motion[i] -= work.step[i]
        left += motion[i] * motion[i]
        largest = max(largest, abs(motion[i]))
    if not left > _NULL_SHARE * _NULL_SHARE * whole:
        return False
    for i in range(motion.shape[0]):
        motion[i] /= largest
    return True


@kernel
def project_rows(problem, targets, strategy, bound, q, reached, origin, trace):
    """
    Bring every row of a joint path exactly to its target; where that is not reached, it stays.

    :param bound: largest motion of a joint [rad] or [m].
    :param reached: (N,) bool out.
    :param origin: (n,) scratch.
    """
    chain, settings, work = open_problem(problem)
    for row in range(q.shape[0]):
        set_goal(chain, targets[row], work.goal)
        copy_vector(q[row], work.q)
        copy_vector(q[row], origin)
        reached[row] = converge(chain, settings, work, strategy, origin, bound, True, trace)
        if reached[row]:
            copy_vector(work.q, q[row])


@kernel
def row_errors(problem, targets, q, errors):
    """Write the errors of every row of a joint path, (N, 2) [m] and [rad]."""
    chain, settings, work = open_problem(problem)
    for row in range(q.shape[0]):
        set_goal(chain, targets[row], work.goal)
        errors[row, 0], errors[row, 1] = errors_at(chain, settings, work, q[row])


# Share of the largest step that the search uses; the rest is for rounding and the last digits.
_SHARE = 0.995
# Dimension of a null space, at least, where tolerances make it unknown.
_LEAST_ASSUMED = 6
_SUCCESS = IkStatus.SUCCESS.number


class Deadline:
    """
    End of the time for a path, extended by the time of the compiler.

    :ivar cut_short: whether a search with a share of the time has come to the end of it.
    :param timeout: the time from now on [s].
    """

    def __init__(self, timeout: float) -> None:
        self.cut_short = False
        self._end = time.monotonic() + timeout

    @property
    def left(self) -> float:
        """Time that is left [s], not below 0."""
        return max(0.0, self._end - time.monotonic())

    def extend(self, seconds: float) -> None:
        """Add some time [s]; none where it is negative."""
        self._end += max(0.0, seconds)


class PathProblem:
    """
    Path to be found.

    :ivar solver: the solver of the chain, or of the tree.
    :ivar chain: the chain or the tree, with n variables.
    :ivar targets: (N, …) as the kernels of the solver take them.
    :ivar max_step: largest motion of a joint from one row to the next [rad] or [m].
    :ivar bound: the same for the search, a little smaller.
    :ivar thorough: whether every path onward is searched, with more time.
    :ivar limited: whether the joint limits count.
    :ivar strategy: number of the LimitStrategy of the steps.
    :ivar wrap: (n,) turn of each variable that does not count as a difference [rad]; 0 for none.
    :ivar deadline: end of the time.
    :ivar pool: threads beside this one.
    :ivar threads: number of threads, with this one.
    """

    def __init__(
        self,
        solver: Solver,
        targets: np.ndarray,
        max_step: float,
        test: Any = None,  # noqa: ANN401 - whatever has `colliding`
        timeout: float = 10.0,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        self.solver = solver
        self.chain: Any = solver.chain
        self.targets = targets
        self.max_step = float(max_step)
        self.bound = _SHARE * self.max_step
        self.thorough = False
        self.deadline = Deadline(timeout)
        self.pool = pool
        self.threads = threads
        self.limited = solver.options.joint_limits != 'ignore'
        self.strategy = int(LimitStrategy.ACTIVE_SET if self.limited else LimitStrategy.IGNORE)
        unlimited = np.isinf(self.chain.search_limits()).all(axis=0)
        self.wrap = np.where(unlimited | (not self.limited), self.chain.arrays.turn, 0.0)
        self._test = test
        self._entries: dict[CompiledKernel, Callable] = {}
        self._own = self.kernel_arrays()
        self.no_trace = np.empty((0, 2 * self.chain.n + 3))

    @property
    def out_of_time(self) -> bool:
        """Whether the time has run out."""
        return self.deadline.left == 0.0

    @property
    def redundancy(self) -> int:
        """Dimension of the null spaces at the targets, at most; of tolerances, what is assumed."""
        n = int(self.chain.n)
        axes = int(np.count_nonzero(self.solver.options.task_weights))
        if self.targets.shape[1:] == (4, 4):
            return max(0, n - axes)
        tips = self.targets.shape[1] // BLOCK_ROWS
        return min(n, max(_LEAST_ASSUMED, n - axes * tips))

    def hurried(self, share: float, thorough: bool = False) -> Self:
        """Return the same path with a share of the time left, searched thoroughly or not."""
        other = copy.copy(self)
        other.thorough = thorough
        other.deadline = Deadline(share * self.deadline.left)
        return other

    def reversed(self, row: int) -> Self:
        """Return the path from the target of a row back to the start."""
        other = copy.copy(self)
        other.targets = np.ascontiguousarray(self.targets[row::-1])
        return other

    def part(self, first: int, end: int) -> Self:
        """Return the part of the path from a first target to before another one."""
        other = copy.copy(self)
        other.targets = self.targets[first:end]
        return other

    def loosened(self, factor: float, rows: int) -> Self:
        """Return the first rows of the path with steps larger by a factor."""
        other = copy.copy(self)
        other.targets = self.targets[:rows]
        other.max_step, other.bound = factor * self.max_step, factor * self.bound
        return other

    def thinned(self, rows: np.ndarray, stride: int) -> Self:
        """
        Return the path through some of the targets.

        :param rows: (m,) their numbers.
        :param stride: number of steps that become one, which may be as large as all of them.
        """
        other = copy.copy(self)
        other.targets = np.ascontiguousarray(self.targets[rows])
        other.max_step, other.bound = stride * self.max_step, stride * self.bound
        return other

    def kernel_arrays(self) -> Any:  # noqa: ANN401 - a Problem or a TreeProblem
        """
        Return the problem that kernels take, for one thread.

        A joint that comes to a limit stops there: it makes no full turn.
        """
        problem = self.solver.problem()
        arrays, _, _ = self.solver.views(problem)
        arrays.turn[:] = 0.0
        return problem

    def refuse_colliding(self, q: np.ndarray, flags: np.ndarray) -> None:
        """Clear the flags (c,) of joint vectors (c, n) that collide."""
        if self._test is not None and flags.any():
            flags[flags] = ~np.asarray(self._test.colliding(q[flags]), bool)

    def contact(self, q: np.ndarray) -> tuple[str, str] | None:
        """Return two bodies that collide at q (n,) [rad] or [m]; None where nothing does."""
        return None if self._test is None else self._test.first_contact(q)

    def project(
        self, q: np.ndarray, targets: np.ndarray, bound: float, strategy: int | None = None
    ) -> np.ndarray:
        """
        Bring joint vectors to targets close by, in place, as exactly as can be.

        :param q: (k, n) [rad] or [m]; one that does not get there stays.
        :param targets: (k, …) as the kernels take them.
        :param bound: largest motion of a joint [rad] or [m].
        :param strategy: number of the LimitStrategy; that of the path when left out.
        :returns: (k,) bool: whether each is at its target, within the limits.
        """
        reached = np.zeros(len(q), bool)
        strategy = self.strategy if strategy is None else strategy
        scratch = np.empty(self.chain.n)
        self.run(
            project_rows, self._own, targets, strategy, bound, q, reached, scratch, self.no_trace
        )
        return reached

    def errors(self, q: np.ndarray) -> np.ndarray:
        """Return the errors of the first rows (k, n) of the path, (k, 2) [m] and [rad]."""
        errors = np.empty((len(q), 2))
        self.run(row_errors, self._own, self.targets[: len(q)], np.ascontiguousarray(q), errors)
        return errors

    def solved(self, row: int, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Solve for a target from some seeds, however far from them.

        :param row: number of the target.
        :param seeds: (k, n) [rad] or [m].
        :returns: (k, n) the closest joint vectors found, (k,) whether each is a solution, and
            (k, 2) their errors [m], [rad].
        """
        q, errors = np.array(seeds, order='C'), np.full((len(seeds), 2), math.inf)
        status = np.zeros(len(seeds), np.int64)
        arrays, target = self.solver.problem(), np.array(self.targets[row])
        for k, seed in enumerate(q.copy()):
            if k and self.out_of_time:
                return q[:k], status[:k] == _SUCCESS, errors[:k]
            status[k], errors[k, 0], errors[k, 1], *_ = self.run(
                search.solve, arrays, self.solver.parameters, target, seed, q[k], self.no_trace
            )
        return q, status == _SUCCESS, errors

    def run(self, kernel: CompiledKernel, *arguments: object) -> Any:  # noqa: ANN401 - as it does
        """Call a kernel, always with arguments of the same types."""
        entry = self._entries.get(kernel)
        if entry is None:
            began = time.monotonic()
            entry = self._entries[kernel] = entry_point(kernel, *arguments)
            self.deadline.extend(time.monotonic() - began)
        return entry(*arguments)
