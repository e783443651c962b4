"""Handling of Ctrl-C, also of one that arrives in a callback of the interpreter."""

from __future__ import annotations

import signal
import sys
from threading import main_thread, Timer
from types import FrameType

_AGAIN = 0.02  # until an interrupt that was dropped is raised again [s]


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


def _report_dropped(dropped: sys.UnraisableHookArgs) -> None:
    """
    Report exceptions that Python drops, but raise interrupts again.

    Python prints and forgets an exception that leaves a callback of its own, such as those that
    run while modules are imported.
    """
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        number = signal.SIGTERM if ignored else signal.SIGINT
        # A signal, as that ends what the main thread waits in.
        again = Timer(_AGAIN, signal.pthread_kill, (main_thread().ident, number))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(dropped)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise _Interrupt
