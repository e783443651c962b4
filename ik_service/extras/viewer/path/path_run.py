"""Execution of a previewed path, and how far the arm has come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ik_service.extras.viewer.link.path_link import Execution, ExecutionEnd, PathLink
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.path.preview import Preview


class PathRun:
    """
    One execution after the other. To be used from one thread.

    :param executor: the node.
    :param tasks: brings the ends.
    :param on_end: called with the end of each execution that was not dropped.
    """

    def __init__(
        self,
        executor: PathLink,
        tasks: TaskQueue,
        on_end: Callable[[ExecutionEnd], object],
    ) -> None:
        self._executor, self._tasks, self._on_end = executor, tasks, on_end
        self._execution: Execution | None = None
        self._preview: Preview | None = None
        self._number = 0
        self._time = 0.0

    @property
    def progress(self) -> float | None:
        """Share of the motion up to where the arm is, 0 to 1; None while there is none."""
        return None if self._preview is None else self._time / self._preview.trajectory.duration

    @property
    def is_running(self) -> bool:
        """Whether the arm goes along a path."""
        return self._preview is not None

    def start(self, preview: Preview) -> None:
        """
        Send the arm along a path.

        :param preview: the motion.
        """
        self._number += 1
        number = self._number

        def on_end(end: ExecutionEnd) -> None:
            self._tasks.post(lambda: self._end(end) if number == self._number else None)

        self._preview, self._time = preview, 0.0
        self._execution = self._executor.execute(preview.answer.message, on_end)

    def cancel(self) -> None:
        """Ask the node to stop the arm; the end follows."""
        if self._execution is not None:
            self._execution.cancel()

    def drop(self) -> None:
        """Forget the execution, as the node has gone."""
        self._number += 1
        self._execution = self._preview = None

    def step(self, q: np.ndarray) -> None:
        """
        Find out how far the arm has come.

        :param q: (n,) the joints' measured positions [rad] or [m].
        """
        if self._preview is not None:
            self._time = self._preview.time_nearest(q, self._time)

    def _end(self, end: ExecutionEnd) -> None:
        self.drop()
        self._on_end(end)
