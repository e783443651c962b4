"""Digests of transforms, by which those that have changed are found."""

from __future__ import annotations

import numpy as np

from ik_service.jit.compile import kernel

_START = np.uint64(0xCBF29CE484222325)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a word is lost
_HALF = np.uint64(32)


def transform_digests(transforms: np.ndarray) -> np.ndarray:
    """
    Return a digest of each transform, of all bits of its numbers.

    :param transforms: (k, 4, 4).
    :returns: (k,) numbers of 32 bits.
    """
    digests = np.empty(len(transforms), np.uint32)
    words = np.ascontiguousarray(transforms, dtype=np.float64).reshape(-1, 16).view(np.uint64)
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
