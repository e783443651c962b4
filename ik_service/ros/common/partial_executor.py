"""
Executors that each serve some callback groups of a node.

A callback of one group then never waits for one of another: a slow solve delays neither the joint
states nor the parameters. Each executor also waits on its own entities alone, which makes a
response quicker than in an executor that serves the whole node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
import operator
import threading
from typing import Any, cast, TYPE_CHECKING

from rclpy.callback_groups import CallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    ShutdownException,
    TimeoutException,
)
from rclpy.node import Node

if TYPE_CHECKING:
    from rclpy.executors import TimeoutObject


class PartialExecutor(Executor):
    """
    Executor of some callback groups of a node; any number of threads may spin it.

    The threads take turns in waiting: the one that waits also runs the callbacks, while the next
    one takes over the waiting. So a response never changes threads, as it does in rclpy's
    MultiThreadedExecutor, and several requests are served at once.

    :param node: the node; not by ``add_node``, which would take it away from the other executors.
    :param serves: returns whether a callback group belongs to this executor.
    """

    def __init__(self, node: Node, serves: Callable[[CallbackGroup], bool]) -> None:
        super().__init__(context=node.context)
        self._part = cast(Node, _NodePart(node, serves))
        self._turn = threading.Lock()
        self._ended = threading.Event()

    def get_nodes(self) -> list[Node]:
        """Return the part of the node that is served, in place of the node."""
        return [self._part]

    def spin(self) -> None:
        """Serve until the executor or the context is shut down."""
        while not self._ended.is_set() and self.context.ok():
            self.spin_once()

    def spin_once(self, timeout_sec: float | TimeoutObject | None = None) -> None:
        """Wait for one callback, up to a time-out [s] or for ever, and run it."""
        with self._turn:
            if self._ended.is_set():
                return
            try:
                handler, _, _ = self.wait_for_ready_callbacks(timeout_sec)
            except (ShutdownException, ExternalShutdownException, TimeoutException):
                return
            except InvalidHandle:  # of an event of a subscription that was just destroyed
                return
        handler()
        handler.result()  # raises the callback's exception

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Let the spinning threads end; return whether they did so in time."""
        self._ended.set()
        return super().shutdown(timeout_sec)


class _NodePart:
    """
    Entities of a node that belong to some callback groups.

    Before each wait, an executor checks all entities that its nodes have, and for some of them
    at all others: so it gets none that it does not serve.

    :param serves: returns whether a callback group is one of them.
    """

    def __init__(self, node: Node, serves: Callable[[CallbackGroup], bool]) -> None:
        self._node = node
        self._serves = serves

    def __getattr__(self, kind: str) -> list[Any]:
        """Return those of its subscriptions, timers, clients, services, guards or waitables."""
        entities = getattr(self._node, kind)
        return [entity for entity in entities if self._serves(entity.callback_group)]


def partition(
    node: Node, streams: Collection[CallbackGroup], *groups: CallbackGroup
) -> tuple[PartialExecutor, ...]:
    """
    Return executors that share the callbacks of a node.

    :param streams: callback groups that others serve
        (:class:`~ik_service.ros.common.stream_executor.StreamExecutor`).
    :param groups: callback groups that get an executor each; one more serves all others.
    """
    own = [PartialExecutor(node, partial(operator.is_, group)) for group in groups]
    taken = frozenset((*streams, *groups))
    return (*own, PartialExecutor(node, lambda group: group not in taken))
