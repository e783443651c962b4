"""Chunks of a large batch on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ik_service.exceptions import MissingExtraError
from ik_service.scale.chain_spec import ChainSpec
from ik_service.scale.result_store import disk_errors, ResultStore
from ik_service.scale.solving import solve_block
from ik_service.scale.targets import ArrayTargets, BlockTargets

if TYPE_CHECKING:
    from distributed import Client


def solve_on_cluster(
    client: Client,
    spec: ChainSpec,
    targets: BlockTargets,
    results: ResultStore,
    firsts: Sequence[int],
    threads: int | None,
    advance: Callable[[int], object],
) -> None:
    """
    Solve chunks on the workers of a cluster; each writes its own.

    A chunk whose worker ends is solved by another. It is written as a whole, and its answers are
    always the same, so that it does not matter if it was written before.

    :param client: ``dask.distributed.Client``.
    :param spec: chain, solver and options.
    :param targets: the targets; the workers read arrays from their files, and those that are in
        memory from one beside the store.
    :param results: the store; the workers open it by its path.
    :param firsts: numbers of the first targets of the chunks.
    :param threads: threads of a worker; all its cores when it runs one task at a time.
    :param advance: called with the number of targets of each chunk that is there.
    :raises MissingExtraError: dask is not installed.
    """
    try:
        import dask.array as da
        from distributed import as_completed
    except ImportError as error:
        raise MissingExtraError('dask', 'scale') from error
    if not firsts:
        return
    with _readable(targets, results) as source:
        starts = da.from_array(np.array(firsts), chunks=1)
        counts = starts.map_blocks(
            _solve_chunk,
            spec,
            source,
            str(results.path),
            threads,
            dtype=int,
            meta=np.empty(0, int),
        )
        futures = client.compute(list(counts.to_delayed()))
        for _, counted in as_completed(futures, with_results=True):
            advance(int(np.asarray(counted).sum()))


@contextmanager
def _readable(targets: BlockTargets, results: ResultStore) -> Iterator[BlockTargets]:
    """Put targets that are in memory into a file beside the store, for a ``with`` block."""
    if not (isinstance(targets, ArrayTargets) and targets.is_held):
        yield targets
        return
    path = results.path.with_name(f'{results.path.name}.targets.npy')
    with disk_errors(path):
        held = targets.save(path)
    try:
        yield held
    finally:
        path.unlink(missing_ok=True)


def _solve_chunk(
    starts: np.ndarray, spec: ChainSpec, targets: BlockTargets, path: str, threads: int | None
) -> np.ndarray:
    """Solve the chunks that begin at some targets, and write them; returns their sizes."""
    results = ResultStore.existing(path)
    counts = np.zeros(len(starts), int)
    for number, first in enumerate(starts.tolist()):
        last = min(first + results.chunk, len(targets))
        counts[number] = last - first
        if not results.is_solved(first):
            chosen = threads or _own_threads()
            results.write(first, solve_block(spec, targets.block(first, last), chosen))
    return counts


def _own_threads() -> int | None:
    """Return one thread in a worker that runs several tasks at a time; else None, for all."""
    from distributed import get_worker

    return 1 if get_worker().state.nthreads > 1 else None
