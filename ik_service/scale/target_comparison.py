"""Comparison of targets with those that an earlier call has answered."""

from __future__ import annotations

from typing import NamedTuple


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
