"""A steady beat in a thread of its own, which no callback can delay."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time

_SHORTEST = 0.98
"""Shortest time between two beats, in periods: what small delays are made up for with."""

_REST = 0.6
"""Shortest time from the end of a beat to the next one, in periods."""


class Ticker:
    """
    Calls a function at a rate, as a context manager: for the time of a ``with`` block.

    A beat that comes a little late does not shift the ones after it. None is made up for: from
    one beat to the next it is never much less than a period.

    :param tick: called with the time on the monotonic clock [s].
    :param rate: calls a second [Hz].
    :param on_error: told of what ``tick`` raised; the beat goes on.
    """

    def __init__(
        self,
        tick: Callable[[float], None],
        rate: float,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._rate = rate
        self._tick = tick
        self._on_error = on_error
        self._news = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='ticker', daemon=True)

    @property
    def rate(self) -> float:
        """Calls a second [Hz]; may be set while it runs, and holds at once."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        with self._news:
            self._rate = rate
            self._news.notify()

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._news:
            self._ended = True
            self._news.notify()
        self._thread.join(0.2)

    def _run(self) -> None:
        due = last = time.monotonic()
        while True:
            with self._news:
                while not self._ended and time.monotonic() < due:
                    rate = self._rate
                    self._news.wait(due - time.monotonic())
                    if self._rate != rate:
                        due = last + 1.0 / self._rate
                if self._ended:
                    return
                period = 1.0 / self._rate
            last = time.monotonic()
            try:
                self._tick(last)
            except Exception as error:
                self._on_error(error)
            due = max(due + period, last + _SHORTEST * period, time.monotonic() + _REST * period)
