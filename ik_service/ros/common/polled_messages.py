"""Messages of a subscription that nobody waits for."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.exceptions import InvalidHandle
from rclpy.subscription import Subscription


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
