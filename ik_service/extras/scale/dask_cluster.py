"""Chunks of a large batch on the workers of a Dask cluster."""

from __future__ import annotations

from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
import hashlib
from operator import attrgetter
import os
import socket
import time
from typing import Any, TYPE_CHECKING
import uuid

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.common.resources import extra_module
from ik_service.exceptions import ArgumentError, ClusterError, IkServiceError
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.scale.group_files import disk_errors, targets_name
from ik_service.extras.scale.result_store import ResultStore
from ik_service.extras.scale.solving import BlockSolver, Progress, solve_and_write
from ik_service.extras.scale.targets import (
    ArrayTargets,
    block_reader,
    BlockTargets,
    reader_of,
    sampled_rows,
)

if TYPE_CHECKING:
    from distributed import as_completed, Client, Future, Worker


_Reader = Callable[[int, int], np.ndarray]

KEPT = 'the store keeps all whole chunks, and the same call goes on'

_LONGEST_TASK = 8  # chunks
_PAUSE = 0.01  # between looks for a task that has ended [s]
_PATIENCE = 30.0  # without one, before workers are asked whether they are at work, twice [s]


class Work:
    """Solves of a batch for the workers, with a digest of some targets as the client reads."""

    def __init__(self, spec: ChainSpec, targets: BlockTargets, sample: str = '') -> None:
        self.spec = spec
        self._targets = targets
        self._sample = sample or _sample(targets)
        self._idle: list[tuple[BlockSolver, _Reader]] = []

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.spec, self._targets, self._sample)

    @cached_property
    def fault(self) -> str:
        """Why this process cannot read the targets; empty when it can."""
        if _sample(self._targets) == self._sample:
            return ''
        return f'it reads other targets ({socket.gethostname()}, process {os.getpid()})'

    @property
    def targets(self) -> BlockTargets:
        """The targets; ClusterError if this process reads other ones than the client."""
        if self.fault:
            raise ClusterError(f'a worker cannot go on: {self.fault}; {KEPT}')
        return self._targets

    @contextmanager
    def tools(self, size: int, threads: int | None) -> Iterator[tuple[BlockSolver, _Reader]]:
        """Lend a solver and a reader of target blocks, with their memory, to a task at a time."""
        try:
            lent = self._idle.pop()
        except IndexError:  # others have them
            lent = BlockSolver(self.spec, threads), block_reader(self._targets, size)
        yield lent
        self._idle.append(lent)


def check_workers(client: Client, work: Work, results: ResultStore) -> None:
    """Refuse workers that lack package, folder or targets, by a ClusterError that names one."""
    _ask(client, _fault_of_store, str(results.path), results.attributes['id'])
    _ask(client, attrgetter('fault'), work)


def _ask(client: Client, question: Callable[..., str], *about: object) -> None:
    """Ask all workers for their faults, and refuse those that have one."""
    from distributed.comm import CommClosedError

    asked = set(client.nthreads())
    try:
        faults: Mapping[str, str | Exception] = client.run(question, *about, on_error='return')
    except (Exception, CancelledError) as error:  # of any kind, as for a scheduler that is lost
        ended = sorted(asked - set(_workers_of(client)))
        who = f'worker {", ".join(ended)}' if ended else 'the scheduler, or a worker,'
        raise ClusterError(_ended(who, error)) from error
    for worker, fault in faults.items():
        if isinstance(fault, CommClosedError) or (fault and worker not in _workers_of(client)):
            raise ClusterError(_ended(f'worker {worker}', fault))
        if fault:
            raise ClusterError(f'worker {worker} cannot take part: {fault}')


def _ended(who: str, fault: object) -> str:
    return (
        f'{who} has ended while it was asked whether it can take part ({fault}): look for the '
        f'reason in its log, and call again when it is back, or without it; {KEPT}'
    )


def _workers_of(client: Client) -> Mapping[str, int]:
    """Return the workers that there are still; none where their scheduler is lost."""
    try:
        return client.nthreads()
    except Exception:
        return {}


def _fault_of_store(path: str, identity: str) -> str:
    """Return why a worker cannot use the store; empty when it can."""
    _opened.cache_clear()
    try:
        _opened(path, identity)
    except IkServiceError as error:
        return str(error)
    return '' if os.access(path, os.W_OK) else f'it must not write to {path}'


