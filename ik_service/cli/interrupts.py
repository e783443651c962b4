"""Handling of Ctrl-C, also of one that arrives in a callback of the interpreter."""

from __future__ import annotations

import signal
import sys
from types import FrameType

_requests: list[int] = []


class _Interrupt(KeyboardInterrupt):
    """
    Interrupt that leaves the exit code to the program.

    Where a plain KeyboardInterrupt has left ``exec`` or ``eval`` of a text, which dataclasses and
    named tuples use, a program run by ``python -m`` ends by SIGINT, although it was handled.
    """


def catch_interrupts() -> None:
    """Let SIGINT, unless it is ignored, and SIGTERM raise a KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    sys.unraisablehook = _report_dropped


def check_interrupts() -> None:
    """
    Raise a KeyboardInterrupt that was dropped.

    Python prints and forgets an exception that leaves a callback of its own, such as those that
    run while modules are imported.
    """
    if _requests:
        raise _Interrupt


def _report_dropped(dropped: sys.UnraisableHookArgs) -> None:
    """Report exceptions that Python drops, except interrupts, see :func:`check_interrupts`."""
    if not isinstance(dropped.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _requests.append(number)
    raise _Interrupt
