"""Services, topics, parameters and actions of a ROS graph, with messages from YAML and back."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
import importlib
import math
import re
import sys
import time
from typing import Any, TypeVar

from action_msgs.msg import GoalStatus
import numpy as np
from rcl_interfaces.msg import ParameterType, SetParametersResult
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
import rclpy
from rclpy.action import (
    get_action_client_names_and_types_by_node,
    get_action_names_and_types,
    get_action_server_names_and_types_by_node,
)
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from rclpy.validate_full_topic_name import validate_full_topic_name
import yaml

from ik_service.common.files import file_fault
from ik_service.common.quoting import quote, suggested
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.actions import ThreadSafeActionClient
from ik_service.ros.common.runtime import begin_ros, name_fault

T = TypeVar('T')

_POLL = 0.1  # time between two checks for Ctrl-C [s]
_DISCOVERY = 10.0  # patience with a node [s]
_LOOK = 1.0  # time without anything new on the graph, after which it is known [s]
_HINT = 3.0  # wait for a name, or any, after which similar ones, or none, are shown [s]
_RATE_WINDOW = 1000  # intervals between messages that a rate is the mean of
_SILENCE = 2.0  # without a message, after which there is no rate [s]
_LEAVING = 0.1  # from a message to the end of its publisher, at least [s]
_ACKNOWLEDGEMENT = Duration(seconds=0.1)  # patience with subscribers between two checks for Ctrl-C

_KINDS = {
    ParameterType.PARAMETER_BOOL: 'Boolean value is:',
    ParameterType.PARAMETER_INTEGER: 'Integer value is:',
    ParameterType.PARAMETER_DOUBLE: 'Double value is:',
    ParameterType.PARAMETER_STRING: 'String value is:',
}
_STATUS = {
    GoalStatus.STATUS_SUCCEEDED: 'SUCCEEDED',
    GoalStatus.STATUS_CANCELED: 'CANCELED',
    GoalStatus.STATUS_ABORTED: 'ABORTED',
}

_NODE_ENDS = {
    'Subscribers': Node.get_subscriber_names_and_types_by_node,
    'Publishers': Node.get_publisher_names_and_types_by_node,
    'Service Servers': Node.get_service_names_and_types_by_node,
    'Service Clients': Node.get_client_names_and_types_by_node,
    'Action Servers': get_action_server_names_and_types_by_node,
    'Action Clients': get_action_client_names_and_types_by_node,
}


class CallFailedError(IkServiceError):
    """A call that was not answered, or was refused."""


class Graph:
    """Client of whatever is on the graph; it prints as ros2cli does."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self._node, self._executor = node, executor

    def call(self, service: str, kind: str, text: str) -> None:
        """Call a service of a type, and print request and response; raises ValueTextError."""
        made = find_type(kind, 'srv')
        request = filled(made.Request(), parsed(text))
        client = self._node.create_client(made, service)
        if not client.service_is_ready():
            print('waiting for service to become available...', flush=True)
            self._wait(client.service_is_ready, 'service', client.srv_name, kind)
        print(f'requester: making request: {request!r}\n', flush=True)
        print(f'response:\n{self._result(client.call_async(request))!r}\n', flush=True)

    def publish(self, topic: str, kind: str, text: str, rate: float, once: bool) -> None:
        """Publish a message once, when there is a subscriber, or until Ctrl-C."""
        message = filled(find_type(kind, 'msg')(), parsed(text))
        publisher = self._node.create_publisher(type(message), topic, 1)
        if once and not publisher.get_subscription_count():
            print('Waiting for at least 1 matching subscription(s)...', flush=True)
            subscribed = publisher.get_subscription_count
            self._wait(lambda: subscribed() > 0, 'topic', publisher.topic_name, kind)
        print('publisher: beginning loop', flush=True)
        count = 0
        while True:
            count += 1
            publisher.publish(message)
            print(f'publishing #{count}: {message!r}\n', flush=True)
            if once:
                self._leave(publisher)
                return
            self._spin(1.0 / rate)

    def echo(self, topic: str, kind: str, once: bool) -> None:
        """
        Print messages as they come.

        :param kind: its type; empty to take that of its publishers.
        :param once: whether one is enough.
        :raises CallFailedError: nobody publishes it, so that its type is not known.
        :raises ValueTextError: there is no such type.
        """
        offers = self._publishers(topic, bool(kind))
        made = find_type(kind or offers[0].topic_type, 'msg')
        seen: list[object] = []

        def take(message: object) -> None:
            seen.append(message)
            if len(seen) == 1 or not once:
                print(f'{yaml_text(message)}---', flush=True)

        self._node.create_subscription(made, topic, take, _profile_for(offers))
        self._until(lambda: once and bool(seen))

    def measure_rate(self, topic: str) -> None:
        """
        Print once a second the rate at which messages come, until Ctrl-C.

        :raises CallFailedError: nobody publishes it.
        :raises ValueTextError: there is no such type.
        """
        offers = self._publishers(topic, at_once=False)
        times: deque[float] = deque(maxlen=_RATE_WINDOW + 1)
        self._node.create_subscription(
            find_type(offers[0].topic_type, 'msg'),
            topic,
            lambda _message: times.append(time.monotonic()),
            _profile_for(offers),
            raw=True,
        )
        while True:
            self._spin(1.0)
            print(rate_text(times, time.monotonic()), flush=True)

    def describe_topic(self, topic: str, endpoints: bool) -> None:
        """Print the type of a topic, and how many, or which, publish and read it."""
        name, node = self._node.resolve_topic_name(topic), self._node
        looks = node.get_publishers_info_by_topic, node.get_subscriptions_info_by_topic
        ends = self._ends(
            lambda: [look(name) for look in looks], f'nobody publishes or reads {name}'
        )
        print(f'Type: {[*ends[0], *ends[1]][0].topic_type}\n')
        for label, found in zip(('Publisher', 'Subscription'), ends, strict=True):
            print(f'{label} count: {len(found)}')
            if endpoints:
                print('', *found, sep='\n\n', end='\n\n')

    def send_goal(self, action: str, kind: str, text: str, feedback: bool) -> None:
        """
        Send a goal to an action, and wait for its result; Ctrl-C cancels it.

        :raises ValueTextError: the type or the goal is none.
        :raises CallFailedError: the goal is rejected.
        """
        made = find_type(kind, 'action')
        goal = filled(made.Goal(), parsed(text))
        client = ThreadSafeActionClient(self._node, made, action)
        print('Waiting for an action server to become available...', flush=True)
        self._wait(client.server_is_ready, 'action', action, kind)
        print(f'Sending goal:\n     {yaml_text(goal)}', flush=True)

        def show(message: Any) -> None:  # noqa: ANN401 (of any action)
            print(f'Feedback:\n    {yaml_text(message.feedback)}', flush=True)

        handle = self._result(client.send_goal_async(goal, show if feedback else None))
        if not handle.accepted:
            raise CallFailedError('the goal was rejected')
        print(f'Goal accepted with ID: {bytes(handle.goal_id.uuid).hex()}\n', flush=True)
        result = handle.get_result_async()
        try:
            answer = self._result(result)
        except KeyboardInterrupt:
            print('Canceling goal...', flush=True)
            self._result(handle.cancel_goal_async())
            answer = self._result(result)
        print(f'Result:\n    {yaml_text(answer.result)}', flush=True)
        status = _STATUS.get(answer.status, str(answer.status))
        print(f'Goal finished with status: {status}', flush=True)

    def list_nodes(self) -> None:
        """Print the names of the nodes on the graph."""
        for name in self._settled(lambda: sorted(self._nodes())):
            print(name)

    def list_names(self, what: str, types: bool) -> None:
        """Print names on the graph of topics, services or actions, with their types or without."""
        for name, found in self._settled(lambda: sorted(self._names(what))):
            print(f'{name} [{", ".join(found)}]' if types else name)

    def show_type(self, what: str, name: str) -> None:
        """Print the type of a topic, a service or an action, as of :meth:`list_names`."""
        name = self._node.resolve_topic_name(name)
        types = self._sought(lambda: dict(self._names(what)).get(name))
        if not types:
            raise CallFailedError(f'there is no {what} {name}')
        print(*types, sep='\n')

    def describe_action(self, action: str, types: bool) -> None:
        """Print the nodes that serve an action, and those that call it, with types or without."""
        name = self._node.resolve_topic_name(action)
        finds = (
            get_action_client_names_and_types_by_node,
            get_action_server_names_and_types_by_node,
        )
        ends = self._ends(
            lambda: [self._action_ends(name, find) for find in finds], f'there is no action {name}'
        )
        print(f'Action: {name}')
        for label, found in zip(('clients', 'servers'), ends, strict=True):
            print(f'Action {label}: {len(found)}')
            for node, kind in found:
                print(f'    {node} [{kind}]' if types else f'    {node}')

    def _ends(self, look: Callable[[], list[list]], none: str) -> list[list]:
        """Return both ends of a name when they have settled; raises CallFailedError for none."""
        self._sought(lambda: any(look()))
        ends = self._settled(look)
        if not any(ends):
            raise CallFailedError(none)
        return ends

    def _action_ends(self, action: str, find: Callable) -> list[tuple[str, str]]:
        """Return the nodes at one end of an action, and its type there."""
        ends = []
        for node, (short, space) in self._nodes().items():
            with suppress(NodeNameNonExistentError):  # it has ended meanwhile
                found = dict(find(self._node, short, space)).get(action)
                ends += [(node, kind) for kind in found or ()]
        return ends

    def describe_node(self, node: str) -> None:
        """Print the topics, services and actions of a node; raises CallFailedError."""
        name = self._node.resolve_topic_name(node)
        place = self._sought(lambda: self._nodes().get(name))
        if place is None:
            near = suggested(name, self._nodes())
            raise CallFailedError(f'Node not found: {name}; {near}')
        ends = self._settled(
            lambda: {label: sorted(find(self._node, *place)) for label, find in _NODE_ENDS.items()}
        )
        print(name)
        for label, found in ends.items():
            print(f'  {label}:')
            for end_name, kinds in found:
                print(f'    {end_name}: {", ".join(kinds)}')

    def _nodes(self) -> dict[str, tuple[str, str]]:
        """Return name and namespace of the other nodes by their full names."""
        nodes, own = self._node.get_node_names_and_namespaces(), self._node.get_name()
        return {f'{space.rstrip("/")}/{n}': (n, space) for n, space in nodes if n != own}

    def _names(self, what: str) -> list[tuple[str, list[str]]]:
        if what == 'action':
            return get_action_names_and_types(self._node)
        if what == 'topic':
            return self._node.get_topic_names_and_types()
        pairs = self._node.get_service_names_and_types()
        return [pair for pair in pairs if f'/{self._node.get_name()}/' not in pair[0]]

    def _parameters_of(self, node: str) -> list[str]:
        request = ListParameters.Request()
        return sorted(self._of_node(node, ListParameters, 'list_parameters', request).result.names)

    def list_parameters(self, node: str) -> None:
        """Print the names of a node's parameters; raises CallFailedError."""
        for name in self._parameters_of(node):
            print(f'  {name}')

    def get_parameter(self, node: str, name: str) -> None:
        """Print a parameter; raises CallFailedError where it is not there."""
        request = GetParameters.Request(names=[name])
        values = self._of_node(node, GetParameters, 'get_parameters', request).values
        if not values or values[0].type == ParameterType.PARAMETER_NOT_SET:
            near = suggested(name, self._parameters_of(node))
            raise CallFailedError(f'Parameter not set: {node} has no {quote(name)}; {near}')
        value = parameter_value_to_python(values[0])
        shown = list(value) if hasattr(value, 'tolist') else value
        print(f'{_KINDS.get(values[0].type, "Values are:")} {shown}')

    def set_parameter(self, node: str, name: str, text: str) -> None:
        """Set a parameter to a text in YAML; raises CallFailedError where it is refused."""
        parameter = Parameter(name, value=parameter_value(text)).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        results = self._of_node(node, SetParameters, 'set_parameters', request).results
        result = results[0] if results else SetParametersResult(reason='there is no result')
        if not result.successful:
            raise CallFailedError(f'Setting parameter failed: {result.reason}')
        print(f'Set parameter successful{": " if result.reason else ""}{result.reason}')

    def _leave(self, publisher: Publisher) -> None:
        """Wait until reliable subscribers have the message: it is lost with its publisher."""
        end = time.monotonic() + _DISCOVERY
        self._spin(_LEAVING)
        while not publisher.wait_for_all_acked(_ACKNOWLEDGEMENT) and time.monotonic() < end:
            self._spin(_POLL)

    def _publishers(self, topic: str, at_once: bool) -> list[Any]:
        name = self._node.resolve_topic_name(topic)
        patience = _LOOK if at_once else _DISCOVERY
        found = self._sought(
            lambda: self._node.get_publishers_info_by_topic(name), patience=patience
        )
        if not found and not at_once:
            raise CallFailedError(f'nobody publishes {name}; give its type to wait for somebody')
        return list(found or ())

    def _of_node(self, node: str, kind: type, service: str, request: object) -> Any:  # noqa: ANN401
        client: Client = self._node.create_client(kind, f'{node}/{service}')
        if not self._until(client.service_is_ready, _DISCOVERY):
            near = suggested(self._node.resolve_topic_name(node), self._nodes())
            raise CallFailedError(f'Node not found: nobody offers {client.srv_name}; {near}')
        return self._result(client.call_async(request))

    def _wait(self, is_there: Callable[[], bool], what: str, name: str, kind: str) -> None:
        """Wait for the other end of a name; what may be wrong with it is shown after a while."""
        if not self._until(is_there, _HINT):
            print(f'still waiting: {self._doubt(what, name, kind)}', file=sys.stderr, flush=True)
            self._until(is_there)

    def _doubt(self, what: str, name: str, kind: str) -> str:
        """Return the types that a name has beside the given one, or the names like it."""
        name, names = self._node.resolve_topic_name(name), dict(self._names(what))
        package, _, short = kind.partition('/')
        others = [
            each
            for each in names.pop(name, ())
            if (each.split('/')[0], each.split('/')[-1]) != (package, short.split('/')[-1])
        ]
        if others:
            return f'{name} has the type {", ".join(others)}'
        return f'nobody serves or reads {name}; {suggested(name, names)}'

    def _settled(self, look: Callable[[], T]) -> T:
        """
        Return what is found on the graph when nothing new has come for a while.

        While that is nothing, or there is no other node, its discovery may take longer.
        """

        def state() -> tuple[T, object]:
            names = [sorted(self._names(what)) for what in ('topic', 'service')]
            return look(), names

        begun = since = now = time.monotonic()
        found = state()
        while now < min(since + _LOOK, begun + _DISCOVERY) or (
            now < begun + _HINT and not (found[0] and self._nodes())
        ):
            self._spin(_POLL)
            now = time.monotonic()
            if (again := state()) != found:
                found, since = again, now
        return found[0]

    def _sought(self, look: Callable[[], T | None], patience: float = _DISCOVERY) -> T | None:
        """Return what is found on the graph, looking again while it is nothing."""
        end = time.monotonic() + patience
        while True:
            self._spin(_POLL)
            found = look()
            if found or time.monotonic() >= end:
                return found

    def _result(self, future: Future) -> Any:  # noqa: ANN401 (of whatever was called)
        self._until(future.done)
        return future.result()

    def _until(self, is_there: Callable[[], bool], patience: float = math.inf) -> bool:
        end = time.monotonic() + patience
        while not (there := is_there()) and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=_POLL)
        return there

    def _spin(self, seconds: float) -> None:
        self._until(lambda: False, seconds)


