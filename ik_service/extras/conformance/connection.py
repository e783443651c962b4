"""Connection to the services of a server: requests, answers, and its other interfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
import threading
import time
from typing import Any

from rclpy.client import Client
from rclpy.exceptions import InvalidNamespaceException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Future

from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    NoAnswerError,
    NotSupportedError,
)
from ik_service.ros.common.actions import NodeWithActions, ThreadSafeActionClient
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.common.runtime import name_fault, ros, spinning_node

_NAME = 'ik_conformance'
_DISCOVERY = 3.0  # within which an action that is there is found [s]
_POLL_PERIOD = 0.05  # while waiting for a service or subscriber to appear [s]


class ServerMissingError(IkServiceError):
    """No server of the service on the ROS graph."""


class ServerConnection:
    """Connection to a server's services; ``patience`` [s] holds for answers and services."""

    def __init__(self, node: Node, patience: float) -> None:
        self.node = node
        self.patience = patience
        self._clients: dict[str, Client] = {}
        self._publishers: dict[str, Publisher] = {}
        self._actions: dict[str, ThreadSafeActionClient] = {}

    def wait_for(self, kind: type, service: str) -> None:
        """Wait until a service is there; NoServerError if it does not appear in time."""
        if not self.waited_for(self._client(kind, service).service_is_ready):
            name = self.full_name(service)
            types = dict(self.node.get_service_names_and_types()).get(name, [])
            others = [each for each in types if not each.endswith(f'/{kind.__name__}')]  # not ours
            raise ServerMissingError(
                f'nobody serves {name} after {self.patience:g} s'
                + (f' but one as {", ".join(others)}' if others else '')
                + '; --namespace and --ros-args -r lead to another name'
            )

    def offers(self, kind: type, service: str) -> bool:
        """Return whether a service is there now."""
        return bool(self._client(kind, service).service_is_ready())

    def waited_for(self, is_there: Callable[[], bool], patience: float | None = None) -> bool:
        """Wait until something is true; return whether it was in time, which is [s] as given."""
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        while not is_there():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_PERIOD)
        return True

    def full_name(self, service: str) -> str:
        """Return the name of a service with namespace and remaps."""
        return str(self.node.resolve_service_name(service))

    def servers_of(self, service: str) -> list[str]:
        """Return the nodes that offer a service, by their full names."""
        self.waited_for(lambda: bool(self._servers_of(service)))  # known later than the service
        return self._servers_of(service)

    def _servers_of(self, service: str) -> list[str]:
        name, found = self.full_name(service), []
        for node, namespace in self.node.get_node_names_and_namespaces():
            try:
                offered = self.node.get_service_names_and_types_by_node(node, namespace)
            except RuntimeError:  # it has gone meanwhile
                continue
            if name in dict(offered):
                found.append(f'{namespace.rstrip("/")}/{node}')
        return found

    def ask(
        self, kind: type, service: str, request: object, asked: str, patience: float | None = None
    ) -> tuple[Any, float]:
        """Return the answer to a request, and how long it took [s]; raises if there is none."""
        client = self._client(kind, service)
        if not client.service_is_ready():
            raise NotSupportedError(f'there is no service {self.full_name(service)}')
        patience = self.patience if patience is None else patience
        answer = _answer(client, request, patience)
        if answer is None:
            gone = 'the service has gone'
            if client.service_is_ready():
                gone = 'its node is listed yet, so it hangs, or was killed'
            raise NoAnswerError(asked, f'no answer within {patience:g} s: {gone}', 'an answer')
        return answer

    def ask_at_once(
        self, kind: type, service: str, requests: Sequence[object], clients: int
    ) -> list[tuple[object, Any, float]]:
        """Send requests by several clients in turns; return request, answer, time [s] of each."""
        senders = [
            self.node.create_client(kind, service, qos_profile=SERVICE_QOS) for _ in range(clients)
        ]
        pending = iter(requests)

        def ask(sender: Client) -> list[tuple[object, Any, float]]:
            answered = []
            for request in pending:
                answer = _answer(sender, request, self.patience)
                if answer is None:
                    break
                answered.append((request, *answer))
            return answered

        try:
            for sender in senders:
                self.waited_for(sender.service_is_ready)
            with ThreadPoolExecutor(clients) as pool:
                return [*chain.from_iterable(pool.map(ask, senders))]
        finally:
            for sender in senders:
                self.node.destroy_client(sender)

    def publisher(self, kind: type, topic: str) -> Publisher:
        """Return the publisher of a topic; NotSupportedError where nobody listens."""
        publisher = self._publishers.get(topic)
        if publisher is None:
            publisher = self._publishers[topic] = self.node.create_publisher(kind, topic, 10)
        if not self.waited_for(lambda: publisher.get_subscription_count() > 0):
            raise NotSupportedError(f'nobody listens to {self.node.resolve_topic_name(topic)}')
        return publisher

    def send_goal(self, kind: type, action: str, goal: object, asked: str) -> SentGoal:
        """Send a goal to an action; NotSupportedError where that is not there."""
        client = self._actions.get(action)
        if client is None:
            client = self._actions[action] = ThreadSafeActionClient(self.node, kind, action)
            self.waited_for(client.server_is_ready, min(self.patience, _DISCOVERY))
        if not client.server_is_ready():
            name = self.node.resolve_topic_name(action)
            raise NotSupportedError(f'there is no action {name}')
        return SentGoal(client, goal, asked, self.patience)

    def _client(self, kind: type, service: str) -> Client:
        client = self._clients.get(service)
        if client is None:
            client = self.node.create_client(kind, service, qos_profile=SERVICE_QOS)
            self._clients[service] = client
        return client


