"""
Executor of subscriptions whose messages come all the time.

An executor of rclpy lists what it waits for anew before each wait, and each callback makes it do
so twice: half a millisecond of computing for a message that takes a tenth of that. Here the list
is made once, and one thread takes what comes, as :mod:`rclpy.wait_for_message` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import ExitStack, suppress
import inspect
import threading
from typing import Any, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription

T = TypeVar('T')


class StreamExecutor:
    """
    Executor of the subscriptions of some callback groups and of their events, for one thread.

    Timers, services and clients of the groups are not served. Subscriptions that come or go are
    noticed after :meth:`wake`.

    :param node: the node.
    :param groups: the callback groups.
    """

    def __init__(self, node: Node, groups: Collection[CallbackGroup]) -> None:
        self._node = node
        self._groups = frozenset(groups)
        self._context = node.context
        self._guard = GuardCondition(callback=None, callback_group=None, context=node.context)
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._context.on_shutdown(self.wake)

    def spin(self) -> None:
        """Serve until the executor or the context is shut down."""
        self._idle.clear()
        try:
            while not self._ended.is_set() and self._context.ok():
                self._changed.clear()
                self._serve()
        finally:
            self._idle.set()

    def wake(self) -> None:
        """Let the thread look for new subscriptions, or whether it shall end."""
        self._changed.set()
        with suppress(InvalidHandle):  # where the context is gone, and with it what waits
            self._guard.trigger()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """
        Let the spinning thread end.

        :param timeout_sec: how long to wait for it [s]; for ever by default.
        :returns: whether it did so in time.
        """
        self._ended.set()
        self.wake()
        return self._idle.wait(timeout_sec)

    def _serve(self) -> None:
        """Serve the subscriptions that there are, until something has changed."""
        context = self._context.handle
        if context is None:  # not initialised
            return
        with ExitStack() as stack:
            subscriptions = self._entered(stack, self._node.subscriptions, lambda s: s.handle)
            # Events have to be waited for together with the messages, which trigger them as well.
            events = self._entered(stack, self._node.waitables, lambda event: event)
            takes_info = [_takes_info(subscription.callback) for subscription in subscriptions]
            stack.enter_context(self._guard.handle)
            stack.enter_context(context)
            waiting = _rclpy.WaitSet(len(subscriptions), 1, 0, 0, 0, len(events), context)
            while not self._changed.is_set():
                waiting.clear_entities()
                for subscription in subscriptions:
                    waiting.add_subscription(subscription.handle)
                waiting.add_guard_condition(self._guard.handle)
                for event in events:
                    event.add_to_wait_set(waiting)
                waiting.wait(-1)
                ready = waiting.get_ready_entities('subscription')
                for event in [event for event in events if event.is_ready(waiting)]:
                    _finish(event.execute(event.take_data()))
                for subscription, info in zip(subscriptions, takes_info, strict=True):
                    if subscription.handle.pointer in ready and not self._ended.is_set():
                        _take(subscription, info)

    def _entered(
        self, stack: ExitStack, entities: Iterable[T], handle: Callable[[T], Any]
    ) -> list[T]:
        """Return the entities of the groups, which live at least until the stack is closed."""
        served = []
        for entity in list(entities):
            if entity.callback_group in self._groups:  # type: ignore[attr-defined]
                with suppress(InvalidHandle):  # where it is being destroyed
                    stack.enter_context(handle(entity))
                    served.append(entity)
        return served


def _take(subscription: Subscription, takes_info: bool) -> None:
    taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    if taken is not None:
        message, info = taken
        subscription.callback(*((message, info) if takes_info else (message,)))


def _takes_info(callback: Callable[..., Any]) -> bool:
    """Return whether a callback takes the information about a message, too."""
    try:
        inspect.signature(callback).bind(object(), object())
    except TypeError:
        return False
    return True


def _finish(step: Coroutine[Any, Any, object]) -> None:
    """Run what waits for nothing to its end."""
    with suppress(StopIteration):
        step.send(None)
