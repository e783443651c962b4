"""A steady beat in a thread of its own, which no callback can delay."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time


class Ticker:
    """
    Calls a function at a rate, as a context manager: for the time of a ``with`` block.

    A beat that comes late does not shift the ones after it; beats that were missed altogether
    are left out.

    :param tick: called with the time on the monotonic clock [s].
    :param rate: calls a second [Hz]; may be set while it runs.
    :param on_error: told of what ``tick`` raised; the beat goes on.
    """

    def __init__(
        self,
        tick: Callable[[float], None],
        rate: float,
        on_error: Callable[[Exception], None],
    ) -> None:
        self.rate = rate
        self._tick = tick
        self._on_error = on_error
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='ticker', daemon=True)

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(0.2)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            try:
                self._tick(now)
            except Exception as error:
                self._on_error(error)
            due += 1.0 / self.rate
            if due < now:
                due = now + 1.0 / self.rate
