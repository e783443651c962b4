"""Thread that calls a function at a steady rate, undelayed by other callbacks."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time

_SHORTEST = 0.98
"""Shortest time between two calls, in periods; less than 1, to make up for small delays."""

_REST = 0.6
"""Shortest time from the end of a call to the next one, in periods."""


class PeriodicThread:
    """
    Thread that calls a function at a rate, for the time of a ``with`` block.

    A call that comes a little late does not shift the ones after it. Missed calls are left out:
    from one call to the next it is never much less than a period.

    :param call: called with the time on the monotonic clock [s].
    :param rate: calls a second [Hz].
    :param on_error: called with what ``call`` raised; the thread goes on.
    """

    def __init__(
        self,
        call: Callable[[float], None],
        rate: float,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._rate = rate
        self._call = call
        self._on_error = on_error
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='periodic', daemon=True)

    @property
    def rate(self) -> float:
        """Calls a second [Hz]; may be set while it runs, and holds at once."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        with self._changed:
            self._rate = rate
            self._changed.notify()

    def __enter__(self) -> PeriodicThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(0.2)

    def _run(self) -> None:
        due = last = time.monotonic()
        while True:
            with self._changed:
                while not self._ended and time.monotonic() < due:
                    rate = self._rate
                    self._changed.wait(due - time.monotonic())
                    if self._rate != rate:
                        due = last + 1.0 / self._rate
                if self._ended:
                    return
                period = 1.0 / self._rate
            last = time.monotonic()
            try:
                self._call(last)
            except Exception as error:
                self._on_error(error)
            due = max(due + period, last + _SHORTEST * period, time.monotonic() + _REST * period)
