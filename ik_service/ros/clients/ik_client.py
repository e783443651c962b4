"""Client of the services for inverse kinematics, for many poses at once."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
import itertools
import math
from numbers import Real
import threading
from types import TracebackType

from numpy.typing import ArrayLike
import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.ros.clients.calls import (
    BATCH_SERVICE,
    BatchCalls,
    Calls,
    SINGLE_SERVICE,
    SingleCalls,
)
from ik_service.ros.clients.course import Course
from ik_service.ros.clients.ik_batch import IkBatch
from ik_service.ros.clients.question import IkClientError, Poses, Question

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

    :param node: the node.
    :param patience: time for a server to come, to come back, or to answer a call [s]; a call is
        tried three times, each further time with twice the patience.
    :raises ArgumentError: the patience is not positive.
    """

    def __init__(self, node: Node, patience: float = 10.0) -> None:
        if not 0.0 < patience < math.inf:
            raise ArgumentError('patience', f'is {patience}, has to be a positive time [s]')
        self._user = node
        self._patience = patience
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
        if not (timeout is None or (isinstance(timeout, Real) and timeout > 0.0)):
            raise ArgumentError(
                'timeout', f'is {safe_repr(timeout)}, has to be a positive time [s] or None'
            )
        seconds = math.inf if timeout is None else timeout
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
