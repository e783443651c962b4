"""A bar that shows how far a long computation is."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 30
_PAUSE = 0.1  # between two drawings [s]


class ProgressBar:
    """
    A bar on a terminal, for the time of a ``with`` block; elsewhere only a line at the end.

    :param label: what is being done.
    :param total: steps that make the whole.
    :param stream: where it is drawn; standard error by default, to leave the output to results.
    """

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = total
        self._stream = stream or sys.stderr
        self._done = 0
        self._drawn_at = -_PAUSE
        self._began = time.monotonic()

    def __enter__(self) -> ProgressBar:
        self._draw()
        return self

    def __exit__(self, *_exception: object) -> None:
        seconds = time.monotonic() - self._began
        start = '\r\x1b[K' if self._stream.isatty() else ''
        self._stream.write(
            f'{start}{self._label}: {self._done:,} of {self._total:,} in {seconds:.1f} s\n'
        )
        self._stream.flush()

    def update(self, done: int) -> None:
        """Show that so many of the steps are done."""
        self._done = done
        if time.monotonic() - self._drawn_at >= _PAUSE:
            self._draw()

    def _draw(self) -> None:
        if not self._stream.isatty():
            return
        self._drawn_at = time.monotonic()
        share = self._done / self._total if self._total else 1.0
        bar = '█' * round(_WIDTH * share)
        self._stream.write(f'\r\x1b[K{self._label} {bar:░<{_WIDTH}} {share:4.0%}')
        self._stream.flush()
