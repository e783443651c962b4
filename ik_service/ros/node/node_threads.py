"""Threads of a node, some for each group of its callbacks, and those that several nodes share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, ExitStack
import threading
from typing import cast

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.utilities import get_default_context

from ik_service.common.periodic_calls import PeriodicCalls
from ik_service.ros.common.partial_executor import PartialExecutor, partition
from ik_service.ros.common.runtime import spinning
from ik_service.ros.common.stream_executor import StreamExecutor
from ik_service.ros.node.services import Services

_REST = 1e-3  # time for which joint states of several arms gather [s]


class SharedThreads:
    """
    Threads for the joint states, the commands and the markers of several nodes.

    With threads of their own, the nodes would mostly hand Python's global lock to each other. They
    have to run for as long as one of the nodes does.

    :ivar commands: makes the calls for the commands of all nodes.
    :ivar checks: makes the calls for markers, which may take longer.
    :ivar states: takes the joint states for all nodes.
    :ivar turn: held by the thread of the targets of one of them: those of all, which often come at
        once, would keep the interpreter from the commands.
    """

    def __init__(self) -> None:
        self.commands, self.checks = PeriodicCalls(), PeriodicCalls()
        self.states = StreamExecutor(get_default_context(), _REST)
        self.turn = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the threads for the time of a ``with`` block."""
        with self.commands, self.checks, spinning(self.states):
            yield


# Those for paths, batches and capabilities wait for the ones that work; all but one for changes
# may wait for a compiler.
_SERVICES, _PATHS, _BATCHES, _CAPABILITIES = 3, 3, 3, 3
_CHANGES, _STOPS, _MOTIONS, _OTHERS = 4, 1, 2, 3


class NodeThreads:
    """
    Threads that spin a node.

    Each group of callbacks has threads of its own: a stop, for example, waits for no solve. To
    rclpy they are the executor of the node, which is woken by new subscriptions and services.

    :param shared: threads that several nodes share; None for its own.
    :param on_error: called with exceptions of their callback.
    """

    def __init__(
        self, node: Node, shared: SharedThreads | None, on_error: Callable[[Exception], None]
    ) -> None:
        self._node = node
        self._shared = shared
        self._on_error = on_error
        self._executors: tuple[PartialExecutor | StreamExecutor, ...] = ()

    @contextmanager
    def spinning(
        self,
        services: Services,
        changes: CallbackGroup,
        stops: CallbackGroup,
        motions: Iterable[CallbackGroup],
        states: CallbackGroup,
        targets: CallbackGroup,
        polled: Collection[CallbackGroup],
    ) -> Iterator[None]:
        """Spin for the time of a ``with`` block."""
        counts = {
            **dict.fromkeys(motions, _MOTIONS),
            services.group: _SERVICES,
            services.path_group: _PATHS,
            services.batch_group: _BATCHES,
            services.capability_group: _CAPABILITIES,
            changes: _CHANGES,
            stops: _STOPS,
        }
        context = self._node.context
        shared = self._shared
        own = [StreamExecutor(context, turn=shared.turn if shared else None)]
        if shared is None:
            own.append(StreamExecutor(context))
        streams = own[0], shared.states if shared else own[1]
        parts = partition(self._node, [states, targets, *polled], *counts)
        threads = zip(parts, (*counts.values(), _OTHERS), strict=True)
        self._executors = (*streams, *parts)
        several = (executor for executor, count in threads for _ in range(count))
        with ExitStack() as stack:
            # Before the threads wait: they would not notice a service that comes right after that.
            self._node.executor = cast(Executor, self)
            stack.enter_context(spinning(*own, *several))
            stack.callback(setattr, self._node, 'executor', None)
            for executor, group in zip(streams, (targets, states), strict=True):
                stack.enter_context(executor.serving(self._node, [group], self._on_error))
            yield

    def add_node(self, node: Node) -> None:
        """Do nothing: that node is spun already."""

    def remove_node(self, node: Node) -> None:
        """Likewise do nothing."""

    def wake(self) -> None:
        """Let the threads notice new services and subscriptions."""
        for executor in self._executors:
            executor.wake()