class SentGoal:
    """Goal of an action that was accepted; CheckFailedError where it is not, or not in time."""

    def __init__(
        self, client: ThreadSafeActionClient, goal: object, asked: str, patience: float
    ) -> None:
        self._asked = asked
        answer = client.send_goal_async(goal)
        if not _wait(answer, patience):
            raise NoAnswerError(asked, f'no answer within {patience:g} s', 'an answer')
        self._handle = answer.result()
        if not self._handle.accepted:
            raise CheckFailedError(asked, 'a rejection', 'a result with an error code')
        self._result: Future = self._handle.get_result_async()

    @property
    def ended(self) -> bool:
        """Whether the result has come."""
        return bool(self._result.done())

    def cancel(self) -> None:
        """Ask for the cancellation."""
        self._handle.cancel_goal_async()

    def result(self, patience: float) -> Any:  # noqa: ANN401  of the type of the action
        """Wait some seconds for the result and return it; NoAnswerError if it is late."""
        if not _wait(self._result, patience):
            raise NoAnswerError(self._asked, f'no result within {patience:g} s', 'a result')
        return self._result.result().result


def _answer(client: Client, request: object, patience: float) -> tuple[Any, float] | None:
    """Return the answer to a request, and how long it took [s]; None if there is none in time."""
    began = time.monotonic()
    future = client.call_async(request)
    if not _wait(future, patience):
        client.remove_pending_request(future)
        return None
    return future.result(), time.monotonic() - began


def _wait(future: Future, seconds: float) -> bool:
    """Wait for a future that another thread completes; return whether it was in time."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(seconds)


@contextmanager
def connected(
    ros_arguments: Sequence[str], namespace: str, patience: float
) -> Iterator[ServerConnection]:
    """
    Join the ROS graph for a ``with`` block.

    :param ros_arguments: the arguments for ROS, from ``--ros-args`` on.
    :param namespace: namespace in which the services are searched; empty for the root, or for
        that of the ROS arguments.
    :param patience: how long to wait for answers [s].
    :raises ArgumentError: ROS cannot read the arguments, or the namespace is none.
    """
    with ros(list(ros_arguments)):
        try:
            node = NodeWithActions(_NAME, namespace=namespace or None)
        except InvalidNamespaceException as error:
            raise ArgumentError('--namespace', name_fault(error)) from error
        with spinning_node(node):
            yield ServerConnection(node, patience)
