"""Inverse kinematics of many targets, in parallel threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
import time
from time import perf_counter_ns
from typing import NamedTuple

from numba.core.errors import NumbaError
import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array, truth_value, whole_number
from ik_service.common.quoting import safe_repr
from ik_service.common.threads import core_count
from ik_service.exceptions import ArgumentError, BatchInterruptedError, OptionError
from ik_service.jit.entry import KernelUser
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.loop import search
from ik_service.solvers.loop.problem import Problem
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER, step_error
from ik_service.solvers.result import HINTED, IkResult, IkStatus, outcome_text
from ik_service.solvers.solver import prepared, Solver
from ik_service.solvers.task import BatchTargets, Task

LARGEST_ROUND = 256  # rows that are solved and tested together: between rounds, a batch can end
_MOST_THREADS = 1024  # far above the cores of any machine
# Time after which a thread comes back from the kernels between two targets: only then can Ctrl-C,
# or a failure elsewhere, end the batch [ns].
_BUDGET = 100_000_000
_STATUS = tuple(IkStatus)
_SUCCESS, _IN_COLLISION = IkStatus.SUCCESS.number, IkStatus.IN_COLLISION.number
_INTERRUPTED = IkStatus.INTERRUPTED.number
# Targets that a thread solves between two calls of the progress callback.
_LARGEST_CHUNK = 2048
_SMALLEST_CHUNK = 16
# A thread takes at most one part in so many of all targets, and one in so many of those left, so
# that at the end no thread waits long for another.
_PARTS = 8
_PARTS_LEFT = 3
# Columns of `states` and `motions` of rows.
_SPENT, _GOES_ON = 1, 2
_KEPT, _FOUND = 1, 2


class Rows(NamedTuple):
    """
    Rows of a batch; the arrays are filled while they are solved.

    :ivar targets: (N, …) targets as the kernels take them.
    :ivar seeds: (N, n) [rad] or [m].
    :ivar q: (N, n) joint vectors found [rad] or [m].
    :ivar status: (N,) ``IkStatus.number``.
    :ivar errors: (N, 2) [m] and [rad].
    :ivar counts: (N, 2) iterations and searches.
    :ivar states: (N, 3), see :func:`~ik_service.solvers.loop.search.solve_many`; (0, 3) where
        solves do not pause.
    :ivar motions: (N, 3), likewise.
    :ivar collision: (N,) names of two bodies that collide, or None.
    """

    targets: np.ndarray
    seeds: np.ndarray
    q: np.ndarray
    status: np.ndarray
    errors: np.ndarray
    counts: np.ndarray
    states: np.ndarray
    motions: np.ndarray
    collision: np.ndarray

    @classmethod
    def unsolved(cls, targets: np.ndarray, seeds: np.ndarray, pauses: bool = False) -> Rows:
        """
        Return rows that are to be solved.

        :param targets: (N, …) targets as the kernels take them.
        :param seeds: (N, n) [rad] or [m].
        :param pauses: whether their solves pause at every solution.
        """
        count = len(seeds)
        rows = cls(
            targets=targets,
            seeds=seeds,
            q=np.empty_like(seeds),
            status=np.full(count, IkStatus.INTERRUPTED.number),
            errors=np.empty((count, 2)),
            counts=np.zeros((count, 2), np.int64),
            states=np.zeros((count if pauses else 0, 3), np.int64),
            motions=np.zeros((count if pauses else 0, 3)),
            collision=np.full(count, None, object),
        )
        rows.motions[:, 1] = np.inf  # no solution is accepted
        return rows

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.status)

    def take(self, chosen: slice | np.ndarray) -> Rows:
        """Return some of the rows: of a slice, as views; of indices or (N,) bool, as copies."""
        return Rows(*[array[chosen] for array in self])

    def put(self, chosen: slice | np.ndarray, rows: Rows) -> None:
        """Copy the answers of as many other rows to chosen ones of these."""
        for name in ('q', 'status', 'errors', 'counts', 'collision'):
            getattr(self, name)[chosen] = getattr(rows, name)

    def write(self, row: int, result: IkResult) -> None:
        """Write the result of a single solve to a row."""
        self.q[row], self.status[row] = result.q, result.status.number
        self.errors[row] = result.position_error, result.orientation_error
        self.counts[row] = result.iterations, result.searches
        self.collision[row] = result.collision

    def solve(self, solver: Solver, problem: Problem, chained: bool = False) -> int:
        """
        Solve from the first row on until a tenth of a second is over.

        :param solver: the solver.
        :param problem: of this thread.
        :param chained: whether each target after the first is seeded with the answer before it.
        :returns: the number of rows solved, at least one.
        :raises SolverSpecError: when the step of a user's method cannot be compiled.
        """
        try:
            return search.solve_many(*self.arguments(solver, problem, chained))
        except NumbaError as error:
            raise step_error(solver.name, error) from error

    def arguments(self, solver: Solver, problem: Problem, chained: bool) -> tuple:
        """
        Return the arguments of the kernel that solves the rows.

        :param solver: the solver.
        :param problem: of this thread.
        :param chained: whether each target after the first is seeded with the answer before it.
        """
        return (
            problem,
            solver.parameters,
            self.targets,
            self.seeds,
            chained,
            _BUDGET,
            self.q,
            self.status,
            self.errors,
            self.counts,
            self.states,
            self.motions,
            np.empty((0, 2 * self.seeds.shape[1] + 3)),
        )


@dataclass(frozen=True, eq=False)
class IkBatchResult:
    """
    Results of a batch, row by row.

    :ivar q: (N, n) best joint vectors [rad] or [m].
    :ivar success: (N,) bool.
    :ivar position_error: (N,) [m].
    :ivar orientation_error: (N,) [rad].
    :ivar iterations: (N,) steps taken.
    :ivar searches: (N,) searches started.
    :ivar status: (N,) :class:`IkStatus` of each target.
    :ivar collision: (N,) names of two bodies that collide where only colliding solutions were
        found, else None; None for all when there was no collision test.
    :ivar solve_time: time of the whole batch [s].
    """

    q: np.ndarray
    success: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    iterations: np.ndarray
    searches: np.ndarray
    status: np.ndarray
    solve_time: float
    collision: np.ndarray | None = None
    hint: str = ''

    def reason(self, row: int) -> str:
        """
        Return the outcome of a row in a sentence.

        :param row: its index.
        """
        result = IkResult(
            self.status[row],
            self.q[row],
            float(self.position_error[row]),
            float(self.orientation_error[row]),
            int(self.iterations[row]),
            int(self.searches[row]),
            self.solve_time,
            collision=None if self.collision is None else self.collision[row],
            hint=self.hint if self.status[row] in HINTED else '',
        )
        return outcome_text(result)


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

    Each row is the result of :func:`~ik_service.solve_ik` for that target and seed; where 'bfgs'
    or 'conjugate_gradient' solves for several tips or tolerances, with limits by 'transform', it
    is so but for rounding, which may lead a search elsewhere.

    :param chain: the chain or the tree.
    :param targets: (N, 4, 4) T_base_tip, or a list of matrices and tasks; for a tree a mapping of
        every tip to these.
    :param seeds: (N, n) a seed for each target, or (n,) one for all [rad] or [m];
        chosen by ``seed_source`` when left out.
    :param solver: one of :func:`~ik_service.solver_names`.
    :param options: options; the timeout is that of each target.
    :param progress: called now and then with the number of targets done and N; when it returns
        False, the batch stops and the targets that are left have the status INTERRUPTED.
    :param threads: number of threads; as many as there are cores when left out.
    :param chained: seed each target after the first with the answer before it, as along a path;
        then there is one thread.
    :param collisions: test that the answers must pass, such as a
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
    seeds = _checked_seeds(chosen.chain, seeds, len(targets))
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
    Solve rows, of which nothing is checked: each gets the result of :func:`solve_ik_batch`.

    :param solver: the solver.
    :param rows: rows with targets, whose arrays may have been used before; their seeds are those
        of the solver if it guesses them.
    :param threads: number of threads; as many as there are cores when left out.
    :param test: test that the answers must pass.
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


def check_course(progress: object, threads: object, chained: object) -> None:
    """
    Check the arguments that say how a batch runs.

    :param progress: function, or None.
    :param threads: number of threads, or None.
    :param chained: whether each target is seeded with the answer before it.
    :raises ArgumentError: naming the argument.
    """
    if progress is not None and not callable(progress):
        raise ArgumentError('progress', f'has to be a function, not {safe_repr(progress)}')
    if threads is not None:
        whole_number(threads, 'threads', most=_MOST_THREADS)
    truth_value(chained, 'chained')


def _checked_seeds(
    chain: KinematicChain | KinematicTree, seeds: ArrayLike, count: int
) -> np.ndarray:
    """Return a copy of seeds (N, n) or (n,), for N targets, as a (N, n) array."""
    seeds = real_array(seeds, 'seeds')
    if seeds.shape == (0,) == (count,):
        seeds = seeds.reshape(0, chain.n)
    if seeds.shape not in ((chain.n,), (count, chain.n)):
        raise ArgumentError(
            'seeds', f'have shape {seeds.shape}, have to be ({count}, {chain.n}) or ({chain.n},)'
        )
    if not np.isfinite(seeds).all():
        row = int(np.argwhere(~np.isfinite(seeds))[0][0])
        raise ArgumentError('seeds', f'hold NaN or infinity in row {row}')
    return np.array(np.broadcast_to(seeds, (count, chain.n)), order='C')


def batch_targets(solver: Solver, targets: BatchTargets) -> tuple[Solver, np.ndarray]:
    """
    Return the solver for some targets, and the targets as its kernels take them.

    :param solver: the solver of the chain or the tree.
    :param targets: (N, 4, 4), a list with tasks in it, or a mapping of the tips of a tree to
        these.
    :returns: the solver, for a chain with tasks that of its tree of one tip; and an array whose
        rows are targets.
    :raises ArgumentError: when a target is none; names the row, and the tip of a tree.
    """
    if isinstance(targets, (list, tuple)) and any(isinstance(each, Task) for each in targets):
        solver = solver.with_tolerances
    return solver, solver.packed_many(targets)


class _Job:
    """Arrays of a batch, and the threads that fill them."""

    def __init__(
        self, solver: Solver, rows: Rows, chained: bool, guessed: bool, test: CollisionTest | None
    ) -> None:
        self._lister = solver
        self._solver = solver if test is None else solver.candidates()
        self._rows = rows
        self._chained = chained
        self._guessed = guessed
        self._test = test
        self._began = time.perf_counter()
        self._stopped = False

    def run(self, progress: Callable[[int, int], object] | None, threads: int) -> None:
        """Solve all chunks, until the callback returns False."""
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
        if self._lister.lists:
            listed = self._lister.listed(rows.targets[first], rows.seeds[first], None, self._test)
            if listed is not None:
                rows.write(first, listed)
                return 1
            last = first + 1
        if self._test is None:
            return rows.take(slice(first, last)).solve(self._solver, problem, self._chained)
        last = first + 1 if self._chained else last
        return _solve_free_rows(
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


def _solve_free_rows(
    rows: Rows, solver: Solver, problem: Problem, test: CollisionTest, stopped: Callable[[], bool]
) -> int:
    """
    Solve rows from the first on, each as :func:`~ik_service.solvers.solver.solve_free`.

    All are solved and tested; those that collide go on from where they were, and so on. Returns
    the number of rows answered: at least one, but 0 when the batch is to end.
    """
    rows = rows.take(slice(0, LARGEST_ROUND))
    first = Rows.unsolved(rows.targets, rows.seeds, pauses=True)
    done = slice(0, first.solve(solver, problem))
    answers = first.take(done)
    indices = np.flatnonzero(answers.status == _SUCCESS)
    going = answers.take(indices)
    answers.status[indices] = _IN_COLLISION
    answers.motions[:, _FOUND] = np.inf
    _, settings, _ = solver.views(problem)
    while going.size:
        wanted = _judge(answers, indices, going, test)
        wanted &= going.counts[:, 1] < settings.max_searches[0]
        wanted &= going.states[:, _SPENT] < settings.timeout[0]
        indices, going = indices[wanted], going.take(wanted)
        if not _all_solved(going, solver, problem, stopped):
            return 0
        answers.counts[indices] = going.counts
        solved = going.status == _SUCCESS
        indices, going = indices[solved], going.take(solved)
    for row in np.flatnonzero(answers.status == _IN_COLLISION):
        answers.collision[row] = test.first_contact(answers.q[row])
    rows.put(done, answers)
    return answers.size


def _judge(answers: Rows, indices: np.ndarray, going: Rows, test: CollisionTest) -> np.ndarray:
    """Test solutions of rows (k,), and keep better answers; return (k,) which are to go on."""
    began = perf_counter_ns()
    colliding = test.colliding(going.q)
    going.states[:, _SPENT] += (perf_counter_ns() - began) // going.size
    found = going.motions[:, _FOUND]
    going.motions[~colliding, _KEPT] = found[~colliding]
    free = answers.status[indices] == _SUCCESS
    better = ~colliding | (~free & (found < answers.motions[indices, _FOUND]))
    answers.q[indices[better]] = going.q[better]
    answers.errors[indices[better]] = going.errors[better]
    answers.motions[indices[better], _FOUND] = found[better]
    answers.status[indices[~colliding]] = _SUCCESS
    return colliding | (going.states[:, _GOES_ON] != 0)


def _all_solved(rows: Rows, solver: Solver, problem: Problem, stopped: Callable[[], bool]) -> bool:
    """Solve rows; returns whether all are solved before the batch is to end."""
    first = 0
    while first < rows.size and not stopped():
        first += rows.take(slice(first, None)).solve(solver, problem)
    return first == rows.size


class BatchKernels(KernelUser):
    """
    Kernels of batches, which :class:`~ik_service.arm.compilation.Compiler` can prepare.

    They depend on the method, not on the arm.

    :param solver: a solver of a chain.
    :ivar chain: its chain.
    :ivar name: of the method.
    """

    def __init__(self, solver: Solver) -> None:
        self.chain = solver.chain
        self.name = solver.name
        self._solver = solver

    def kernels(self) -> list[tuple]:
        """Return the kernel of batches, with example arguments."""
        solver, n = self._solver, self.chain.n
        rows = Rows.unsolved(np.empty((1, 4, 4)), np.empty((1, n)))
        return [(search.solve_many, *rows.arguments(solver, solver.problem(), False))]

    def warm_up(self) -> None:
        """Compile them, or load them from the cache."""
        q = self.chain.mid_range()
        solve_ik_batch(self.chain, self.chain.forward(q)[None], q, self.name, threads=1)
