"""
Executor of subscriptions whose messages come all the time, in one thread for several nodes.

An executor of rclpy builds its wait set anew before each wait, and each callback makes it do so
twice: half a millisecond of computing for a message that takes a tenth of that. Here the set is
built once, and one thread takes the messages, as :mod:`rclpy.wait_for_message` does. It may do so
for several nodes: a thread that wakes for one message of each takes longer to wake than for all
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import dataclass
import inspect
import threading
import time
from typing import Any, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.waitable import Waitable

T = TypeVar('T')

_MOST_AT_ONCE = 16  # messages of a subscription that are taken before those of the others
_PATIENCE = 0.02  # time for which the turn is waited for, at most [s]
_LEAVING = 0.1  # time that a callback may take when its node leaves [s]


@dataclass(frozen=True, eq=False)
class _Part:
    """Subscriptions of a node that are served, and the handler of their callbacks' exceptions."""

    node: Node
    groups: frozenset[CallbackGroup]
    on_error: Callable[[Exception], None] | None


@dataclass(frozen=True, eq=False)
class _Stream:
    """A subscription, and how its messages are given to its callback."""

    subscription: Subscription
    handle: Any
    takes_info: bool
    on_error: Callable[[Exception], None] | None

    def serve(self) -> None:
        """Give the messages that wait to the callback."""
        subscription = self.subscription
        take, callback = self.handle.take_message, subscription.callback
        for _ in range(_MOST_AT_ONCE):
            taken = take(subscription.msg_type, subscription.raw)
            if taken is None:
                return
            try:
                callback(*(taken if self.takes_info else taken[:1]))
            except Exception as error:
                if self.on_error is None:
                    raise
                self.on_error(error)


class StreamExecutor:
    """
    Executor of the subscriptions of some callback groups and of their events, for one thread.

    Timers, services and clients of the groups are not served. Subscriptions that come or go are
    noticed after :meth:`wake`.

    :param rest: time for which messages are left to gather after some were taken [s]; those that
        come one by one are then taken together.
    :param turn: held while messages are served, unless it cannot be had within a while; None for
        nothing to wait for.
    """

    def __init__(
        self, context: Context, rest: float = 0.0, turn: threading.Lock | None = None
    ) -> None:
        self._context = context
        self._rest = rest
        self._turn = turn
        self._parts: tuple[_Part, ...] = ()
        self._served: tuple[_Part, ...] = ()
        self._parts_changed = threading.Condition()
        self._guard = GuardCondition(callback=None, callback_group=None, context=context)
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._context.on_shutdown(self.wake)

    @contextmanager
    def serving(
        self,
        node: Node,
        groups: Collection[CallbackGroup],
        on_error: Callable[[Exception], None] | None = None,
    ) -> Iterator[None]:
        """
        Serve callback groups of a node for the time of a ``with`` block.

        :param on_error: called with a callback's exception; without it :meth:`spin` raises that.
        """
        part = _Part(node, frozenset(groups), on_error)
        with self._parts_changed:
            self._parts = (*self._parts, part)
        self.wake()
        try:
            yield
        finally:
            with self._parts_changed:
                self._parts = tuple(other for other in self._parts if other is not part)
                self.wake()
                self._parts_changed.wait_for(lambda: part not in self._served, _LEAVING)

    def spin(self) -> None:
        """Serve until the executor or the context is shut down."""
        self._idle.clear()
        try:
            while not self._ended.is_set() and self._context.ok():
                self._changed.clear()
                self._serve()
        finally:
            with self._parts_changed:
                self._served = ()
                self._parts_changed.notify_all()
            self._idle.set()

    def wake(self) -> None:
        """Let the thread check for new subscriptions, or for its end."""
        self._changed.set()
        with suppress(InvalidHandle):  # where the context is gone, and with it the wait
            self._guard.trigger()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Let the spinning thread end; return whether it did so in time [s]."""
        self._ended.set()
        self.wake()
        return self._idle.wait(timeout_sec)

    def _serve(self) -> None:
        """Serve the subscriptions that there are, until something has changed."""
        context = self._context.handle
        if context is None:  # not initialised
            return
        with ExitStack() as stack:
            parts = self._present_parts()
            streams = [stream for part in parts for stream in _streams(stack, part)]
            # Events have to be waited for together with the messages, which trigger them as well.
            events = [event for part in parts for event in _events(stack, part)]
            stack.enter_context(self._guard.handle)
            stack.enter_context(context)
            waiting = _rclpy.WaitSet(len(streams), 1, 0, 0, 0, len(events), context)
            while not self._changed.is_set():
                self._wait(waiting, streams, events)
                ready = waiting.get_ready_entities('subscription')
                for event in [event for event in events if event.is_ready(waiting)]:
                    with suppress(StopIteration):  # a coroutine that awaits nothing
                        event.execute(event.take_data()).send(None)
                with self._in_turn():
                    for stream in streams:
                        if stream.handle.pointer in ready and not self._ended.is_set():
                            stream.serve()
                if self._rest:
                    time.sleep(self._rest)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Wait for the turn, but not long, and hold it for the time of a ``with`` block."""
        turn = self._turn
        taken = turn is not None and turn.acquire(timeout=_PATIENCE)
        try:
            yield
        finally:
            if turn is not None and taken:
                turn.release()

    def _wait(self, waiting: Any, streams: list[_Stream], events: list[Waitable]) -> None:  # noqa: ANN401 - it has no type
        """Wait for a message, an event or a change."""
        waiting.clear_entities()
        for stream in streams:
            waiting.add_subscription(stream.handle)
        waiting.add_guard_condition(self._guard.handle)
        for event in events:
            event.add_to_wait_set(waiting)
        waiting.wait(-1)

    def _present_parts(self) -> tuple[_Part, ...]:
        """Return the parts served from now on, after which no others are."""
        with self._parts_changed:
            self._served = self._parts
            self._parts_changed.notify_all()
            return self._served


def _streams(stack: ExitStack, part: _Part) -> Iterator[_Stream]:
    """Yield the subscriptions of a part, which live at least until the stack is closed."""
    for subscription in _of(part, part.node.subscriptions):
        with suppress(InvalidHandle):  # where it is being destroyed
            stack.enter_context(subscription.handle)
            info = _takes_info(subscription.callback)
            yield _Stream(subscription, subscription.handle, info, part.on_error)


def _events(stack: ExitStack, part: _Part) -> Iterator[Waitable]:
    """Yield the events of a part, which live at least until the stack is closed."""
    for event in _of(part, part.node.waitables):
        with suppress(InvalidHandle):
            stack.enter_context(event)
            yield event


def _of(part: _Part, entities: Iterable[T]) -> list[T]:
    return [entity for entity in entities if entity.callback_group in part.groups]  # type: ignore[attr-defined]


def _takes_info(callback: Callable[..., Any]) -> bool:
    """Return whether a callback takes the information about a message, too."""
    try:
        inspect.signature(callback).bind(object(), object())
    except TypeError:
        return False
    return True
