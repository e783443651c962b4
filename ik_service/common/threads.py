"""Cores, threads and pauses of the interpreter in a process that sends commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import gc
import os
import sys
import threading
from typing import TypeVar

_NICE = 5  # of background threads: a third of the share of the others

Answer = TypeVar('Answer')


def give_way() -> None:
    """Lower the priority of this thread, as for the threads that it starts (Linux)."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


SWITCH_INTERVAL = 5e-4
"""
Longest time that a thread keeps the interpreter from the others [s].

A tenth of Python's default: a command that is due waits at most so long for a callback.
"""


@contextmanager
def switch_interval() -> Iterator[None]:
    """
    Set the interpreter's switch interval to :data:`SWITCH_INTERVAL` for a ``with`` block.

    For programs, and not for libraries: it holds for the whole process.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def lasting() -> Iterator[None]:
    """
    Keep Python's collector from what is made in a ``with`` block, and before: modules, mostly.

    For programs, and not for libraries. While they start, it would look through all of that again
    and again, which takes 0.1 s of computing time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
