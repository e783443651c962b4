"""Reading of files in threads of their own."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from ik_service.exceptions import IkServiceError
from ik_service.extras.viewer.link.task_queue import TaskQueue


class Reader:
    """
    Reader of one file after the other, of which the last one that was asked for counts.

    :param tasks: brings what was read.
    """

    def __init__(self, tasks: TaskQueue) -> None:
        self._tasks = tasks
        self._asked = 0  # counted, so that what was read for an earlier request is known

    def start(
        self,
        read: Callable[[], Any],
        take: Callable[[Any], object],
        refuse: Callable[[str], object],
    ) -> None:
        """
        Call a function in a thread, and drop what is still being read.

        :param read: the function.
        :param take: called with its result, in the thread of the task queue.
        :param refuse: called there with the reason why there is none.
        """
        self.drop()
        number = self._asked

        def finish(function: Callable[..., object], result: object) -> None:
            if number == self._asked:
                function(result)

        def work() -> None:
            try:
                result = read()
            except IkServiceError as error:
                self._tasks.post(finish, refuse, str(error))
            except Exception as error:  # a file may be anything, and too large for the memory
                self._tasks.post(finish, refuse, f'{type(error).__name__}: {error}')
            else:
                self._tasks.post(finish, take, result)

        threading.Thread(target=work, name='reach', daemon=True).start()

    def drop(self) -> None:
        """Drop what is being read."""
        self._asked += 1
