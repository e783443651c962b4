"""Answers to blocks of targets of which some may be no poses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ik_service.kinematics.pose_error import mark_rigid
from ik_service.kinematics.transform_digests import transform_digests
from ik_service.scale.chain_spec import ChainSpec
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.result import IkBatchResult, IkStatus

UNSOLVED = 255
"""Number in the place of a status: the row has not been solved yet."""

NO_POSE = 254
"""Number in the place of a status: the target holds NaN or infinity, or is not rigid."""

_NUMBER = {status: status.number for status in IkStatus}


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


def solve_block(spec: ChainSpec, targets: np.ndarray, threads: int | None = None) -> Answers:
    """
    Solve for some targets; each row is what a single solve answers.

    :param spec: chain, solver and options.
    :param targets: (k, 4, 4) T_base_tip; rows that are no poses get the status :data:`NO_POSE`.
    :param threads: number of threads; as many as there are cores when left out.
    :raises IkServiceError: the specification cannot be built.
    """
    solver = spec.build()
    poses = np.zeros(len(targets), bool)
    mark_rigid(targets, poses)
    batch = solve_ik_batch(
        solver.chain,
        targets if poses.all() else targets[poses],
        solver=spec.solver,
        options=spec.options,
        threads=threads,
        collisions=solver.collisions,
    )
    answers = Answers(
        batch.q,
        _numbers(batch),
        batch.position_error,
        batch.orientation_error,
        batch.iterations,
        batch.searches,
        transform_digests(targets),
    )
    return answers if poses.all() else _with_gaps(answers, poses)


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
    spec: ChainSpec,
    blocks: Iterable[tuple[int, np.ndarray]],
    write: Callable[[int, Answers], int],
    threads: int | None = None,
) -> Iterator[int]:
    """
    Solve blocks; while one is solved, the answers to that before it are written.

    :param spec: chain, solver and options.
    :param blocks: number of the first target of each, and its (k, 4, 4) targets.
    :param write: writes the answers to a block, from the first target on; returns their number.
    :param threads: number of threads that solve; as many as there are cores when left out.
    :returns: what ``write`` has returned, block by block.
    :raises IkServiceError: the specification cannot be built, or what ``write`` raises.
    """
    with ThreadPoolExecutor(1) as writer:
        writing: Future[int] | None = None
        for first, targets in blocks:
            answers = solve_block(spec, targets, threads)
            if writing is not None:
                yield writing.result()
            writing = writer.submit(write, first, answers)
        if writing is not None:
            yield writing.result()


def _numbers(batch: IkBatchResult) -> np.ndarray:
    """Return the numbers of the statuses; enumerations are slow, and most rows are solved."""
    numbers = np.full(len(batch.success), IkStatus.SUCCESS.number, np.uint8)
    failed = np.flatnonzero(~batch.success)
    numbers[failed] = [_NUMBER[status] for status in batch.status[failed]]
    return numbers
