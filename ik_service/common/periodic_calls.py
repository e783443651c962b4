"""Calls of functions at steady rates, undelayed by other callbacks, several in one thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
import threading
import time
import traceback

_SHORTEST = 0.98
"""Shortest time between two calls, in periods; less than 1, to make up for small delays."""

_REST = 0.6  # shortest time from the end of a call to the next one, in periods
_PATIENCE = 0.2  # time that the last call may take when they end [s]


class CallClock:
    """Clock by which calls are made, which never runs back; this one is the monotonic clock."""

    def now(self) -> float:
        """Return the time [s]."""
        return time.monotonic()

    def wait(self, moment: float) -> float:
        """Return how long to wait in real time for a moment, or until to ask again [s]."""
        return moment - time.monotonic()


class PeriodicCalls:
    """
    Thread that makes the calls of many, for the time of a ``with`` block.

    Those that are due together are made one after the other, without a change of threads between
    them: none of them may take long.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: list[PeriodicCall] = []
        self._running: PeriodicCall | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='periodic', daemon=True)

    def __enter__(self) -> PeriodicCalls:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(_PATIENCE)

    @property
    def thread_id(self) -> int | None:
        """Identifier of the thread; None before it has begun."""
        return self._thread.ident

    def begin(self, call: PeriodicCall) -> None:
        """Make a call at its rate from now on."""
        with self._changed:
            call.due = time.monotonic()
            call.moment = call.last = call.clock.now()
            self._calls.append(call)
            self._changed.notify_all()

    def end(self, call: PeriodicCall) -> None:
        """Make a call no more; one that is being made gets a little time to end."""
        with self._changed:
            if call in self._calls:
                self._calls.remove(call)
            if threading.current_thread() is not self._thread:
                self._changed.wait_for(lambda: self._running is not call, _PATIENCE)

    def put_off(self, call: PeriodicCall, moment: float) -> None:
        """Change when a call is due next, on its clock [s]."""
        with self._changed:
            call.moment, call.due = moment, time.monotonic() + call.clock.wait(moment)
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._running = None
                self._changed.notify_all()
                call = self._running = self._next()
            if call is None:
                return
            try:
                call.make()
            except Exception:  # of the report of another: the calls of others go on
                traceback.print_exc()

    def _next(self) -> PeriodicCall | None:
        """Wait for the next call that is due, and return it; None at the end."""
        while not self._ended:
            call = min(self._calls, key=lambda call: call.due, default=None)
            left = None if call is None else call.due - time.monotonic()
            if left is not None and left <= 0.0:
                return call
            self._changed.wait(left)
        return None


class PeriodicCall:
    """
    Call at a rate, for the time of a ``with`` block.

    One that comes a little late does not shift the ones after it. Missed ones are left out: from
    one to the next it is never much less than a period.

    :param call: called with the time on its clock [s].
    :param rate: calls a second on its clock [Hz].
    :param on_error: called with the error of ``call``; the calls go on.
    :param clock: its clock; None for the monotonic one.
    :param thread: makes it, with the calls of others; None for a thread of its own.
    :ivar moment: when it is due next, on its clock [s].
    :ivar due: when to check for that next, on the monotonic clock [s].
    :ivar last: when it was made last, or began, on its clock [s].
    """

    def __init__(
        self,
        call: Callable[[float], None],
        rate: float,
        on_error: Callable[[Exception], None],
        clock: CallClock | None = None,
        thread: PeriodicCalls | None = None,
    ) -> None:
        self.clock = clock or CallClock()
        self.due = self.moment = self.last = 0.0
        self._thread = thread or PeriodicCalls()
        self._own: AbstractContextManager = nullcontext() if thread else self._thread
        self._call = call
        self._rate = rate
        self._on_error = on_error

    @property
    def rate(self) -> float:
        """Calls a second [Hz]; may be set while they are made, and holds at once."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        if rate != self._rate:
            self._rate = rate
            self._thread.put_off(self, self.last + 1.0 / rate)

    @property
    def thread_id(self) -> int | None:
        """Identifier of the thread that makes it; None before that has begun."""
        return self._thread.thread_id

    def __enter__(self) -> PeriodicCall:
        self._own.__enter__()
        self._thread.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.end(self)
        self._own.__exit__(None, None, None)

    def make(self) -> None:
        """Make the call if its clock has come to it, and find out when the next one is due."""
        clock, due, period = self.clock, self.moment, 1.0 / self._rate
        now = clock.now()
        try:
            if now >= due:
                self.last = now
                self._call(now)
        except Exception as error:
            self._on_error(error)
        finally:
            if now >= due:
                soonest = max(now + _SHORTEST * period, clock.now() + _REST * period)
                self.moment = max(due + period, soonest)
            self.due = time.monotonic() + clock.wait(self.moment)
