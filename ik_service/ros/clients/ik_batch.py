"""Answers to a batch of poses, which come in while the program goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
import math
import threading
import traceback
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.task import Future

from ik_service.exceptions import ArgumentError
from ik_service.ros.clients.question import (
    BatchCancelledError,
    checked_seconds,
    IkClientError,
)
from ik_service.ros.common.errors import ErrorCode

UNANSWERED = 0  # error code of a pose before its answer has come


class IkAnswer(NamedTuple):
    """
    Answer to one pose.

    :ivar row: number of the pose in the batch.
    :ivar q: (m,) joint positions [rad] or [m] in the order of the batch's ``joint_names``; NaN
        where there is no solution.
    :ivar success: whether the pose is reached.
    :ivar error_code: value of ``moveit_msgs/MoveItErrorCodes``, as ``compute_ik`` answers.
    :ivar message: the reason, where there is no solution.
    """

    row: int
    q: np.ndarray
    success: bool
    error_code: int
    message: str


class BlockAnswers(NamedTuple):
    """
    Answers to a block of poses.

    :ivar rows: (k,) numbers of the poses that are answered.
    :ivar codes: (k,) error codes.
    :ivar messages: k reasons for missing solutions.
    :ivar joint_names: the joints of the postures; may be none where nothing is solved.
    :ivar postures: (s, m) of the s poses that are solved [rad] or [m].
    """

    rows: np.ndarray
    codes: np.ndarray
    messages: Sequence[str]
    joint_names: Sequence[str]
    postures: np.ndarray


class IkBatch:
    """
    Answers to many poses, row by row in the order of the poses; a future. Thread-safe.

    The arrays may be read at any time: rows that are not answered yet have the error code 0.
    Iterating yields each answer as soon as it and all before it are there. In coroutines of
    asyncio and of rclpy, ``await batch`` does the same as :meth:`result`.

    :ivar joint_names: the m joints of ``q``, every movable joint of the robot; empty before the
        first answer, and of ``compute_ik``, which names them with solutions alone, before the
        first solution.
    :ivar q: (N, m) joint positions [rad] or [m]; NaN in rows without a solution.
    :ivar error_codes: (N,) values of ``moveit_msgs/MoveItErrorCodes``.
    :ivar messages: N reasons for missing solutions; empty for the others.
    :ivar answered: the number of poses whose answers have come.
    :param count: N, the number of poses.
    :param node: the node whose executor runs coroutines of rclpy, and which logs errors.
    :param stop: called when the rest of the batch is not wanted any more.
    :param answering: returns whether the calling thread is the one that takes answers.
    """

    def __init__(
        self,
        count: int,
        node: Node,
        stop: Callable[[], object],
        answering: Callable[[], bool] = lambda: False,
    ) -> None:
        self.joint_names: tuple[str, ...] = ()
        self.q = np.full((count, 0), np.nan)
        self.error_codes = np.full(count, UNANSWERED)
        self.messages = [''] * count
        self.answered = 0
        self._node = node
        self._stop = stop
        self._answering = answering
        self._news = threading.Condition()
        self._done = False
        self._error: IkClientError | None = None
        self._missing = np.zeros(count, bool)  # at the end
        self._callbacks: list[Callable[[IkBatch], object]] = []

    def __len__(self) -> int:
        """Return the number of poses."""
        return len(self.messages)

    @property
    def success(self) -> np.ndarray:
        """Mask of the reached poses (N,)."""
        return self.error_codes == ErrorCode.SUCCESS

    def done(self) -> bool:
        """Return whether all is answered, or the batch has come to its end otherwise."""
        return self._done

    def cancelled(self) -> bool:
        """Return whether the batch was cancelled."""
        return isinstance(self._error, BatchCancelledError)

    def cancel(self) -> bool:
        """
        End the batch; return False where it had ended before.

        The server stops within the block of poses that it is at. Poses without an answer get the
        error code PREEMPTED.
        """
        ended = self.finish(BatchCancelledError(f'cancelled after {self.answered} answers'))
        if ended:
            self._stop()
        return ended

    def result(self, timeout: float | None = None) -> IkBatch:
        """
        Wait until all is answered, and return this batch.

        May be called in callbacks of ROS as well: the answers come in a thread of the client's
        own. That of :meth:`add_done_callback` runs there, and cannot wait for other batches.

        :param timeout: how long to wait [s]; for ever by default.
        :raises ArgumentError: the time is no number.
        :raises TimeoutError: not all is answered yet.
        :raises BatchCancelledError: the batch was cancelled.
        :raises IkClientError: the batch came to no end: :class:`NoServerError` without a server;
            or it is waited for in the thread that its answers come in.
        """
        if timeout is not None:
            timeout = checked_seconds(timeout, 'timeout', above=-math.inf)
        with self._news:
            if not self._wait(self.done, timeout):
                raise TimeoutError(
                    f'{self.answered} of {len(self)} poses are answered after {timeout:g} s'
                )
        if self._error is not None:
            raise self._error
        return self

    def add_done_callback(self, callback: Callable[[IkBatch], object]) -> None:
        """
        Call something at the end, in the client's thread, or at once after the end.

        The callback may read the batch, begin others, and add callbacks to these, but not wait
        for them, as their answers come in the same thread: that raises an error.

        :param callback: called with the batch; an exception that it raises is logged by the node.
        """
        with self._news:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def __iter__(self) -> Iterator[IkAnswer]:
        """
        Yield the answers in the order of the poses, as they come.

        :raises IkClientError: as :meth:`result` does, after the answers that are there.
        """
        for row in range(len(self)):
            yield self._wait_for(row)

    def __await__(self) -> Generator[Any, None, IkBatch]:
        """Wait in a coroutine."""
        if not self._done:
            yield from self._waiting()
        return self.result(0.0)

    # For the client

    def put(self, answers: BlockAnswers) -> None:
        """
        Take answers to some poses; the first answer to each counts.

        :raises IkClientError: the joints are not those of the answers before.
        """
        rows, codes = answers.rows, answers.codes
        with self._news:
            if self._done:
                return
            if answers.joint_names:
                self._take_names(tuple(answers.joint_names))
            if len(answers.postures):
                self.q[rows[codes == ErrorCode.SUCCESS]] = answers.postures
            for row, message in zip(rows.tolist(), answers.messages, strict=True):
                self.messages[row] = message
            self.error_codes[rows] = codes
            self.answered += len(rows)
            self._news.notify_all()

    def finish(
        self,
        error: IkClientError | None = None,
        code: int = ErrorCode.PREEMPTED,
        message: str = '',
    ) -> bool:
        """
        End the batch; return False where it had ended before.

        :param error: why it came to no end; None where all is answered.
        :param code: error code of the poses without an answer.
        :param message: their reason, where there is no error.
        """
        with self._news:
            if self._done:
                return False
            self._missing = self.error_codes == UNANSWERED
            self.error_codes[self._missing] = code
            for row in np.flatnonzero(self._missing).tolist():
                self.messages[row] = str(error or message)
            self._error, self._done = error, True
            callbacks, self._callbacks = self._callbacks, []
            self._news.notify_all()
        for callback in callbacks:
            self._call(callback)
        return True

    def _call(self, callback: Callable[[IkBatch], object]) -> None:
        """Call a callback, whose exception must not end the thread that serves all batches."""
        try:
            callback(self)
        except Exception as error:
            text = ''.join(traceback.format_exception(error))
            self._node.get_logger().error(f'error in a callback of a batch:\n{text}')

    def _take_names(self, names: tuple[str, ...]) -> None:
        if not self.joint_names:
            self.q = np.full((len(self), len(names)), np.nan)
            self.joint_names = names
        elif names != self.joint_names:
            raise IkClientError(
                'the server has another robot since the batch began: its joints were '
                f'{", ".join(self.joint_names)}, and are {", ".join(names)}'
            )

    def _wait_for(self, row: int) -> IkAnswer:
        with self._news:
            self._wait(lambda: self._done or self.error_codes[row] != UNANSWERED)
            code = int(self.error_codes[row])
            if self._error is not None and self._missing[row]:
                raise self._error
            return IkAnswer(row, self.q[row], code == ErrorCode.SUCCESS, code, self.messages[row])

    def _wait(self, condition: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait, with the lock held; return whether the condition has come true."""
        if timeout != 0.0 and self._answering() and not condition():
            raise IkClientError(
                'a callback of a batch runs in the thread that receives all answers, so it cannot '
                'wait for another batch; add a callback to that one'
            )
        return self._news.wait_for(condition, timeout)

    def _waiting(self) -> Generator[Any, None, None]:
        """Wait for the end in a coroutine of asyncio or, without its loop, of rclpy."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            yield from self._waiting_in_executor()
            return
        ended = asyncio.Event()

        def end(_: IkBatch) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(ended.set)

        self.add_done_callback(end)
        yield from ended.wait().__await__()

    def _waiting_in_executor(self) -> Generator[Any, None, None]:
        executor = self._node.executor
        if executor is None:
            raise ArgumentError('node', 'is in no executor, so nothing would wake this coroutine')
        ended = Future(executor=executor)

        def end(_: IkBatch) -> None:
            ended.set_result(None)
            executor.wake()

        self.add_done_callback(end)
        yield from ended.__await__()
