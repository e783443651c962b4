"""Path to be found: chain, targets as kernels take them, bounds, and what a thread needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import copy
import math
import time
from typing import Any, Self

import numpy as np

from ik_service.jit.compile import CompiledKernel
from ik_service.jit.entry import entry_point
from ik_service.paths.search.continuation import project_rows, row_errors
from ik_service.solvers.loop import search
from ik_service.solvers.options import LimitStrategy
from ik_service.solvers.result import IkStatus
from ik_service.solvers.solver import Solver

# Share of the largest step that the search uses; the rest is for rounding and the last digits.
_SHARE = 0.995
# Dimension of a null space, at most, where tolerances make it unknown.
_MOST_REDUNDANT = 6
_SUCCESS = IkStatus.SUCCESS.number


class Deadline:
    """
    End of the time for a path; what the compiler takes is added to it.

    :param timeout: the time from now on [s].
    """

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout

    @property
    def left(self) -> float:
        """Time that is left [s], not below 0."""
        return max(0.0, self._end - time.monotonic())

    def extend(self, seconds: float) -> None:
        """
        Add some time.

        :param seconds: the time [s]; none where it is negative.
        """
        self._end += max(0.0, seconds)


class PathProblem:
    """
    Path to be found.

    :ivar solver: the solver of the chain, or of the tree.
    :ivar chain: the chain or the tree, with n variables.
    :ivar targets: (N, …) as the kernels of the solver take them.
    :ivar max_step: largest motion of a joint from one row to the next [rad] or [m].
    :ivar bound: the same for the search, a little smaller.
    :ivar thorough: whether every way on is looked for, with more time.
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
        """Dimension of the null spaces at the targets, at most."""
        n = int(self.chain.n)
        if self.targets.shape[1:] != (4, 4):
            return min(n, _MOST_REDUNDANT)
        return max(0, n - int(np.count_nonzero(self.solver.options.task_weights)))

    def hurried(self, share: float, thorough: bool = False) -> Self:
        """
        Return the same path with less time.

        :param share: share of the time that is left.
        :param thorough: whether every way on is looked for.
        """
        other = copy.copy(self)
        other.thorough = thorough
        other.deadline = Deadline(share * self.deadline.left)
        return other

    def reversed(self, row: int) -> Self:
        """
        Return the path from a target back to the start.

        :param row: number of the target.
        """
        other = copy.copy(self)
        other.targets = np.ascontiguousarray(self.targets[row::-1])
        return other

    def part(self, first: int, end: int) -> Self:
        """
        Return a part of the path.

        :param first: number of its first target.
        :param end: number of the first target after it.
        """
        other = copy.copy(self)
        other.targets = self.targets[first:end]
        return other

    def loosened(self, factor: float, rows: int) -> Self:
        """
        Return the first part of the path with larger steps.

        :param factor: how much larger they may be.
        :param rows: number of its targets.
        """
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
        """
        Clear the flags of joint vectors that collide.

        :param q: (c, n) [rad] or [m].
        :param flags: (c,) bool.
        """
        if self._test is not None and flags.any():
            flags[flags] = ~np.asarray(self._test.colliding(q[flags]), bool)

    def contact(self, q: np.ndarray) -> tuple[str, str] | None:
        """
        Return two bodies that collide; None where nothing does.

        :param q: (n,) [rad] or [m].
        """
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
        """
        Return the errors of the first rows of the path.

        :param q: (k, n) [rad] or [m].
        :returns: (k, 2) position error [m] and orientation error [rad].
        """
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
        """
        Call a kernel, always with arguments of the same types.

        :param kernel: the kernel.
        :param arguments: its arguments.
        """
        entry = self._entries.get(kernel)
        if entry is None:
            began = time.monotonic()
            entry = self._entries[kernel] = entry_point(kernel, *arguments)
            self.deadline.extend(time.monotonic() - began)
        return entry(*arguments)
