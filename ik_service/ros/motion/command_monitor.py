"""Monitor of the commands of other nodes to the same arm."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
import threading
import time

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy

_REMEMBERED = 200  # own commands that may still be in transit
_RECENT = 2.0  # time for which a foreign command counts [s]
_HEADER = 4  # of a serialised message, in which the middleware may note something
_QOS = QoSProfile(depth=_REMEMBERED, reliability=ReliabilityPolicy.BEST_EFFORT)
_PAUSE = 0.05  # between two checks of the commands [s]


class CommandMonitor:
    """
    Monitor of the command topic, for other publishers and foreign commands.

    Most commands are the node's own, and nothing has to happen when one comes. So they wake
    nobody: they are checked when the node has something else to do.

    :ivar own: full name of the node.
    :ivar foreign_count: number of commands that this node did not send.
    :ivar group: callback group of the commands; needs no thread where :meth:`poll` is called.
    """

    def __init__(self, node: Node, publisher: Publisher) -> None:
        self._node = node
        self._topic = publisher.topic_name
        self.own = full_name(node.get_namespace(), node.get_name())
        self._lock = threading.Lock()
        self._ours: deque[int] = deque(maxlen=_REMEMBERED)
        self._foreign_at = self._polled_at = float('-inf')
        self._ours_began, self._foreign_began = _Stream(), _Stream()
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
        """Note an own command, before it is sent."""
        with self._lock:
            self._ours.append(hash(serialized[_HEADER:]))

    def poll(self, now: float) -> None:
        """Check the commands received, unless that was done just now."""
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
                self._note(taken[0], taken[1]['source_timestamp'])

    def others(self) -> str:
        """
        Return the names of the other nodes that command the arm; empty for none.

        A publisher of a node with the name of this one counts only when commands of it come:
        discovery keeps a program that was killed for up to 20 s, and then this is its successor.
        """
        self._look()
        # To count takes a tenth of the time of names, and the only one is that of this node.
        if self._node.count_publishers(self._topic) != 1:
            names = [name for name in self._publishers() if name != self.own]
            if names:
                return ', '.join(names)
        if time.monotonic() - self._foreign_at >= _RECENT:
            return ''
        return f'a second {self.own}' if self.has_namesake() else 'a publisher that is not visible'

    def has_namesake(self) -> bool:
        """Return whether there is a publisher of another node of the same name."""
        return self._publishers().count(self.own) > 1

    def _publishers(self) -> list[str]:
        return publishers_of(self._node, self._topic)

    def predecessor(self) -> str:
        """
        Return who has begun to command the arm before this node did; empty for nobody.

        Commands are distinguished by when they were handed to the middleware, so that of two nodes
        that both ask exactly one is the later one.
        """
        recent = time.monotonic() - self._foreign_at < _RECENT
        with self._lock:
            later = self._ours_began.began > self._foreign_began.began
        return self.others() if recent and later else ''

    def _on_command(self, serialized: bytes) -> None:
        """Note a command that somebody else has taken from the queue."""
        self._note(serialized, time.time_ns())

    def _note(self, serialized: bytes, sent_at: int) -> None:
        with self._lock:
            if hash(bytes(serialized)[_HEADER:]) in self._ours:
                self._ours_began.note(sent_at)
            else:
                self.foreign_count += 1
                self._foreign_at = time.monotonic()
                self._foreign_began.note(sent_at)


@dataclass
class _Stream:
    """
    Commands of one source without a longer pause.

    :ivar began: when the first of them was sent [ns].
    :ivar last: when the last of them was sent [ns].
    """

    began: int = 0
    last: int = 0

    def note(self, sent_at: int) -> None:
        """
        Note a command.

        :param sent_at: when it was sent [ns].
        """
        if sent_at - self.last > _RECENT * 1e9:
            self.began = sent_at
        self.last = sent_at


def publishers_of(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish on a topic, sorted."""
    infos = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    return sorted(full_name(info.node_namespace, info.node_name) for info in infos)


def full_name(namespace: str, name: str) -> str:
    """Return the full name of a node."""
    return f'{namespace.rstrip("/")}/{name}'
