"""A log that says each thing once, and only so much."""

from __future__ import annotations

from collections.abc import Callable
import threading


class LimitedLog:
    """
    Passes on each sentence the first time, and nothing once there were too many.

    For what others bring about: they shall not be able to fill the log. Safe to share between
    threads.

    :param log: writes a line.
    :param most: how many different sentences are passed on.
    """

    def __init__(self, log: Callable[[str], object], most: int = 20) -> None:
        self._log, self._most = log, most
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, sentence: str) -> None:
        """Log a sentence, if it is new and there were not too many."""
        with self._lock:
            if sentence in self._said or len(self._said) >= self._most:
                return
            self._said.add(sentence)
            last = len(self._said) == self._most
        self._log(f'{sentence} (further ones are not told)' if last else sentence)
