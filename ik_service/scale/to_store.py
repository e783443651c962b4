"""Batches of any size into a store that survives an interruption: :func:`solve_to_store`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import os
import time
from typing import cast, TYPE_CHECKING

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.scale.chain_spec import ChainSpec
from ik_service.scale.result_store import ResultStore
from ik_service.scale.solving import solve_block
from ik_service.scale.targets import block_targets, blocks_of, BlockTargets

if TYPE_CHECKING:
    from distributed import Client
    from numpy.typing import ArrayLike

_CHUNK = 50_000
_MOST = 5_000_000
_STREAM = 'stream'


@dataclass(frozen=True)
class StoreReport:
    """
    What a call has done.

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
    progress: bool | Callable[[int, int | None], object] = True,
    client: Client | None = None,
) -> StoreReport:
    """
    Solve for targets, and write the answers to a Zarr store; called again, it goes on.

    The answers come in chunks. What is interrupted, by a signal, a full disk or a machine that is
    switched off, has all chunks that were whole; the same call then solves only those that are
    missing, and the answers are the same as without the interruption. At any time only some
    chunks are in memory.

    :param chain_spec: chain, solver and options.
    :param targets: (N, 4, 4) T_base_tip in an array of NumPy, a memory map, or an array of Zarr;
        a :class:`~ik_service.scale.PoseGrid`; or an iterator of such arrays, which has to give the
        same again when the call is to go on. A row that is no pose is marked, and stops nothing.
    :param store: folder of the store; read its arrays with Zarr.
    :param chunk: targets of a chunk; a store that is there keeps its own.
    :param threads: number of threads of a process; as many as it has cores when left out, and one
        in a worker that runs several tasks at a time.
    :param progress: whether to show a bar with rate and time left; or a function that is called
        with the number of targets done, and their number where it is known.
    :param client: ``dask.distributed.Client`` whose workers solve; they need the folder too. Not
        for iterators.
    :raises ArgumentError: an argument has another shape or type.
    :raises StoreError: the store holds something else, is written by somebody else, or cannot be
        written; what it holds is kept.
    :raises MissingExtraError: zarr, or for ``client`` dask, is not installed.
    """
    began = time.monotonic()
    if not isinstance(chain_spec, ChainSpec):
        raise ArgumentError('chain_spec', f'has to be a ChainSpec, not {safe_repr(chain_spec)}')
    if not (isinstance(chunk, int) and not isinstance(chunk, bool) and 1 <= chunk <= _MOST):
        raise ArgumentError('chunk', f'has to be from 1 to {_MOST}, not {safe_repr(chunk)}')
    names = chain_spec.build().chain.joint_names
    blocks = block_targets(targets)
    if blocks is None and client is not None:
        raise ArgumentError('targets', 'of a client cannot be an iterator')
    digest, count = (_STREAM, 0) if blocks is None else (blocks.digest, len(blocks))
    results = ResultStore.open(store, chain_spec, names, digest, count, chunk)
    with results.alone(), _progress(progress, None if blocks is None else count) as advance:
        if blocks is None:
            stream = cast('Iterable[ArrayLike]', targets)
            count, before = _solve_stream(chain_spec, stream, results, threads, advance)
        else:
            before = _solve_blocks(chain_spec, blocks, results, threads, advance, client)
    return StoreReport(results, count, before, time.monotonic() - began)


_Advance = Callable[[int], object]


def _solve_blocks(
    spec: ChainSpec,
    targets: BlockTargets,
    results: ResultStore,
    threads: int | None,
    advance: _Advance,
    client: Client | None,
) -> int:
    """Solve the chunks that are missing; returns how many targets were solved before."""
    firsts = range(0, len(targets), results.chunk)
    missing = [first for first in firsts if not results.is_solved(first)]
    before = len(targets) - sum(min(results.chunk, len(targets) - first) for first in missing)
    advance(before)
    if client is not None:
        from ik_service.scale.dask_cluster import solve_on_cluster

        solve_on_cluster(client, spec, targets, results, missing, threads, advance)
        return before
    for first in missing:
        last = min(first + results.chunk, len(targets))
        results.write(first, solve_block(spec, targets.block(first, last), threads))
        advance(last - first)
    return before


def _solve_stream(
    spec: ChainSpec,
    stream: Iterable[ArrayLike],
    results: ResultStore,
    threads: int | None,
    advance: _Advance,
) -> tuple[int, int]:
    """Solve what comes; returns how many targets came, and how many were solved before."""
    first = before = 0
    for block in blocks_of(stream, results.chunk):
        last = first + len(block)
        # A chunk that was the last one, and smaller, may have grown since.
        if last <= results.size and results.is_solved(last - 1):
            before += len(block)
        else:
            results.grow(last)
            results.write(first, solve_block(spec, block, threads))
        advance(len(block))
        first = last
    return first, before


@contextmanager
def _progress(
    progress: bool | Callable[[int, int | None], object], count: int | None
) -> Iterator[_Advance]:
    """Show a bar on a terminal during a ``with`` block, or call a function."""
    if callable(progress):
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            progress(done, count)

        yield advance
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda more: None
        return
    hidden = None if progress else True  # None: shown only on a terminal
    with tqdm(total=count, unit=' poses', unit_scale=True, disable=hidden) as bar:
        yield bar.update
