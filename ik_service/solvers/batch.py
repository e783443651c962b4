"""Solving for many targets at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import as_completed, ThreadPoolExecutor
import os
import time

import numpy as np
from numpy.typing import ArrayLike

from ik_service.exceptions import ArgumentError, BatchInterruptedError, OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose import check_transforms
from ik_service.solvers import search
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.result import IkBatchResult, IkStatus
from ik_service.solvers.solver import Solver

_STATUS = tuple(IkStatus)
# Targets that a thread solves between two calls of the progress callback.
_LARGEST_CHUNK = 2048
_SMALLEST_CHUNK = 16


def solve_ik_batch(
    chain: KinematicChain,
    targets: ArrayLike,
    seeds: ArrayLike | None = None,
    solver: str = DEFAULT_SOLVER,
    options: IkOptions | None = None,
    progress: Callable[[int, int], object] | None = None,
    threads: int | None = None,
    chained: bool = False,
) -> IkBatchResult:
    """
    Solve for many targets, on all cores.

    Each row is what :func:`~ik_service.solve_ik` answers for that target and seed.

    :param chain: the chain.
    :param targets: (N, 4, 4) T_base_tip.
    :param seeds: (N, n) a seed for each target, or (n,) one for all [rad] or [m]; what
        ``seed_source`` says when left out.
    :param solver: one of :func:`~ik_service.solver_names`.
    :param options: options; the timeout is that of each target.
    :param progress: called now and then with the number of targets done and N; when it returns
        False, the batch stops and the targets that are left have the status INTERRUPTED.
    :param threads: number of threads; as many as there are cores when left out.
    :param chained: seed each target after the first with the answer before it, as along a path;
        then there is one thread.
    :returns: the answers, row by row.
    :raises ArgumentError: when an argument has another shape or is not finite; names the row.
    :raises UnknownSolverError: listing the valid names.
    :raises OptionError: when the method does not use an option that is given, or for a trace.
    :raises BatchInterruptedError: on Ctrl-C; also a KeyboardInterrupt. Its ``partial`` holds the
        answers so far.
    """
    prepared = Solver(chain, solver, options)
    if prepared.options.record_trace:
        raise OptionError('record_trace', 'is for single solves; a batch keeps no traces')
    if threads is not None and threads < 1:
        raise ArgumentError('threads', f'has to be at least 1, not {threads!r}')
    targets = check_transforms(targets, 'targets')
    guessed = seeds is None and options is not None and options.seed_source != 'given'
    seeds = prepared.starts_for(targets) if seeds is None else seeds
    seeds = _check_seeds(chain, seeds, len(targets))
    # Along a path each answer has to be near the one before it, whatever the first one's seed was.
    job = _Job(prepared, targets, seeds, chained, guessed and not chained)
    try:
        job.run(progress, 1 if chained else threads or len(os.sched_getaffinity(0)))
    except KeyboardInterrupt as error:
        raise BatchInterruptedError(job.result()) from error
    return job.result()


class _Job:
    """The arrays of a batch, and the threads that fill them."""

    def __init__(
        self,
        solver: Solver,
        targets: np.ndarray,
        seeds: np.ndarray,
        chained: bool,
        guessed: bool,
    ) -> None:
        count, n = seeds.shape
        self._solver = solver
        self._targets = targets
        self._seeds = seeds
        self._chained = chained
        self._guessed = guessed
        self._q = seeds.copy()
        self._status = np.full(count, _STATUS.index(IkStatus.INTERRUPTED))
        self._errors = np.full((count, 2), np.inf)
        self._counts = np.zeros((count, 2), np.int64)
        self._no_trace = np.empty((0, 2 * n + 3))
        self._began = time.perf_counter()

    def run(self, progress: Callable[[int, int], object] | None, threads: int) -> None:
        """Solve all chunks, until the callback wants no more."""
        total = len(self._targets)
        size = max(_SMALLEST_CHUNK, min(_LARGEST_CHUNK, -(-total // (8 * threads))))
        chunks = [(first, min(first + size, total)) for first in range(0, total, size)]
        done = 0
        for solved in self._in_turn(chunks) if threads == 1 else self._at_once(chunks, threads):
            done += solved
            if progress is not None and progress(done, total) is False:
                break

    def _in_turn(self, chunks: list[tuple[int, int]]) -> Iterator[int]:
        for chunk in chunks:
            yield self._solve(*chunk)

    def _at_once(self, chunks: list[tuple[int, int]], threads: int) -> Iterator[int]:
        with ThreadPoolExecutor(threads) as pool:
            try:
                for future in as_completed([pool.submit(self._solve, *chunk) for chunk in chunks]):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _solve(self, first: int, last: int) -> int:
        if self._chained and first > 0:
            self._seeds[first] = self._q[first - 1]
        search.solve_many(
            self._solver.problem(self._guessed),
            self._solver.parameters,
            self._targets[first:last],
            self._seeds[first:last],
            self._chained,
            self._q[first:last],
            self._status[first:last],
            self._errors[first:last],
            self._counts[first:last],
            self._no_trace,
        )
        return last - first

    def result(self) -> IkBatchResult:
        """The answers there are."""
        status = np.array(_STATUS, dtype=object)[self._status]
        return IkBatchResult(
            q=self._q,
            success=self._status == _STATUS.index(IkStatus.SUCCESS),
            position_error=self._errors[:, 0],
            orientation_error=self._errors[:, 1],
            iterations=self._counts[:, 0],
            searches=self._counts[:, 1],
            status=status,
            solve_time=time.perf_counter() - self._began,
        )


def _check_seeds(chain: KinematicChain, seeds: ArrayLike, count: int) -> np.ndarray:
    """Seeds as a (N, n) array of their own."""
    try:
        seeds = np.array(seeds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError('seeds', f'have to be numbers: {error}') from error
    if seeds.shape not in ((chain.n,), (count, chain.n)):
        raise ArgumentError(
            'seeds', f'have shape {seeds.shape}, have to be ({count}, {chain.n}) or ({chain.n},)'
        )
    if not np.isfinite(seeds).all():
        row = int(np.argwhere(~np.isfinite(seeds))[0][0])
        raise ArgumentError('seeds', f'hold NaN or infinity in row {row}')
    return np.array(np.broadcast_to(seeds, (count, chain.n)), order='C')
