"""Course of a batch: which poses are asked for when, and again where an answer is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
import math
import threading
import time

import numpy as np
from rclpy.node import Node
from rclpy.task import Future

from ik_service.ros.clients.calls import Calls
from ik_service.ros.clients.ik_batch import IkBatch
from ik_service.ros.clients.question import IkClientError, NoServerError, Question
from ik_service.ros.common.errors import ErrorCode

MOST_TRIES = 3  # number of times that an unanswered call is made
_TURN = 0.1  # time from a request to its response for which the blocks are made [s]
_SMALLEST, _FIRST = 16, 100  # poses of a block
_HEAD_START = 1.0  # of the service that is preferred, where the other is found first [s]
_SETTLING = 0.3, 0.6, 1.2, 2.4, 4.8
"""When calls are made again that a server may have missed: after it was first seen [s].

It is seen before it is connected, and requests in between are lost. A lost message of discovery
comes again within 3 s.
"""
_SLOWER = 10.0  # number of longest turns after which a client counts as stuck


@dataclass(eq=False)
class _Call:
    """Call in flight, or to be made."""

    frame: str
    rows: np.ndarray
    tries: int = 0
    future: Future | None = None
    sent: float = 0.0


class Course:
    """
    Course of a batch. Thread-safe.

    :param batch: where the answers go.
    :param question: the batch request.
    :param choices: the services that may be asked, the preferred one first.
    :param node: node of the client.
    :param patience: time for a server to come, to come back, or to answer a call [s]; each
        further try of a call has twice the time.
    :param timeout: time after which poses without an answer are given up [s].
    """

    def __init__(
        self,
        batch: IkBatch,
        question: Question,
        choices: Sequence[Calls],
        node: Node,
        patience: float,
        timeout: float,
    ) -> None:
        self._batch = batch
        self._question = question
        self._choices = choices
        self._node = node
        self._patience = patience
        self._began = time.monotonic()
        self._deadline = self._began + timeout
        self._lock = threading.RLock()
        self._left = deque(_Call(frame, rows) for frame, rows in question.blocks)
        self._flying: set[_Call] = set()
        self._calls: Calls | None = None
        self._size = _FIRST
        self._lost_since: float | None = None
        self._servers: int | None = None  # at the last check
        self._came = -math.inf  # the newest one
        self._longest = math.inf  # turn, of those since calls were last made by a new client [s]

    def go_on(self) -> None:
        """Send calls up to the limit in flight, and lost ones again; to be called periodically."""
        try:
            self._go_on(time.monotonic())
        except IkClientError as error:
            self.fail(error)

    def stop(self) -> None:
        """Send no more calls, and forget those in flight."""
        with self._lock:
            self._left.clear()
            for call in self._flying:
                self._forget(call)
            self._flying.clear()

    def fail(self, error: IkClientError) -> None:
        """End the batch because of an error."""
        self._batch.finish(error)
        self.stop()

    def _go_on(self, now: float) -> None:
        calls = self._calls or self._chosen(now)
        if now > self._deadline:
            text = 'not answered within the timeout of the batch'
            self._batch.finish(code=ErrorCode.TIMED_OUT, message=text)
        if self._batch.done():
            self.stop()
        elif calls is None:
            return
        elif _is_ready(calls):
            self._lost_since = None
            self._take_back(calls, now)
            self._send(calls)
        else:
            self._wait(calls, now)

    def _chosen(self, now: float) -> Calls | None:
        """Choose the service, once one is there."""
        waited = now - self._began
        for calls in self._choices:
            if _is_ready(calls) and (calls is self._choices[0] or waited > _HEAD_START):
                self._calls = calls
                return calls
        if waited > self._patience:
            names = tuple(calls.client.srv_name for calls in self._choices)
            text = f'there is no service {" or ".join(names)}, after {waited:.3g} s'
            raise NoServerError(text, names)
        return None

    def _send(self, calls: Calls) -> None:
        with self._lock:
            while self._left and len(self._flying) < calls.in_flight:
                call = self._next(min(self._size, calls.most))
                call.sent, call.tries = time.monotonic(), call.tries + 1
                self._flying.add(call)
                with calls.lock:  # against other batches
                    request = calls.request(self._question, call.frame, call.rows)
                    call.future = calls.client.call_async(request)
                call.future.add_done_callback(partial(self._arrived, calls, call))

    def _next(self, size: int) -> _Call:
        call = self._left.popleft()
        if len(call.rows) <= size:
            return call
        self._left.appendleft(_Call(call.frame, call.rows[size:], call.tries))
        return _Call(call.frame, call.rows[:size], call.tries)

    def _arrived(self, calls: Calls, call: _Call, future: Future) -> None:
        """Take a response, in the client's thread."""
        with self._lock:
            if call not in self._flying:
                return  # asked for again meanwhile
            self._flying.discard(call)
            turn = time.monotonic() - call.sent
            self._longest = turn if self._longest == math.inf else max(turn, self._longest)
            self._fit(len(call.rows), turn)
        try:
            answers = calls.read(call.rows, future.result())
            self._batch.put(answers)
            if len(answers.rows) < len(call.rows):
                # The server had no time for these; one that solves none at all is no server.
                tries = 0 if len(answers.rows) else call.tries
                self._again(calls, call.frame, np.setdiff1d(call.rows, answers.rows), tries)
        except IkClientError as error:
            self.fail(error)
        except Exception as error:
            self.fail(IkClientError(f'a response cannot be read: {error!r}'))
        if self._batch.answered == len(self._batch):
            self._batch.finish()
        self.go_on()

    def _fit(self, poses: int, seconds: float) -> None:
        """Make the next blocks so large that a turn takes a tenth of a second."""
        wanted = poses * _TURN / max(seconds, 1e-6)
        self._size = int(min(max(wanted, _SMALLEST), 2 * self._size))

    def _take_back(self, calls: Calls, now: float) -> None:
        """Repeat calls sent to a server that is gone, or without a response for long."""
        with self._lock:
            missed = self._missed_until(calls, now)
            self._watch(calls, now)
            for call in list(self._flying):
                late = now - call.sent > self._patience * 2 ** (call.tries - 1)
                calls.stuck = calls.stuck or late
                if late or call.sent < missed:
                    self._flying.discard(call)
                    self._forget(call)
                    tries = call.tries if late else call.tries - 1
                    self._again(calls, call.frame, call.rows, tries)

    def _watch(self, calls: Calls, now: float) -> None:
        """Have a client replaced by which no call is answered any more; once until one is."""
        stall = max(calls.stall, _SLOWER * self._longest)
        if self._flying and all(now - call.sent > stall for call in self._flying):
            calls.stuck, self._longest = True, math.inf

    def _again(self, calls: Calls, frame: str, rows: np.ndarray, tries: int) -> None:
        if tries >= MOST_TRIES:
            name = calls.client.srv_name
            text = f'{name} has not answered {tries} calls for the same poses'
            raise NoServerError(text, (name,))
        with self._lock:
            self._left.appendleft(_Call(frame, rows, tries))

    def _wait(self, calls: Calls, now: float) -> None:
        """Wait for the server, which is not there any more."""
        with self._lock:
            if self._lost_since is None:
                self._lost_since = now
            self._servers = 0
        if now - self._lost_since > self._patience:
            name = calls.client.srv_name
            text = f'{name} is gone, and has not come back for {self._patience:g} s'
            raise NoServerError(text, (name,))

    def _missed_until(self, calls: Calls, now: float) -> float:
        """Return the time until which a server that came later may have missed calls."""
        servers = self._node.count_services(calls.client.srv_name)
        if self._servers is not None and servers > self._servers:
            self._came = now
        self._servers = servers
        self._came = max(self._came, calls.renewed)
        # Not the last of these times: a call just before has its response in transit.
        passed = [self._came + after for after in (0.0, *_SETTLING) if self._came + after <= now]
        return max(passed[-2] if len(passed) > 1 else -math.inf, calls.renewed)

    def _forget(self, call: _Call) -> None:
        if call.future is not None and self._calls is not None:
            self._calls.client.remove_pending_request(call.future)


def _is_ready(calls: Calls) -> bool:
    with calls.lock:  # against its replacement
        return calls.client.service_is_ready()
