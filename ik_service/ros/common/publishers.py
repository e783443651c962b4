"""Publishers of topics: their nodes, their listeners, and those that a node does not hear."""

from __future__ import annotations

from contextlib import suppress

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_check_compatible, QoSCompatibility
from rclpy.subscription import Subscription

UNKNOWN = '_NODE_NAME_UNKNOWN_'  # name of a node of which only an end of a topic is known yet


def full_name(namespace: str, name: str) -> str:
    """Return the full name of a node, or a phrase where it is not known yet."""
    if name == UNKNOWN:
        return 'a node whose name is not known yet'
    return f'{namespace.rstrip("/")}/{name}'


def publishers_of(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish on a topic, sorted."""
    infos = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    return sorted(full_name(info.node_namespace, info.node_name) for info in infos)


def publisher_ids(node: Node, topic: str) -> frozenset[bytes]:
    """
    Return the identifiers of all known publishers of a topic.

    One that was killed is among them until DDS gives it up, after up to 20 s.
    """
    infos = node.get_publishers_info_by_topic(topic)
    return frozenset(bytes(info.endpoint_gid) for info in infos)


def listener_ids(node: Node, publisher: Publisher) -> frozenset[bytes]:
    """
    Return the identifiers of the subscriptions that a publisher of a node reaches.

    Where one comes just as another goes, their number is the same.
    """
    if not publisher.get_subscription_count():
        return frozenset()
    infos = node.get_subscriptions_info_by_topic(publisher.topic_name)
    return frozenset(bytes(info.endpoint_gid) for info in infos)


def not_received(node: Node) -> list[str]:
    """Return a sentence about each publisher that the quality of service keeps from a node."""
    by_topic: dict[str, list[Subscription]] = {}
    for subscription in tuple(node.subscriptions):
        with suppress(InvalidHandle):  # one that is being destroyed
            by_topic.setdefault(subscription.topic_name, []).append(subscription)
    return [
        text
        for topic, subscriptions in sorted(by_topic.items())
        # Most topics have as many publishers as match; to count takes a tenth of the time.
        if node.count_publishers(topic) > max(each.get_publisher_count() for each in subscriptions)
        for text in _incompatible(node, topic, subscriptions)
    ]


def _incompatible(node: Node, topic: str, subscriptions: list[Subscription]) -> list[str]:
    """Return a sentence about each publisher of a topic that none of them receives from."""
    sentences = []
    for info in node.get_publishers_info_by_topic(topic):
        faults = [
            reason
            for subscription in subscriptions
            for fit, reason in [qos_check_compatible(info.qos_profile, subscription.qos_profile)]
            if fit == QoSCompatibility.ERROR
        ]
        if len(faults) == len(subscriptions):
            who = full_name(info.node_namespace, info.node_name)
            sentences.append(f'{topic} of {who}: {faults[0].strip().rstrip(";")}')
    return sentences
