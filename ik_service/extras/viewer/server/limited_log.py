"""Log that writes each message once, up to a number of messages."""

from __future__ import annotations

from collections.abc import Callable
import threading


class LimitedLog:
    """
    Log that writes each message once, up to a number of different messages. Thread-safe.

    For messages that other programs can cause, so that they cannot fill the log.

    :param log: writes a line.
    :param most: largest number of different messages.
    """

    def __init__(self, log: Callable[[str], object], most: int = 20) -> None:
        self._log, self._most = log, most
        self._messages: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, message: str) -> None:
        """
        Write a message, if it is new and there were not too many.

        :param message: a sentence.
        """
        with self._lock:
            if message in self._messages or len(self._messages) >= self._most:
                return
            self._messages.add(message)
            last = len(self._messages) == self._most
        self._log(f'{message} (further ones are not logged)' if last else message)
