"""
Executors that each serve some callback groups of a node.

A callback of one group then never waits for one of another: a slow solve delays neither the joint
states nor the parameters. Each executor also waits on its own entities alone, which makes a
response quicker than in an executor that serves the whole node.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import operator
import threading
from typing import TYPE_CHECKING

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    ShutdownException,
    TimeoutException,
)
from rclpy.node import Node
from rclpy.task import Future

if TYPE_CHECKING:  # names that only annotations need, and that other distributions may lack
    from rclpy.executors import TimeoutObject, WaitableEntityType


class PartialExecutor(Executor):
    """
    Executor of some callback groups of a node; any number of threads may spin it.

    The threads take turns in waiting: the one that waits also runs what comes, while the next
    one takes over the waiting. So a response never changes threads, as it does in rclpy's
    MultiThreadedExecutor, and several requests are served at once.

    :param node: the node; not by ``add_node``, which would take it away from the other executors.
    :param serves: returns whether a callback group belongs to this executor.
    """

    def __init__(self, node: Node, serves: Callable[[CallbackGroup], bool]) -> None:
        super().__init__(context=node.context)
        self._node = node
        self._serves = serves
        self._turn = threading.Lock()
        self._ended = threading.Event()

    def get_nodes(self) -> list[Node]:
        """Return the node."""
        return [self._node]

    def can_execute(self, entity: WaitableEntityType) -> bool:
        """
        Return whether an entity belongs to this executor and its group lets it run now.

        :param entity: a timer, subscription, service, client or other entity of the node.
        """
        group = entity.callback_group  # type: ignore[attr-defined]  # every entity has one
        return self._serves(group) and super().can_execute(entity)

    def spin(self) -> None:
        """Serve until the executor or the context is shut down."""
        while not self._ended.is_set() and self.context.ok():
            self.spin_once()

    def spin_once(self, timeout_sec: float | TimeoutObject | None = None) -> None:
        """
        Wait for one callback and run it.

        :param timeout_sec: how long to wait [s]; for ever by default.
        """
        with self._turn:
            if self._ended.is_set():
                return
            try:
                handler, _, _ = self.wait_for_ready_callbacks(timeout_sec)
            except (ShutdownException, ExternalShutdownException, TimeoutException):
                return
        handler()
        handler.result()  # raises what the callback raised

    def spin_once_until_future_complete(
        self, future: Future, timeout_sec: float | TimeoutObject | None = None
    ) -> None:
        """Run one callback; the executor is woken when the future is complete."""
        future.add_done_callback(lambda _: self.wake())
        self.spin_once(timeout_sec)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Let the spinning threads end; return whether they did so in time."""
        self._ended.set()
        return super().shutdown(timeout_sec)


def partition(node: Node, *groups: CallbackGroup) -> tuple[PartialExecutor, ...]:
    """
    Return executors that share the callbacks of a node.

    :param node: the node.
    :param groups: callback groups that get an executor each; one more serves all others.
    """
    own = [PartialExecutor(node, partial(operator.is_, group)) for group in groups]
    return (*own, PartialExecutor(node, lambda group: group not in groups))
