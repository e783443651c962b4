"""Answers to blocks of targets of which some may be no poses, and their progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
import sys
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.jit.compile import kernel
from ik_service.kinematics.pose_error import transform_fault
from ik_service.solvers.batch import Rows, solve_rows
from ik_service.solvers.collision_test import collision_test
from ik_service.solvers.solver import prepared

if TYPE_CHECKING:
    from tqdm import tqdm

UNSOLVED = 255
"""Number in the place of a status: the row has not been solved yet."""

NO_POSE = 254
"""Number in the place of a status: the target holds NaN or infinity, or is not rigid."""

_TURNS = 2  # while one block is solved, the answers to that before it are written


@kernel
def mark_rigid(transforms: np.ndarray, rigid: np.ndarray) -> None:
    """Mark in ``rigid`` (N,) which transforms (N, 4, 4) are finite and rigid."""
    for row in range(transforms.shape[0]):
        rigid[row] = transform_fault(transforms[row]) == 0


_START = np.uint64(0xCBF29CE484222325)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a word is lost
_HALF = np.uint64(32)


def transform_digests(transforms: np.ndarray) -> np.ndarray:
    """Return a digest (k,) of 32 bits of all bits of each transform (k, 4, 4)."""
    digests = np.empty(len(transforms), np.uint32)
    words = np.ascontiguousarray(transforms, dtype=np.float64).reshape(-1, 16).view(np.uint64)
    _digest_rows(words, digests)
    return digests


@kernel
def _digest_rows(words: np.ndarray, digests: np.ndarray) -> None:
    """Compute FNV digests (k,) of rows of words (k, 16) of 64 bits, with words for bytes."""
    for row in range(words.shape[0]):
        mixed = _START
        for word in words[row]:
            mixed = (mixed ^ word) * _FACTOR
            mixed ^= mixed >> _HALF
        digests[row] = np.uint32(mixed >> _HALF)


class Answers(NamedTuple):
    """
    Answers, row by row.

    :ivar q: (k, n) joint vectors [rad] or [m]; NaN where the target is no pose.
    :ivar status: (k,) ``IkStatus.number``, or :data:`NO_POSE`.
    :ivar position_error: (k,) [m].
    :ivar orientation_error: (k,) [rad].
    :ivar iterations: (k,) steps over all searches.
    :ivar searches: (k,) searches.
    :ivar target_digest: (k,) digest of the row's target.
    """

    q: np.ndarray
    status: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    iterations: np.ndarray
    searches: np.ndarray
    target_digest: np.ndarray


class BlockSolver:
    """
    Solver of blocks of targets.

    Its arrays are used again and again: where a process gives freed memory back to the system at
    once, as Dask's workers do, new ones would take a tenth of the time in which they are filled.

    :param spec: chain, solver and options.
    :param threads: number of threads; as many as there are cores when left out.
    :raises IkServiceError: the specification cannot be built.
    """

    def __init__(self, spec: ChainSpec, threads: int | None = None) -> None:
        built = spec.build()
        self._solver = prepared(built.chain, spec.solver, spec.options)
        self._test = None
        if built.collisions is not None:
            self._test = collision_test(built.collisions, built.chain)
        self._threads = threads
        self._seeds = np.empty((0, built.chain.n))
        self._rows = [self._room(0) for _ in range(_TURNS)]

    def solve(self, targets: np.ndarray) -> Answers:
        """Solve targets (k, 4, 4); the next call but one uses the answers' arrays again."""
        targets = np.require(targets, np.float64, ['C', 'W'])
        poses = np.zeros(len(targets), bool)
        mark_rigid(targets, poses)
        rows = self._next(targets if poses.all() else targets[poses])
        solve_rows(self._solver, rows, self._threads, self._test)
        answers = Answers(
            rows.q,
            rows.status.astype(np.uint8),
            rows.errors[:, 0],
            rows.errors[:, 1],
            rows.counts[:, 0],
            rows.counts[:, 1],
            transform_digests(targets),
        )
        return answers if poses.all() else _with_gaps(answers, poses)

    def _next(self, targets: np.ndarray) -> Rows:
        """Return rows for some targets, in the arrays that have not been used for longest."""
        rows = self._rows.pop(0)
        if rows.size < len(targets):
            rows = self._room(len(targets))
        self._rows.append(rows)
        return rows.take(slice(len(targets)))._replace(targets=targets)

    def _room(self, count: int) -> Rows:
        if len(self._seeds) < count:
            self._seeds = np.tile(self._solver.chain.middle, (count, 1))
        return Rows.unsolved(np.empty((count, 0)), self._seeds[:count])


def _with_gaps(answers: Answers, poses: np.ndarray) -> Answers:
    """Return answers to the targets that are poses, a (k,) mask, among those that are not."""
    count, n = len(poses), answers.q.shape[1]
    gaps = Answers(
        np.full((count, n), np.nan),
        np.full(count, NO_POSE, np.uint8),
        np.full(count, np.nan),
        np.full(count, np.nan),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        answers.target_digest,
    )
    for all_rows, rows in zip(gaps[:-1], answers[:-1], strict=True):
        all_rows[poses] = rows
    return gaps


def solve_and_write(
    solver: BlockSolver,
    blocks: Iterable[tuple[int, np.ndarray]],
    write: Callable[[int, Answers], int],
) -> Iterator[int]:
    """
    Solve blocks; while one is solved, the answers to that before it are written.

    :param solver: solves a block.
    :param blocks: number of the first target of each, and its (k, 4, 4) targets, whose array may
        be that of the block before.
    :param write: writes the answers to a block, from the first target on; returns their number.
    :returns: the return values of ``write``, block by block.
    :raises IkServiceError: raised by ``write``.
    """
    with ThreadPoolExecutor(1) as writer:
        writing: Future[int] | None = None
        for first, targets in blocks:
            answers = solver.solve(targets)
            if writing is not None:
                yield writing.result()
            writing = writer.submit(write, first, answers)
        if writing is not None:
            yield writing.result()


class Progress:
    """Progress of a batch: a bar with rate and time left, or a function that is called."""

    def __init__(
        self,
        count: int | None,
        report: Callable[[int, int | None], object] | None = None,
        bar: tqdm | None = None,
    ) -> None:
        self._count = count
        self._report = report
        self._bar = bar
        self._done = 0

    def skip(self, count: int) -> None:
        """Count targets that an earlier call has solved; they do not belong to the rate."""
        if self._bar is not None:
            self._bar.initial += count
        self.advance(count)

    def advance(self, count: int) -> None:
        """Count targets that have been solved now."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        if self._report is not None:
            self._report(self._done, self._count)

    def reach(self, done: int, total: int) -> None:
        """Count so many of a total, which is only known now, as done."""
        if self._bar is not None:
            self._bar.total = total
        self.advance(done - self._done)


@contextmanager
def progress_of(
    choice: bool | str | Callable[[int, int | None], object],
    count: int | None,
    unit: str = ' poses',
) -> Iterator[Progress]:
    """Show the progress on a terminal, under a name, or by a function; or nothing."""
    if callable(choice):
        yield Progress(count, choice)
        return
    try:
        from tqdm import tqdm
    except ImportError:
        choice = False
    if not choice or sys.stderr is None or getattr(sys.stderr, 'closed', False):  # of a daemon
        yield Progress(count)
        return
    # Averaged over the whole run, as parts of the space take longer than others.
    name = choice if isinstance(choice, str) else None
    with tqdm(
        desc=name, total=count, unit=unit, unit_scale=True, smoothing=0, disable=None
    ) as bar:
        yield Progress(count, bar=None if bar.disable else bar)