def rate_text(times: Sequence[float], now: float) -> str:
    """Return the rate of messages at times in order [s], as ``ros2 topic hz`` prints it."""
    if len(times) < 2 or now - times[-1] > _SILENCE:
        return 'no new messages'
    periods = np.diff(times)
    return (
        f'average rate: {1.0 / periods.mean():.3f}\n'
        f'\tmin: {periods.min():.3f}s max: {periods.max():.3f}s '
        f'std dev: {periods.std():.5f}s window: {len(periods)}'
    )


def _profile_for(publishers: Sequence[Any]) -> QoSProfile:
    """Return the strictest quality of service that all publishers of a topic offer."""
    profiles = [publisher.qos_profile for publisher in publishers]
    reliable = profiles and all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
    kept = profiles and all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    return QoSProfile(
        depth=10,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if kept else DurabilityPolicy.VOLATILE,
    )


def parameter_value(text: str) -> object:
    """Return the value of a text, as ``ros2 param set`` reads it: as YAML, or as it is."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    if isinstance(value, list) and len({type(element) for element in value}) == 1:
        return value
    return value if isinstance(value, (bool, int, float)) else text


_NODE = 'ik_terminal'


def check_name(name: str) -> None:
    """Refuse what can be no topic, service, action or node; raises ValueTextError."""
    try:
        validate_full_topic_name(expand_topic_name(name, _NODE, '/'))
    except (NameValidationException, ValueError) as error:
        raise ValueTextError(name_fault(error)) from error


@contextmanager
def graph() -> Iterator[Graph]:
    """Join the ROS graph for a ``with`` block; see :func:`begin_ros`."""
    context = rclpy.context.Context()
    begin_ros([], context)
    executor = SingleThreadedExecutor(context=context)
    node = rclpy.create_node(_NODE, context=context, start_parameter_services=False)
    executor.add_node(node)
    try:
        yield Graph(node, executor)
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


_ELEMENT = re.compile(r'(?:sequence<)?([\w/]+)(?:, \d+>|>|\[\d+\])')

_PLAIN: Mapping[str, Callable[[], Any]] = {
    'string': str,
    'wstring': str,
    'boolean': bool,
    'octet': bytes,
}
"""Elements of sequences that are neither numbers nor messages."""


class ValueTextError(IkServiceError):
    """Text that stands for no value of a type."""

    exit_code = 2


def find_type(name: str, folder: str) -> Any:  # noqa: ANN401 (a generated class)
    """
    Return the type that a name stands for.

    :param name: such as ``moveit_msgs/srv/GetPositionIK``, also without the folder.
    :param folder: ``msg``, ``srv`` or ``action``.
    :raises ValueTextError: there is no such type here.
    """
    try:
        package, *folders, kind = name.split('/')
        return getattr(importlib.import_module('.'.join([package, *(folders or [folder])])), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueTextError(f'there is no type {quote(name)} on this machine') from error


def parsed(text: str) -> Mapping[str, object]:
    """Return the fields of a message from YAML, '' for none; raises ValueTextError."""
    try:
        values = yaml.safe_load(text) if text.strip() else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueTextError(f'the values are {file_fault(error)}') from error
    if not isinstance(values, Mapping):
        raise ValueTextError(f'the values have to be fields in braces, not {quote(text)}')
    return values


def filled(message: Any, values: Mapping[str, object], where: str = '') -> Any:  # noqa: ANN401
    """Set fields of a message by name, nested ones by mappings; raises ValueTextError."""
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        label = f'{where}{name}'
        if name not in types:
            raise ValueTextError(f'there is no field {label}; valid: {", ".join(types)}')
        try:
            setattr(message, name, _converted(getattr(message, name), value, types[name], label))
        except (AssertionError, TypeError, ValueError, OverflowError) as error:
            raise ValueTextError(f'{label} has to be {types[name]}, not {value!r}') from error
    return message


def _converted(field: Any, value: Any, kind: str, label: str) -> Any:  # noqa: ANN401
    """Return a value as a field takes it, given the field's current value."""
    if hasattr(field, 'get_fields_and_field_types'):
        if not isinstance(value, Mapping):
            raise TypeError
        return filled(field, value, f'{label}.')
    if isinstance(field, (str, bytes, bool)):
        # A text that is no text would be accepted as its own name: 1.0 as '1.0'.
        if not isinstance(value, type(field)):
            raise TypeError
        return value
    if isinstance(field, array.array):
        return array.array(field.typecode, value)
    if isinstance(field, np.ndarray):
        return np.array(value, field.dtype)
    if isinstance(field, Sequence):
        element = _ELEMENT.fullmatch(kind)
        if not isinstance(value, list):
            raise TypeError
        if element is None:  # of texts of bounded length
            return value
        made = _PLAIN.get(element[1]) or find_type(element[1], 'msg')
        rows = enumerate(value)
        return [
            _converted(made(), each, element[1], f'{label}[{number}]') for number, each in rows
        ]
    if isinstance(value, bool) or not isinstance(value, (int, type(field))):
        raise TypeError  # a number would be cut, or a text be read as one
    if isinstance(field, int) and not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
        raise OverflowError
    return type(field)(value)


def values_of(message: Any) -> object:  # noqa: ANN401 (a message of any type)
    """Return the content of a message in types that YAML can show."""
    if hasattr(message, 'get_fields_and_field_types'):
        names = message.get_fields_and_field_types()
        return {name: values_of(getattr(message, name)) for name in names}
    if isinstance(message, (array.array, np.ndarray)):
        return [values_of(value) for value in message.tolist()]
    if isinstance(message, (list, tuple)):
        return [values_of(value) for value in message]
    return message


def yaml_text(message: Any) -> str:  # noqa: ANN401 (a message of any type)
    """Return a message as YAML."""
    return yaml.dump(values_of(message), sort_keys=False, allow_unicode=True, width=10**6)
