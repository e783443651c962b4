"""Threads for what comes all the time, shared by the nodes of a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.context import Context
from rclpy.utilities import get_default_context

from ik_service.common.periodic_calls import PeriodicCalls
from ik_service.ros.common.runtime import spinning
from ik_service.ros.common.stream_executor import StreamExecutor

_REST = 1e-3
"""Time for which joint states of several arms gather [s]."""


class SharedThreads:
    """
    Threads for the joint states, the commands and the markers of several nodes.

    With threads of their own, the nodes would mostly hand Python's global lock to each other. They
    have to run for as long as one of the nodes does.

    :param context: ROS context of the nodes; None for the default one.
    :ivar commands: makes the calls for the commands of all nodes.
    :ivar checks: makes the calls for markers, which may take longer.
    :ivar states: takes the joint states for all nodes.
    """

    def __init__(self, context: Context | None = None) -> None:
        self.commands, self.checks = PeriodicCalls(), PeriodicCalls()
        self.states = StreamExecutor(context or get_default_context(), _REST)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the threads for the time of a ``with`` block."""
        with self.commands, self.checks, spinning(self.states):
            yield
