"""Saying once what is wrong, however often it happens."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time


class Complaint:
    """
    A fault that may come with every message, and is logged when it begins.

    It is logged again after it was gone, but not more often than the pause allows. Safe to share
    between threads.

    :param log: writes a line.
    :param pause: shortest time between two lines [s].
    :ivar last: the last fault; empty before any.
    :ivar count: how often there was one.
    """

    def __init__(self, log: Callable[[str], object], pause: float = 5.0) -> None:
        self._log = log
        self._pause = pause
        self._lock = threading.Lock()
        self._present = False
        self._said_at = -pause
        self.last = ''
        self.count = 0

    def about(self, fault: str) -> None:
        """Report a fault."""
        with self._lock:
            self.last = fault
            self.count += 1
            now = time.monotonic()
            say = not self._present and now - self._said_at >= self._pause
            self._present = True
            if say:
                self._said_at = now
        if say:
            self._log(fault)

    def settle(self) -> None:
        """Report that all is well."""
        self._present = False
