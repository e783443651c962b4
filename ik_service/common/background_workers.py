"""Threads for long work, which give way to all others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
import os
import threading
from typing import TypeVar

_NICE = 5

Answer = TypeVar('Answer')


class BackgroundWorkers:
    """
    Threads that give way to all others, and so do the threads that they start.

    :param name: what they do, in a word.
    :param threads: pieces of work that are done at once.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name, _give_way)

    def run(self, work: Callable[[], Answer]) -> Answer:
        """
        Return what some work returns, once a thread is free for it; or raise what it raises.

        :param work: the work.
        """
        return self._pool.submit(work).result()


def _give_way() -> None:
    """Lower the priority of this thread; on Linux that is possible for one alone."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
