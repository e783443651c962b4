"""Comparison of targets with those that an earlier call has answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TYPE_CHECKING

from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import transform_digests

if TYPE_CHECKING:
    from ik_service.extras.scale.result_store import ResultStore
    from ik_service.extras.scale.targets import BlockTargets


class Comparison(NamedTuple):
    """
    How targets compare with those that were answered.

    :ivar rows: number of rows that have an answer.
    :ivar changed: those whose target is another one.
    :ivar replaced: those of them whose earlier target was a pose.
    :ivar missing: number of rows that have no answer.
    """

    rows: int = 0
    changed: int = 0
    replaced: int = 0
    missing: int = 0

    def __add__(self, other: tuple[object, ...]) -> Comparison:
        """Return the numbers of the rows of both."""
        return Comparison(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]

    @property
    def is_answered(self) -> bool:
        """Whether nothing is to be solved."""
        return not self.missing and not self.changed

    @property
    def is_of_others(self) -> bool:
        """Whether these are other targets, rather than the same of which some were changed."""
        return 2 * self.replaced > self.rows


def check_targets(
    targets: BlockTargets, results: ResultStore, chunks: Iterable[tuple[int, int]]
) -> None:
    """
    Discard chunks that hold answers for other targets than can be read now, and refuse them.

    :param targets: the targets.
    :param results: the store.
    :param chunks: numbers of the first target of each chunk, and of that after its last.
    :raises ArgumentError: there are such chunks.
    """
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
            f'changed meanwhile; the same call solves {len(others)} chunks again',
        )
