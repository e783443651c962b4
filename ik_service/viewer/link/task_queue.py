"""Work for one thread, from many."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue


class TaskQueue:
    """
    What the callbacks of the page and of ROS leave for the thread that keeps the view.

    So the view needs no locks, and a callback never waits.

    :param on_error: called with what a piece of work raised; the next one is done all the same.
    """

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        self._work: SimpleQueue[tuple[Callable, tuple]] = SimpleQueue()
        self._on_error = on_error

    def post(self, function: Callable, *arguments: object) -> None:
        """Leave a call to be made; from any thread."""
        self._work.put((function, arguments))

    def run_pending(self) -> None:
        """Make the calls that are there now."""
        for _ in range(self._work.qsize()):
            try:
                function, arguments = self._work.get_nowait()
            except Empty:
                return
            try:
                function(*arguments)
            except Exception as error:  # bad input must not end the view
                self._on_error(error)
