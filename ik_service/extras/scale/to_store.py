"""Batches of any size into a store that survives an interruption: :func:`solve_to_store`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import os
import time
from typing import cast, TYPE_CHECKING

import numpy as np

from ik_service.common.arguments import check_kind, whole_number
from ik_service.exceptions import ArgumentError, StoreInterruptedError
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.scale.result_store import Comparison, ResultStore
from ik_service.extras.scale.solving import (
    BlockSolver,
    Progress,
    progress_of,
    solve_and_write,
    transform_digests,
)
from ik_service.extras.scale.targets import (
    block_reader,
    block_targets,
    blocks_of,
    BlockTargets,
    FileTargets,
    reader_of,
)
from ik_service.solvers.batch import check_course

if TYPE_CHECKING:
    from distributed import Client
    from numpy.typing import ArrayLike

_CHUNK = 50_000  # targets of a chunk: 0.15 s of work for a Panda
_MOST = 1_000_000  # targets of a chunk, at most: memory
_STREAM = 'stream'


@dataclass(frozen=True)
class StoreReport:
    """
    Report of a call.

    :ivar store: the store with all answers.
    :ivar count: number of targets.
    :ivar solved_before: those that an earlier call had solved.
    :ivar seconds: time of this call [s].
    """

    store: ResultStore
    count: int
    solved_before: int
    seconds: float

    @property
    def rate(self) -> float:
        """Targets that this call has solved in a second."""
        return (self.count - self.solved_before) / self.seconds if self.seconds > 0 else 0.0


def solve_to_store(
    chain_spec: ChainSpec,
    targets: object,
    store: str | os.PathLike[str],
    *,
    chunk: int = _CHUNK,
    threads: int | None = None,
    progress: bool | str | Callable[[int, int | None], object] = True,
    client: Client | None = None,
) -> StoreReport:
    """
    Solve for targets, and write the answers to a Zarr store; called again, it goes on.

    The answers come in chunks. A run interrupted by a signal, a full disk or a machine that is
    switched off keeps all chunks that were whole; the same call then solves only those that are
    missing, or of which a target was changed, and the answers are the same as without the
    interruption. At any time only some chunks are in memory.

    :param chain_spec: chain, solver and options.
    :param targets: (N, 4, 4) T_base_tip in an array of NumPy, a memory map, or an array of Zarr;
        a :class:`~ik_service.extras.scale.PoseGrid`; or an iterator of such arrays, which has to
        give the same again when the call is to go on, and may give more. A row that is no pose is
        marked, and stops nothing.
    :param store: folder of the store; read its arrays with Zarr.
    :param chunk: targets of a chunk, a million at most; a store that is there keeps its own.
    :param threads: number of threads of a process; as many as it has cores when left out. On a
        cluster, hosts that solve several chunks at a time have one for each.
    :param progress: whether to show a bar with rate and time left, or its name; or a function
        that is called with the number of targets done, and their number where it is known. Its
        exceptions end the call, with or without a cluster.
    :param client: ``dask.distributed.Client`` whose workers solve; they need the folder too. Not
        for iterators.
    :raises ArgumentError: an argument has another shape or type, or a file of targets was changed
        meanwhile.
    :raises StoreError: the store holds something else, or more than an iterator has given, is
        written by somebody else, or cannot be written; its content is kept.
    :raises StoreInterruptedError: on Ctrl-C; also a KeyboardInterrupt.
    :raises ClusterError: a cluster has no workers, they do not see the folder or the same targets,
        or it is lost.
    :raises MissingExtraError: zarr, or for ``client`` dask, is not installed.
    """
    began = time.monotonic()
    check_kind(chain_spec, ChainSpec, 'chain_spec')
    chunk = whole_number(chunk, 'chunk', 1, _MOST)
    check_course(None, threads, chained=False)
    names = chain_spec.build().chain.joint_names
    blocks = block_targets(targets)
    if client is not None:
        from ik_service.extras.scale.dask_cluster import check_client

        check_client(client)
        if blocks is None:
            raise ArgumentError('targets', 'of a client cannot be an iterator')
    digest, count = (_STREAM, 0) if blocks is None else (blocks.digest, len(blocks))
    results = ResultStore.open(store, chain_spec, names, digest, count, chunk)
    all_ = None if blocks is None else count
    with _interruptible(results), results.alone(), progress_of(progress, all_) as shown:
        if blocks is None:
            stream = cast('Iterable[ArrayLike]', targets)
            count, before = _solve_stream(chain_spec, stream, results, threads, shown)
        else:
            before = _solve_blocks(chain_spec, blocks, results, threads, shown, client)
    return StoreReport(results, count, before, time.monotonic() - began)


def _solve_blocks(
    spec: ChainSpec,
    targets: BlockTargets,
    results: ResultStore,
    threads: int | None,
    progress: Progress,
    client: Client | None,
) -> int:
    """Solve the chunks that are missing; returns how many targets were solved before."""
    count = len(targets)
    missing, compared = [], Comparison()
    for first in range(0, count, results.chunk):
        last = min(first + results.chunk, count)
        found = results.compare(first, last, reader_of(targets, first, last))
        compared += found
        if not found.is_answered:
            missing.append((first, last))
    results.check(compared)
    before = count - sum(last - first for first, last in missing)
    progress.skip(before)
    if client is not None:
        from ik_service.extras.scale.dask_cluster import solve_on_cluster

        solve_on_cluster(client, spec, targets, results, missing, threads, progress)
    else:
        read = block_reader(targets, min(results.chunk, count))
        blocks = ((first, read(first, last)) for first, last in missing)
        for written in solve_and_write(BlockSolver(spec, threads), blocks, results.write):
            progress.advance(written)
    if isinstance(targets, FileTargets) and (client is not None or not targets.is_original):
        # A worker may have opened another file of that path.
        _check_targets(targets, results, missing)
    return before


def _solve_stream(
    spec: ChainSpec,
    stream: Iterable[ArrayLike],
    results: ResultStore,
    threads: int | None,
    progress: Progress,
) -> tuple[int, int]:
    """Solve all targets; returns their number, and how many were solved before."""
    count = before = 0

    def missing() -> Iterator[tuple[int, np.ndarray]]:
        nonlocal count, before
        compared = Comparison()
        for block in blocks_of(stream, results.chunk):
            first, count = count, count + len(block)
            found = results.compare(first, count, block.view)
            compared += found
            results.check(compared)
            if found.is_answered:
                before += len(block)
                progress.skip(len(block))
            else:
                yield first, block

    for written in solve_and_write(BlockSolver(spec, threads), missing(), results.write):
        progress.advance(written)
    results.check_count(count)
    return count, before


def _check_targets(
    targets: BlockTargets, results: ResultStore, chunks: Iterable[tuple[int, int]]
) -> None:
    """Discard chunks that hold answers for other targets than can be read now, and refuse them."""
    others = [
        (first, last)
        for first, last in chunks
        if (results.read('target_digest', first, last)
            != transform_digests(targets.block(first, last))).any()
    ]  # fmt: skip
    for first, _ in others:
        results.discard(first)
    if others:
        first, last = others[0]
        raise ArgumentError(
            'targets',
            f'{first} to {last} are others now than those that were solved: their file was '
            f'changed or replaced meanwhile; the same call solves {len(others)} chunks again',
        )


@contextmanager
def _interruptible(store: ResultStore) -> Iterator[None]:
    """Report the state of the answers upon Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise StoreInterruptedError(store.path) from error
