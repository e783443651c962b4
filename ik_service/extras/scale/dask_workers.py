"""Workers of a Dask cluster: what each is asked, and what it has to have, to solve chunks."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
import hashlib
import os
import socket
from typing import TYPE_CHECKING

import numpy as np

from ik_service.exceptions import ClusterError, IkServiceError
from ik_service.extras.scale.array_targets import sampled_rows
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.scale.result_store import ResultStore
from ik_service.extras.scale.solving import BlockSolver
from ik_service.extras.scale.targets import block_reader, BlockTargets

if TYPE_CHECKING:
    from distributed import Client

_Reader = Callable[[int, int], np.ndarray]

KEPT = 'the store keeps all whole chunks, and the same call goes on'


class Work:
    """
    What is solved, as it travels to the workers.

    :ivar spec: chain, solver and options.
    :param targets: the targets.
    :param sample: digest of some of them, as the client reads them.
    """

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
        """
        The targets, which are compared with those of the client at first in each process.

        :raises ClusterError: they are others.
        """
        if self.fault:
            raise ClusterError(f'a worker cannot go on: {self.fault}; {KEPT}')
        return self._targets

    @contextmanager
    def tools(self, size: int, threads: int | None) -> Iterator[tuple[BlockSolver, _Reader]]:
        """
        Lend a solver, and what reads blocks of targets, with their memory, to one task at a time.

        :param size: number of targets of the largest block.
        :param threads: number of threads of a solver; the same in all tasks.
        :raises IkServiceError: the specification cannot be built.
        """
        try:
            lent = self._idle.pop()
        except IndexError:  # others have them
            lent = BlockSolver(self.spec, threads), block_reader(self._targets, size)
        yield lent
        self._idle.append(lent)


def check_workers(client: Client, work: Work, results: ResultStore) -> None:
    """
    Refuse workers that lack the package, the folder or the targets.

    :param client: ``dask.distributed.Client``.
    :param work: what they shall solve.
    :param results: the store.
    :raises ClusterError: one of them does, or ends while it is asked; the message names it.
    """
    _ask(client, _fault_of_store, str(results.path), results.attributes['id'])
    _ask(client, _fault_of_targets, work)


def opened(path: str, identity: str) -> ResultStore:
    """
    Return the store of a path, if it is the one that is meant; opened once in a process.

    :param path: its path.
    :param identity: its ``id``.
    :raises StoreError: there is none that can be used.
    :raises ClusterError: it is another one.
    """
    return _opened(path, identity)


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


def _fault_of_targets(work: Work) -> str:
    """Return why a worker cannot read the targets; empty when it can."""
    return work.fault


def _sample(targets: BlockTargets) -> str:
    """Return a digest of targets by rows all over them."""
    digest = hashlib.sha256(targets.digest.encode())
    for row in sampled_rows(len(targets)):
        digest.update(np.ascontiguousarray(targets.block(row, row + 1)).tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def _opened(path: str, identity: str) -> ResultStore:
    results = ResultStore.existing(path, writable=True)
    if results.attributes['id'] != identity:
        raise ClusterError(f'{path} is another folder there: the workers need the same one')
    return results
