"""Thread that calls a function at a steady rate, undelayed by other callbacks."""

from __future__ import annotations

from collections.abc import Callable

from ik_service.common.periodic_calls import CallClock, PeriodicCall, PeriodicCalls


class PeriodicThread(PeriodicCall):
    """
    :class:`~ik_service.common.periodic_calls.PeriodicCall` in a thread of its own.

    :param call: called with the time on its clock [s].
    :param rate: calls a second [Hz].
    :param on_error: called with what ``call`` raised; the thread goes on.
    :param clock: its clock; None for the monotonic one.
    """

    def __init__(
        self,
        call: Callable[[float], None],
        rate: float,
        on_error: Callable[[Exception], None],
        clock: CallClock | None = None,
    ) -> None:
        self._own = PeriodicCalls()
        super().__init__(self._own, call, rate, on_error, clock)

    def __enter__(self) -> PeriodicThread:
        self._own.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._own.__exit__()


def periodic_call(
    thread: PeriodicCalls | None,
    call: Callable[[float], None],
    rate: float,
    on_error: Callable[[Exception], None],
    clock: CallClock | None = None,
) -> PeriodicCall:
    """
    Return a call that a thread makes with those of others, or one of its own.

    :param thread: the thread; None for one of its own.
    :param call: called with the time on its clock [s].
    :param rate: calls a second [Hz].
    :param on_error: called with what ``call`` raised; the calls go on.
    :param clock: its clock; None for the monotonic one.
    """
    if thread is None:
        return PeriodicThread(call, rate, on_error, clock)
    return PeriodicCall(thread, call, rate, on_error, clock)
