"""Client for many poses at once, and the course of each batch: which are asked for when."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
import itertools
import math
import threading
import time
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike
import rclpy
from rclpy.action.server import RCLError
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

from ik_service.ros.clients.calls import (
    BATCH_SERVICE,
    BatchCalls,
    Calls,
    SINGLE_SERVICE,
    SingleCalls,
)
from ik_service.ros.clients.ik_batch import IkBatch
from ik_service.ros.clients.question import (
    checked_seconds,
    IkClientError,
    NoServerError,
    Poses,
    Question,
)
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

    :param choices: the services that may be asked, the preferred one first.
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
            # The next blocks are so large that a turn takes a tenth of a second.
            wanted = len(call.rows) * _TURN / max(turn, 1e-6)
            self._size = int(min(max(wanted, _SMALLEST), 2 * self._size))
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


_PERIOD, _IDLE_PERIOD = 0.05, 0.5  # of looking after the batches, and for new ones [s]

_numbers = itertools.count(1)


class IkClient:
    """
    Client that has many poses solved by a node, in blocks of which some are in flight at once.

    It asks ``compute_ik_batch``, or ``compute_ik`` where a server such as MoveIt's has only that;
    both by the names, namespace and remaps of the given node. Answers come in a thread and
    through a node of its own, so it does not matter who spins the given node, and results may be
    waited for anywhere, also in callbacks of ROS. Thread-safe.

        client = IkClient(node)
        batch = client.solve(poses)             # returns at once
        for answer in batch: ...                # in order, as they come
        batch.result().q[batch.success]         # (k, m)

    :param patience: time for a server to come, to come back, or to answer a call [s]; a call is
        tried three times, each further time with twice the patience.
    :raises ArgumentError: the patience is not positive.
    """

    def __init__(self, node: Node, patience: float = 10.0) -> None:
        self._user = node
        self._patience = checked_seconds(patience, 'patience')
        self._node = rclpy.create_node(
            f'{node.get_name()}_ik_client_{next(_numbers)}',
            context=node.context,
            namespace=node.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._batches: Calls = BatchCalls(self._node, node.resolve_service_name(BATCH_SERVICE))
        self._singles: Calls = SingleCalls(self._node, node.resolve_service_name(SINGLE_SERVICE))
        self._courses: dict[IkBatch, Course] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._work, name='ik client', daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a thread in the middleware at the end aborts the process

    def solve(
        self,
        poses: Poses,
        seeds: ArrayLike | None = None,
        seed_joints: Sequence[str] = (),
        group: str = '',
        link: str = '',
        frame: str = '',
        timeout: float | None = None,
        avoid_collisions: bool = False,
    ) -> IkBatch:
        """
        Have poses solved, each as by ``compute_ik``; returns at once.

        :param poses: (N, 4, 4) T_frame_link [m], or a list of ``PoseStamped``, each in its own
            frame. A pose with NaN gets an error code, as from ``compute_ik``.
        :param seeds: (n,) where all solves start [rad] or [m], or (N, n) a seed for each; the
            measured state when left out.
        :param seed_joints: the n joints of the seeds.
        :param group: the planning group; empty for the default.
        :param link: the link that is placed; empty for the tip of the group.
        :param frame: frame of the poses; empty for the root link of the robot.
        :param timeout: time for all poses together [s], after which those without an answer get
            the error code TIMED_OUT; None for any time. Each solve has ``solver.timeout`` of the
            node.
        :param avoid_collisions: whether answers have to be free of collisions.
        :returns: the answers, which come in.
        :raises ArgumentError: poses, seeds or the timeout are invalid.
        :raises IkClientError: the client is closed.
        """
        question = Question.of(poses, frame, seeds, seed_joints, group, link, avoid_collisions)
        return self._begin(question, timeout, (self._batches, self._singles))

    def pipelined(
        self,
        poses: Poses,
        seeds: ArrayLike | None = None,
        seed_joints: Sequence[str] = (),
        group: str = '',
        link: str = '',
        frame: str = '',
        timeout: float | None = None,
        avoid_collisions: bool = False,
    ) -> IkBatch:
        """
        Have poses solved by ``compute_ik``, several calls in flight at once, from any server.

        Arguments, answers and errors are those of :meth:`solve`.
        """
        question = Question.of(poses, frame, seeds, seed_joints, group, link, avoid_collisions)
        return self._begin(question, timeout, (self._singles,))

    def close(self) -> None:
        """End all batches, and the client's thread and node."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
        if not self._is_answering():
            self._executor.wake()
            self._thread.join()

    def __enter__(self) -> IkClient:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the client."""
        self.close()

    def _begin(
        self, question: Question, timeout: float | None, choices: Sequence[Calls]
    ) -> IkBatch:
        seconds = math.inf if timeout is None else checked_seconds(timeout, 'timeout')
        batch = IkBatch(len(question.poses), self._user, lambda: course.stop(), self._is_answering)
        course = Course(batch, question, choices, self._node, self._patience, seconds)
        if not len(batch):
            batch.finish()
            return batch
        with self._lock:
            if self._closed:
                raise IkClientError('the client is closed')
            self._courses[batch] = course
        course.go_on()
        return batch

    def _is_answering(self) -> bool:
        """Return whether the calling thread is that of the client."""
        return threading.current_thread() is self._thread

    def _work(self) -> None:
        """Take responses, and look after the batches."""
        try:
            while not self._closed and self._node.context.ok():
                self._executor.spin_once(_PERIOD if self._courses else _IDLE_PERIOD)
                self._look()
        except (ExternalShutdownException, InvalidHandle):
            pass
        except RCLError:
            if self._node.context.ok():
                raise
        finally:
            with self._lock:
                self._closed = True
                courses, self._courses = self._courses, {}
            ended = 'the client is closed' if self._node.context.ok() else 'ROS was shut down'
            for course in courses.values():
                course.fail(IkClientError(f'{ended} before all was answered'))
            self._executor.shutdown(timeout_sec=0.0)
            self._node.destroy_node()

    def _look(self) -> None:
        for calls in (self._batches, self._singles):
            calls.renew()
        with self._lock:
            courses = list(self._courses.items())
        for batch, course in courses:
            course.go_on()
            if batch.done():
                with self._lock:
                    del self._courses[batch]