def _sample(targets: BlockTargets) -> str:
    """Return a digest of targets by rows all over them."""
    digest = hashlib.sha256(targets.digest.encode())
    for row in sampled_rows(len(targets)):
        digest.update(np.ascontiguousarray(targets.block(row, row + 1)).tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def _opened(path: str, identity: str) -> ResultStore:
    """Return the store of a path, opened once in a process; ClusterError if it is another one."""
    results = ResultStore.existing(path, writable=True)
    if results.attributes['id'] != identity:
        raise ClusterError(f'{path} is another folder there: the workers need the same one')
    return results


def check_client(client: object) -> None:
    """Check that a client can be used: one of Dask's, open, not asynchronous, and with workers."""
    kind: Any = extra_module('distributed', 'scale', 'dask').Client
    if not isinstance(client, kind) or client.asynchronous:
        raise ArgumentError(
            'client', f'has to be a synchronous dask.distributed.Client, not {safe_repr(client)}'
        )
    if client.status != 'running':
        raise ClusterError(f'the client is not connected but {client.status}: make a new one')
    if not client.nthreads():
        raise ClusterError(
            'the cluster has no workers: start some, and wait with client.wait_for_workers(1)'
        )


def solve_on_cluster(
    client: Client,
    spec: ChainSpec,
    targets: BlockTargets,
    results: ResultStore,
    missing: Sequence[tuple[int, int]],
    threads: int | None,
    progress: Progress,
) -> None:
    """
    Solve chunks on the workers of a cluster; each writes its own.

    A chunk whose worker ends is solved by another. It is written as a whole, and its answers are
    always the same, so that it does not matter if it was written before.

    :param targets: the targets; the workers read arrays of NumPy from a file in the folder of the
        store.
    :param results: the store; the workers open it by its path.
    :param missing: numbers of the first target of each chunk, and of that after its last.
    :param threads: threads of a worker; all its cores when it is alone on its host, and runs one
        task at a time.
    :raises ArgumentError: more than one thread for workers that share a host.
    :raises ClusterError: a worker cannot take part, or the cluster is lost.
    """
    import dask

    if not missing:
        return
    chosen = _threads_of_task(client, threads)
    with _readable(targets, results) as source:
        work = Work(spec, source)
        check_workers(client, work, results)
        # One key of the graph, so that it goes to each worker once, and again if that is lost.
        sent = dask.delayed(work, name=f'work-{uuid.uuid4().hex}', traverse=False)
        solve = dask.delayed(_solve_chunks, pure=False)  # never the result of an earlier call
        sizes = task_sizes(len(missing), sum(_workers_of(client).values()))
        store = str(results.path), results.attributes['id']
        parts = np.split(np.array(missing), np.cumsum(sizes)[:-1])
        for count in _collect(client, [solve(part, sent, *store, chosen) for part in parts]):
            progress.advance(count)


def task_sizes(chunks: int, places: int) -> tuple[int, ...]:
    """
    Chunks of each task: many at first as workers pause between tasks, few at the end.

    :param places: threads of all workers; 0 where all have ended, and others may come.
    """
    sizes = []
    while chunks:
        sizes.append(min(max(chunks // (2 * max(places, 1)), 1), _LONGEST_TASK))
        chunks -= sizes[-1]
    return tuple(sizes)


def _collect(client: Client, tasks: list[object]) -> Iterator[int]:
    """Yield results of tasks, as they end; then cancel the unfinished ones."""
    from distributed import as_completed

    futures: list[Future] = []
    try:
        futures = client.compute(tasks, optimize_graph=False)
        # The default loop is that of the client made last, which need not be this one.
        ended = as_completed(futures, loop=client.loop, with_results=True)
        while not ended.is_empty():
            _wait(client, ended)
            future, count = next(ended)
            if isinstance(count, BaseException):  # the scheduler is gone
                raise count
            yield count
            future.release()
    except IkServiceError:
        raise
    except Exception as error:  # of any kind, such as for a worker that dies of each attempt
        raise ClusterError(f'the cluster has failed: {error}; {KEPT}') from error
    finally:
        if client.status == 'running':
            client.cancel([future for future in futures if not future.done()])


def _wait(client: Client, ended: as_completed) -> None:
    """Wait for the next task; ClusterError when no worker works: Dask can lose a killed one's."""
    rests, looked = 0, time.monotonic()
    while not ended.has_ready():
        time.sleep(_PAUSE)
        if time.monotonic() - looked > _PATIENCE:
            at_work = client.run(_tasks_at_work, on_error='return').values()
            rests, looked = 0 if any(at_work) else rests + 1, time.monotonic()
        if rests > 1:
            raise ClusterError(
                f'the cluster does not solve its last {ended.count()} tasks: no worker is at '
                f'work, one may have lost them when it ended; {KEPT}'
            )


def _tasks_at_work(dask_worker: Worker) -> int:
    return len(dask_worker.state.executing)


def _threads_of_task(client: Client, threads: int | None) -> int | None:
    """Return the threads of a task: one where a host solves several chunks at a time."""
    from distributed.comm import get_address_host

    check_client(client)  # the store was looked through meanwhile
    workers = client.nthreads()
    hosts = Counter(get_address_host(address) for address in workers)
    if max(workers.values()) == 1 and max(hosts.values()) == 1:
        return threads
    if threads not in (None, 1):
        raise ArgumentError(
            'threads',
            'has to be 1 or left out where a host has several workers, or one with several '
            f'threads, not {threads}: they would wait for each other',
        )
    return 1


@contextmanager
def _readable(targets: BlockTargets, results: ResultStore) -> Iterator[BlockTargets]:
    """Put targets of this process into a file within the store, for a ``with`` block."""
    if not isinstance(targets, ArrayTargets) or not targets.is_held:
        yield targets
        return
    path = targets_name(results.path)
    try:
        with disk_errors(results.path):
            held = targets.save(path)
        yield held
    finally:
        with suppress(OSError):  # the next writer removes it
            path.unlink()


def _solve_chunks(
    chunks: np.ndarray, work: Work, path: str, identity: str, threads: int | None
) -> int:
    """Solve chunks from one target to another, and write them; return the number of targets."""
    targets, results = work.targets, _opened(path, identity)
    bounds = chunks.tolist()
    with work.tools(min(results.chunk, len(targets)), threads) as (solver, read):
        missing = (
            (first, read(first, last))
            for first, last in bounds
            # A worker may have died after it.
            if not results.compare(first, last, reader_of(targets, first, last)).is_answered
        )
        for _ in solve_and_write(solver, missing, results.write):
            pass
    return sum(last - first for first, last in bounds)
