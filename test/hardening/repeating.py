"""Repeated calls in a thread."""

from __future__ import annotations

from contextlib import contextmanager
import threading


@contextmanager
def repeating(call, period):
    """Call a function every so many seconds, for a ``with`` block."""
    ended = threading.Event()

    def run():
        while not ended.wait(period):
            call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
