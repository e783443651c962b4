"""Digests of single targets, by which a call sees which of them an earlier one has answered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.kinematics.compile import kernel

_START = np.uint64(0xCBF29CE484222325)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a word is lost
_HALF = np.uint64(32)


class Comparison(NamedTuple):
    """
    How the targets of answered rows compare with those that were answered.

    :ivar rows: number of rows.
    :ivar changed: those whose target is another one.
    :ivar replaced: those of them whose earlier target was a pose.
    """

    rows: int = 0
    changed: int = 0
    replaced: int = 0

    def __add__(self, other: tuple[object, ...]) -> Comparison:
        """Return the numbers of the rows of both."""
        return Comparison(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]

    @property
    def is_of_others(self) -> bool:
        """Whether these are other targets, rather than the same of which some were changed."""
        return 2 * self.replaced > self.rows


def row_digests(targets: np.ndarray) -> np.ndarray:
    """
    Return a digest of each target, of all bits of its numbers.

    :param targets: (k, 4, 4).
    :returns: (k,) numbers of 32 bits.
    """
    digests = np.empty(len(targets), np.uint32)
    words = np.ascontiguousarray(targets, dtype=np.float64).reshape(-1, 16).view(np.uint64)
    _digest_rows(words, digests)
    return digests


@kernel
def _digest_rows(words: np.ndarray, digests: np.ndarray) -> None:
    """
    Compute digests of rows of words, in the way of Fowler, Noll and Vo, with words for bytes.

    :param words: (k, 16) of 64 bits.
    :param digests: (k,) of 32 bits, changed.
    """
    for row in range(words.shape[0]):
        mixed = _START
        for word in words[row]:
            mixed = (mixed ^ word) * _FACTOR
            mixed ^= mixed >> _HALF
        digests[row] = np.uint32(mixed >> _HALF)
