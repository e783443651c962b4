"""Work between threads: a task queue, a reader in the background, and a bounded log."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
import threading
from typing import Any

from ik_service.exceptions import IkServiceError

Post = Callable[..., None]  # method :meth:`TaskQueue.post`


class TaskQueue:
    """
    Queue of calls that callbacks of the page and of ROS leave for the viewer's thread.

    So the viewer needs no locks, and a callback never waits.

    :param on_error: called with the exception of a failed call; later calls are made all the same.
    """

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        self._tasks: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()
        self._on_error = on_error

    def post(self, function: Callable[..., object], *arguments: Any) -> None:  # noqa: ANN401 (those of any function)
        """Add a call; from any thread."""
        self._tasks.put((function, arguments))

    def run_pending(self) -> None:
        """Make the calls that are in the queue now, but none that they add."""
        for _ in range(self._tasks.qsize()):
            try:
                function, arguments = self._tasks.get_nowait()
            except Empty:
                return
            try:
                function(*arguments)
            except Exception as error:  # bad input must not end the viewer
                self._on_error(error)


class Newest:
    """Callbacks for the answers to one question after the other, of which the newest counts."""

    def __init__(self, tasks: TaskQueue) -> None:
        self._tasks = tasks
        self._number = 0

    def drop(self) -> None:
        """Ignore the answers to earlier requests."""
        self._number += 1

    def taking(self, take: Callable[..., object]) -> Callable[..., None]:
        """Return a callback, for any thread, that brings an answer unless it was dropped."""
        number = self._number

        def on_answer(*answer: object) -> None:
            self._tasks.post(lambda: take(*answer) if number == self._number else None)

        return on_answer


class Reader(Newest):
    """Reader of one thing after the other, of which the last one that was asked for counts."""

    def start(
        self,
        read: Callable[[], Any],
        take: Callable[[Any], object],
        refuse: Callable[[str], object],
    ) -> None:
        """Call a function in a thread, then take its result or refuse the reason; drop reads."""
        self.drop()
        on_result, on_failure = self.taking(take), self.taking(refuse)

        def work() -> None:
            try:
                result = read()
            except IkServiceError as error:
                on_failure(str(error))
            except Exception as error:  # a file may be anything, and too large for the memory
                on_failure(f'{type(error).__name__}: {error}')
            else:
                on_result(result)

        threading.Thread(target=work, name='reader', daemon=True).start()


class LimitedLog:
    """Thread-safe log of some different messages, once each: other programs can cause them."""

    def __init__(self, log: Callable[[str], object], most: int = 20) -> None:
        self._log, self._most = log, most
        self._messages: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, message: str) -> None:
        """Write a message, if it is new and there were not too many."""
        with self._lock:
            if message in self._messages or len(self._messages) >= self._most:
                return
            self._messages.add(message)
            last = len(self._messages) == self._most
        self._log(f'{message} (further ones are not logged)' if last else message)
