"""Detection of other publishers of joint commands."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
import threading
import time

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy

_REMEMBERED = 200  # own commands that may still be on their way
_RECENT = 2.0  # time for which a foreign command counts [s]
_HEADER = 4  # of a serialised message, in which the middleware may note something
_QOS = QoSProfile(depth=_REMEMBERED, reliability=ReliabilityPolicy.BEST_EFFORT)
_PAUSE = 0.05  # between two looks at the commands [s]


class CommandMonitor:
    """
    Monitor of the command topic, for other publishers and foreign commands.

    Most commands are the node's own, and nothing has to happen when one comes. So they wake
    nobody: they are looked at when the node has something else to do.

    :param node: the node that commands.
    :param publisher: publisher of its commands.
    :ivar foreign_count: number of commands that this node did not send.
    :ivar group: callback group of the commands; needs no thread where :meth:`poll` is called.
    """

    def __init__(self, node: Node, publisher: Publisher) -> None:
        self._node = node
        self._topic = publisher.topic_name
        self._own = full_name(node.get_namespace(), node.get_name())
        self._lock = threading.Lock()
        self._ours: deque[int] = deque(maxlen=_REMEMBERED)
        self._foreign_at = self._polled_at = float('-inf')
        self.foreign_count = 0
        self.group = MutuallyExclusiveCallbackGroup()
        self._commands = node.create_subscription(
            publisher.msg_type,
            self._topic,
            self._on_command,
            _QOS,
            callback_group=self.group,
            # An event would have to be waited for, and is triggered by every message.
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            raw=True,
        )

    def remember(self, serialized: bytes) -> None:
        """
        Note an own command, before it is sent.

        :param serialized: the message.
        """
        with self._lock:
            self._ours.append(hash(serialized[_HEADER:]))

    def poll(self, now: float) -> None:
        """
        Look at the commands that have come, unless that was done just now.

        :param now: time on the monotonic clock [s].
        """
        if now - self._polled_at >= _PAUSE:
            self._polled_at = now
            self._look()

    def _look(self) -> None:
        take, kind = self._commands.handle.take_message, self._commands.msg_type
        with suppress(InvalidHandle), self._commands.handle:  # unless the node is gone
            for _ in range(_REMEMBERED):
                taken = take(kind, True)
                if taken is None:
                    return
                self._on_command(taken[0])

    def others(self) -> str:
        """
        Return the names of the other nodes that command the arm; empty for none.

        A publisher of a node with the name of this one counts only when commands of it come:
        discovery keeps a program that was killed for up to 20 s, and then this is its successor.
        """
        self._look()
        # To count takes a tenth of the time of names, and the only one is that of this node.
        if self._node.count_publishers(self._topic) != 1:
            names = [name for name in self._publishers() if name != self._own]
            if names:
                return ', '.join(names)
        if time.monotonic() - self._foreign_at >= _RECENT:
            return ''
        return (
            f'a second {self._own}' if self.has_namesake() else 'a publisher that is not visible'
        )

    def has_namesake(self) -> bool:
        """Return whether there is a publisher of another node of the same name."""
        return self._publishers().count(self._own) > 1

    def _publishers(self) -> list[str]:
        return publishers_of(self._node, self._topic)

    def _on_command(self, serialized: bytes) -> None:
        with self._lock:
            if hash(bytes(serialized)[_HEADER:]) not in self._ours:
                self.foreign_count += 1
                self._foreign_at = time.monotonic()


def publishers_of(node: Node, topic: str) -> list[str]:
    """
    Return the full names of the nodes that publish on a topic, sorted.

    :param node: the node that asks.
    :param topic: name of the topic, as the node writes it.
    """
    infos = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    return sorted(full_name(info.node_namespace, info.node_name) for info in infos)


def full_name(namespace: str, name: str) -> str:
    """
    Return the full name of a node.

    :param namespace: its namespace.
    :param name: its name.
    """
    return f'{namespace.rstrip("/")}/{name}'
