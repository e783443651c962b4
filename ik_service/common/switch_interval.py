"""Turns of the threads of a process that sends commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import sys

SWITCH_INTERVAL = 5e-4
"""
Longest time that a thread keeps the interpreter from the others [s].

A tenth of Python's default: a command that is due waits at most so long for a callback.
"""


@contextmanager
def switch_interval(seconds: float = SWITCH_INTERVAL) -> Iterator[None]:
    """
    Change the interpreter's switch interval for the time of a ``with`` block.

    For programs, and not for libraries: it holds for the whole process.

    :param seconds: the interval [s].
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
