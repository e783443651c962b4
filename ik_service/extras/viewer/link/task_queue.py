"""Thread-safe task queue."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any


class TaskQueue:
    """
    Queue of calls that callbacks of the page and of ROS leave for the viewer's thread.

    The viewer needs no locks this way, and a callback never waits.

    :param on_error: called with the exception of a failed call; later calls are made all the same.
    """

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        self._tasks: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()
        self._on_error = on_error

    def post(self, function: Callable[..., object], *arguments: Any) -> None:  # noqa: ANN401 (those of any function)
        """
        Add a call; from any thread.

        :param function: the function to call.
        :param arguments: its arguments.
        """
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
