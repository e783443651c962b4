"""Inverse kinematics of many targets, in parallel threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
import time
from time import perf_counter_ns

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.threads import core_count
from ik_service.exceptions import BatchInterruptedError, OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.argument_checks import check_course, check_seeds
from ik_service.solvers.batch_rows import Rows
from ik_service.solvers.batch_targets import batch_targets
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.loop.problem import Problem
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.result import IkBatchResult, IkStatus
from ik_service.solvers.solver import prepared, Solver
from ik_service.solvers.task import BatchTargets

LARGEST_ROUND = 256
"""Rows that are solved and tested together: between rounds, a batch can end."""

_SUCCESS, _IN_COLLISION = IkStatus.SUCCESS.number, IkStatus.IN_COLLISION.number
# Columns of `states` and `motions`.
_SPENT, _GOES_ON = 1, 2
_KEPT, _FOUND = 1, 2


def solve_free_rows(
    rows: Rows,
    solver: Solver,
    problem: Problem,
    test: CollisionTest,
    stopped: Callable[[], bool],
) -> int:
    """
    Solve rows from the first on, each as :func:`~ik_service.solvers.collision_free.solve_free`.

    All are solved and tested; those that collide go on from where they were, and so on.

    :param rows: the rows; those that are not answered stay as they are.
    :param solver: the solver whose solves pause.
    :param problem: of this thread.
    :param test: tells which solutions collide.
    :param stopped: whether the batch is to end.
    :returns: the number of rows answered: at least one, but 0 when the batch is to end.
    """
    rows = rows.take(slice(0, LARGEST_ROUND))
    first = Rows.unsolved(rows.targets, rows.seeds, pauses=True)
    done = slice(0, first.solve(solver, problem))
    answers = first.take(done)
    places = np.flatnonzero(answers.status == _SUCCESS)
    going = answers.take(places)
    answers.status[places] = _IN_COLLISION
    answers.motions[:, _FOUND] = np.inf
    _, settings, _ = solver.views(problem)
    while going.size:
        wanted = _judge(answers, places, going, test)
        wanted &= going.counts[:, 1] < settings.max_searches[0]
        wanted &= going.states[:, _SPENT] < settings.timeout[0]
        places, going = places[wanted], going.take(wanted)
        if not _all_solved(going, solver, problem, stopped):
            return 0
        answers.counts[places] = going.counts
        solved = going.status == _SUCCESS
        places, going = places[solved], going.take(solved)
    for row in np.flatnonzero(answers.status == _IN_COLLISION):
        answers.collision[row] = test.first_contact(answers.q[row])
    rows.put(done, answers)
    return answers.size


def _judge(answers: Rows, places: np.ndarray, going: Rows, test: CollisionTest) -> np.ndarray:
    """
    Test solutions, and make those answers that are better than what has been found before.

    :param answers: all rows.
    :param places: (k,) which of these are tested.
    :param going: the k rows with the solutions.
    :param test: tells which collide.
    :returns: (k,) bool, which are to go on.
    """
    began = perf_counter_ns()
    colliding = test.colliding(going.q)
    going.states[:, _SPENT] += (perf_counter_ns() - began) // going.size
    found = going.motions[:, _FOUND]
    going.motions[~colliding, _KEPT] = found[~colliding]
    free = answers.status[places] == _SUCCESS
    better = ~colliding | (~free & (found < answers.motions[places, _FOUND]))
    answers.q[places[better]] = going.q[better]
    answers.errors[places[better]] = going.errors[better]
    answers.motions[places[better], _FOUND] = found[better]
    answers.status[places[~colliding]] = _SUCCESS
    return colliding | (going.states[:, _GOES_ON] != 0)


def _all_solved(rows: Rows, solver: Solver, problem: Problem, stopped: Callable[[], bool]) -> bool:
    """Solve rows; returns whether all are solved before the batch is to end."""
    first = 0
    while first < rows.size and not stopped():
        first += rows.take(slice(first, None)).solve(solver, problem)
    return first == rows.size


_STATUS = tuple(IkStatus)
_INTERRUPTED = IkStatus.INTERRUPTED.number
# Targets that a thread solves between two calls of the progress callback.
_LARGEST_CHUNK = 2048
_SMALLEST_CHUNK = 16
# A thread takes at most one part in so many of all targets, and one in so many of those left, so
# that at the end no thread waits long for another.
_PARTS = 8
_PARTS_LEFT = 3


def solve_ik_batch(
    chain: KinematicChain | KinematicTree,
    targets: BatchTargets,
    seeds: ArrayLike | None = None,
    solver: str = DEFAULT_SOLVER,
    options: IkOptions | None = None,
    progress: Callable[[int, int], object] | None = None,
    threads: int | None = None,
    chained: bool = False,
    collisions: Collisions | CollisionTest | None = None,
) -> IkBatchResult:
    """
    Solve for many targets, on all cores.

    Each row is what :func:`~ik_service.solve_ik` answers for that target and seed.

    :param chain: the chain or the tree.
    :param targets: (N, 4, 4) T_base_tip, or a list of matrices and tasks; for a tree a mapping of
        every tip to these.
    :param seeds: (N, n) a seed for each target, or (n,) one for all [rad] or [m]; what
        ``seed_source`` says when left out.
    :param solver: one of :func:`~ik_service.solver_names`.
    :param options: options; the timeout is that of each target.
    :param progress: called now and then with the number of targets done and N; when it returns
        False, the batch stops and the targets that are left have the status INTERRUPTED.
    :param threads: number of threads; as many as there are cores when left out.
    :param chained: seed each target after the first with the answer before it, as along a path;
        then there is one thread.
    :param collisions: what the answers must be free of, such as a
        :class:`~ik_service.CollisionChecker`.
    :returns: the answers, row by row.
    :raises ArgumentError: when an argument has another shape or is not finite; names the row.
    :raises UnknownSolverError: listing the valid names.
    :raises OptionError: when the method does not use an option that is given, or for a trace.
    :raises BatchInterruptedError: on Ctrl-C, once each thread has solved the target that it is at;
        also a KeyboardInterrupt. Its ``partial`` holds the answers so far.
    """
    chosen = prepared(chain, solver, options)
    if chosen.options.record_trace:
        raise OptionError('record_trace', 'is for single solves; a batch keeps no traces')
    check_course(progress, threads, chained)
    chosen, targets = batch_targets(chosen, targets)
    guessed = seeds is None and chosen.guess is not None
    seeds = _starts(chosen, targets) if seeds is None else seeds
    seeds = check_seeds(chosen.chain, seeds, len(targets))
    # Along a path each answer has to be near the one before it, whatever the first one's seed was.
    test = None if collisions is None else collision_test(collisions, chosen.chain)
    rows = Rows.unsolved(targets, seeds)
    job = _Job(chosen, rows, chained, guessed and not chained, test)
    try:
        job.run(progress, 1 if chained else int(threads or core_count()))
    except KeyboardInterrupt as error:
        raise BatchInterruptedError(job.result()) from error
    return job.result()


def solve_rows(
    solver: Solver, rows: Rows, threads: int | None = None, test: CollisionTest | None = None
) -> None:
    """
    Solve rows, of which nothing is checked: each is what :func:`solve_ik_batch` answers.

    :param solver: the solver.
    :param rows: rows with targets, whose arrays may have been used before; their seeds are those
        of the solver if it guesses them.
    :param threads: number of threads; as many as there are cores when left out.
    :param test: what the answers must be free of.
    """
    if solver.guess is not None:
        rows.seeds[:] = solver.guess.guess_many(rows.targets)
    job = _Job(solver, rows, False, solver.guess is not None, test)
    job.run(None, int(threads or core_count()))


def _starts(solver: Solver, targets: np.ndarray) -> np.ndarray:
    """Return the (N, n) seeds of solves that are given none."""
    if solver.guess is None:
        return np.broadcast_to(solver.chain.middle, (len(targets), solver.chain.n))
    return solver.guess.guess_many(targets)


class _Job:
    """Arrays of a batch, and the threads that fill them."""

    def __init__(
        self,
        solver: Solver,
        rows: Rows,
        chained: bool,
        guessed: bool,
        test: CollisionTest | None,
    ) -> None:
        self._solver = solver if test is None else solver.candidates
        self._rows = rows
        self._chained = chained
        self._guessed = guessed
        self._test = test
        self._began = time.perf_counter()
        self._stopped = False

    def run(self, progress: Callable[[int, int], object] | None, threads: int) -> None:
        """
        Solve all chunks, until the callback returns False.

        :param progress: called with the number of targets done and N, or None.
        :param threads: number of threads, at least 1.
        """
        total = self._rows.size
        chunks = deque(_chunks(total, threads))
        done = 0
        with closing(
            self._take(chunks) if threads == 1 else self._share(chunks, threads - 1)
        ) as counts:
            for solved in counts:
                done += solved
                if progress is not None and progress(done, total) is False:
                    break

    def _take(self, chunks: deque[tuple[int, int]]) -> Generator[int, None, None]:
        """Solve one chunk after the other; yields the number of targets solved since last."""
        problem = self._solver.problem(self._guessed)
        while True:
            try:
                first, last = chunks.popleft()
            except IndexError:
                return
            while first < last and not self._stopped:
                solved = self._solve(problem, first, last)
                first += solved
                yield solved

    def _share(self, chunks: deque[tuple[int, int]], helpers: int) -> Generator[int, None, None]:
        """Solve chunks with other threads; yields the number of targets solved since last."""
        solved: deque[int] = deque()

        def help_out() -> None:
            try:
                for count in self._take(chunks):
                    solved.append(count)
            except BaseException:
                self._stopped = True
                raise

        with ThreadPoolExecutor(helpers) as pool:
            try:
                helping = [pool.submit(help_out) for _ in range(helpers)]
                for count in self._take(chunks):
                    yield count + sum(solved.popleft() for _ in range(len(solved)))
                for helper in helping:
                    helper.result()
                yield sum(solved)
            finally:  # before its time after an error, Ctrl-C or a progress that wants no more
                self._stopped = True

    def _solve(self, problem: Problem, first: int, last: int) -> int:
        """Solve from the first target on until the time is up; returns the number solved."""
        rows = self._rows
        if self._chained and first > 0:
            rows.seeds[first] = rows.q[first - 1]
        if self._test is None:
            return rows.take(slice(first, last)).solve(self._solver, problem, self._chained)
        last = first + 1 if self._chained else last
        return solve_free_rows(
            rows.take(slice(first, last)), self._solver, problem, self._test, lambda: self._stopped
        )

    def result(self) -> IkBatchResult:
        """Return the result so far; unsolved targets have their seed as the joint vector."""
        rows = self._rows
        unsolved = rows.status == _INTERRUPTED
        rows.q[unsolved] = rows.seeds[unsolved]
        rows.errors[unsolved] = np.inf
        return IkBatchResult(
            q=rows.q,
            success=rows.status == _SUCCESS,
            position_error=rows.errors[:, 0],
            orientation_error=rows.errors[:, 1],
            iterations=rows.counts[:, 0],
            searches=rows.counts[:, 1],
            status=np.array(_STATUS, dtype=object)[rows.status],
            solve_time=time.perf_counter() - self._began,
            collision=None if self._test is None else rows.collision,
            hint=self._solver.hint,
        )


def _chunks(total: int, threads: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of each chunk and the one after its last."""
    largest = min(_LARGEST_CHUNK, -(-total // (_PARTS * threads)))
    first = 0
    while first < total:
        left = total - first
        size = min(left, max(_SMALLEST_CHUNK, min(largest, left // (_PARTS_LEFT * threads))))
        yield first, first + size
        first += size
