"""
Subscriptions to topics whose publishers choose their quality of service, or that are polled.

A reliable subscription receives nothing from a best-effort publisher, such as those of micro-ROS,
Unity and bridges; a best-effort one loses messages of a reliable publisher. So there are two on
such a topic, the second one from the moment on at which a best-effort publisher is discovered. Of
a message that both receive one copy counts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

OnMessage = Callable[[Any, Mapping[str, int]], object]
"""Called with a message and rclpy's information about it."""

_REMEMBERED = 1000
"""Messages of which the second copy is known by, at least as many as wait in a queue."""


class CopyFilter:
    """
    Filter of messages that a reliable and a best-effort subscription both receive.

    The copy that comes first counts. Where the best-effort subscription has lost one, those after
    it count once more when the reliable one delivers them: the last to count is always the one
    published last. Messages without a time of publication cannot be distinguished and
    count as often as they come.
    """

    def __init__(self) -> None:
        self._reliable: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._best_effort: OrderedDict[tuple[int, int], None] = OrderedDict()

    def counts(self, info: Mapping[str, int], reliable: bool) -> bool:
        """Return whether a message of the reliable subscription, or of the other one, counts."""
        key = info.get('source_timestamp', 0), info.get('publication_sequence_number', 0)
        if not key[0]:
            return True
        own, other = self._reliable, self._best_effort
        if not reliable:
            own, other = other, own
        if key in other:
            del other[key]
            return False
        if reliable:
            other.clear()
        own[key] = None
        if len(own) > _REMEMBERED:
            own.popitem(last=False)
        return True


class InputTopic:
    """
    Subscription that receives from reliable publishers without loss, and from best-effort ones.

    :param on_message: called with each message; the two subscriptions are in one callback group,
        which has to exclude calls at the same time.
    :param raw: whether messages are given as they are serialised.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        on_message: OnMessage,
        depth: int,
        group: CallbackGroup,
        raw: bool = False,
    ) -> None:
        self._node, self._kind, self._topic, self._depth = node, kind, topic, depth
        self._on_message, self._group, self._raw = on_message, group, raw
        self._copies = CopyFilter()
        self._ended = False
        self.subscriptions: list[Subscription] = []
        self._subscribe(ReliabilityPolicy.RELIABLE, on_message, self._on_incompatible)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._ended = True
        for subscription in self.subscriptions:
            self._node.destroy_subscription(subscription)

    def _subscribe(
        self,
        reliability: ReliabilityPolicy,
        take: OnMessage,
        on_incompatible: Callable[[Any], None] | None = None,
    ) -> None:
        events = SubscriptionEventCallbacks(incompatible_qos=on_incompatible)
        self.subscriptions.append(
            self._node.create_subscription(
                self._kind,
                self._topic,
                take,  # type: ignore[arg-type]  # rclpy's type lacks MessageInfo
                QoSProfile(depth=self._depth, reliability=reliability),
                callback_group=self._group,
                event_callbacks=events,
                raw=self._raw,
            )
        )

    def _on_incompatible(self, _: Any) -> None:  # noqa: ANN401 - a type without a public name
        """Receive from a publisher that was discovered, and is no reliable one."""
        if self._ended or len(self.subscriptions) > 1:
            return
        self._node.get_logger().info(
            f'{self._topic}: a best-effort publisher was discovered; the node receives from it too'
        )
        self.subscriptions[0].callback = partial(self._take, True)
        self._subscribe(ReliabilityPolicy.BEST_EFFORT, partial(self._take, False))

    def _take(self, reliable: bool, message: Any, info: Mapping[str, int]) -> None:  # noqa: ANN401
        if self._copies.counts(info, reliable):
            self._on_message(message, info)


def polled(subscription: Subscription, most: int) -> list[tuple[bytes, Mapping[str, int]]]:
    """Return the serialised messages that have come, and rclpy's information about each."""
    handle, kind = subscription.handle, subscription.msg_type
    messages: list[tuple[bytes, Mapping[str, int]]] = []
    try:
        with handle:
            while len(messages) < most and (taken := handle.take_message(kind, True)) is not None:
                messages.append(taken)
    except InvalidHandle:  # the node is gone
        return []
    return messages
