"""Threads that spin the node, some for each group of callbacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from ik_service.ros.common.executors import PartialExecutor, partition
from ik_service.ros.common.runtime import spinning
from ik_service.ros.common.stream_executor import StreamExecutor
from ik_service.ros.ik.services import Services

# Those for paths and batches wait for the ones that work; all but one for changes may wait for a
# compiler.
_SERVICES, _PATHS, _BATCHES, _CHANGES, _STOPS, _MOTIONS, _OTHERS = 3, 3, 3, 4, 1, 2, 3


class NodeThreads:
    """
    Threads that spin a node.

    Each group of callbacks has threads of its own: a stop, for example, waits for no solve.

    :param node: the node.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._executors: tuple[PartialExecutor | StreamExecutor, ...] = ()

    def spinning(
        self,
        services: Services,
        changes: CallbackGroup,
        stops: CallbackGroup,
        motions: Iterable[CallbackGroup],
        streams: Iterable[Collection[CallbackGroup]],
    ) -> AbstractContextManager[None]:
        """
        Return a context in which the threads spin.

        :param services: the services of the arm.
        :param changes: callbacks that change parameters.
        :param stops: callbacks that stop the arm.
        :param motions: those of the motion interfaces.
        :param streams: those of messages that come all the time; a thread for each collection.
        """
        counts = {
            **dict.fromkeys(motions, _MOTIONS),
            services.group: _SERVICES,
            services.path_group: _PATHS,
            services.batch_group: _BATCHES,
            changes: _CHANGES,
            stops: _STOPS,
        }
        streaming = [StreamExecutor(self._node, groups) for groups in streams]
        parts = partition(self._node, [group for groups in streams for group in groups], *counts)
        threads = zip(parts, (*counts.values(), _OTHERS), strict=True)
        self._executors = (*streaming, *parts)
        several = (executor for executor, count in threads for _ in range(count))
        return spinning(*streaming, *several)

    def wake(self) -> None:
        """Let the threads notice new services and subscriptions."""
        for executor in self._executors:
            executor.wake()
