"""
Test bench for nodes: programs in processes of their own, and a client that spins.

The fixture ``bench`` (conftest.py) gives each test a :class:`Bench`. All of its programs and its
client live in one namespace that no other test uses, in a ROS domain that no other test run on
this machine uses, so that nothing a killed program leaves behind in discovery disturbs anyone:

    def test_something(bench):
        node = bench.start('ik_service.ros.node.main', urdf=str(PANDA), tip_link='panda_link8')
        answer = bench.call(GetPositionIK, 'compute_ik', request)
        bench.record(JointState, 'joint_states').wait(lambda message: message.position[0] > 0.5)
"""

from __future__ import annotations

from contextlib import contextmanager, ExitStack
import itertools
import json
import os
from pathlib import Path
import sys
import threading
import time
from unittest.mock import patch

import ik_service
from ik_service.common.child_process import ChildProcess
from support.fork_server import ForkedProcess

PATIENCE = 120.0
"""How long to wait for what has to come [s]: a busy machine may take long."""

START_TIMEOUT = 600.0
"""How long a program may take until it is ready [s]: kernels may have to be compiled first."""

_READ_AT_IMPORT = ('LD_', 'NUMBA_', 'PYTHON')
"""Beginnings of variables that are read while a program imports, so that it is not forked."""

_numbers = itertools.count(1)


def raise_it(error):
    raise error


def until(condition, timeout=PATIENCE, what='the condition', period=0.02):
    """Return the first true value of ``condition()``; fail when there is none in time."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f'{what} did not come true within {timeout:g} s')
        time.sleep(period)


@contextmanager
def isolated_context():
    """Make a ROS context in a domain of its own; processes that are started meanwhile join it."""
    import rclpy

    from ik_service.ros.common.domain import own_domain

    with own_domain() as domain, patch.dict(os.environ):
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        os.environ.pop('ROS_LOCALHOST_ONLY', None)  # older, and would win
        context = rclpy.context.Context()
        rclpy.init(args=[], context=context)
        try:
            yield context
        finally:
            context.try_shutdown()


class Recorder:
    """The messages of a topic, as (arrival on the monotonic clock [s], message)."""

    def __init__(self):
        self._news = threading.Condition()
        self._received = []

    def __call__(self, message):
        with self._news:
            self._received.append((time.monotonic(), message))
            self._news.notify_all()

    def __len__(self):
        return len(self._received)

    @property
    def messages(self):
        with self._news:
            return [message for _, message in self._received]

    @property
    def times(self):
        with self._news:
            return [arrival for arrival, _ in self._received]

    def clear(self):
        with self._news:
            self._received.clear()

    def wait(self, wanted=lambda message: True, timeout=PATIENCE, since=0):
        """Return the first message from index ``since`` on that is wanted."""
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for _, message in self._received[since:]:
                    if wanted(message):
                        return message
                since = len(self._received)
                left = deadline - time.monotonic()
                if left <= 0.0 or not self._news.wait(left):
                    raise AssertionError(
                        f'no such message within {timeout:g} s, among {len(self._received)}: '
                        f'{self._received[-1:]}'
                    )

    def next(self, timeout=PATIENCE):
        """Return the next message that arrives."""
        return self.wait(timeout=timeout, since=len(self))


class Bench:
    """Programs under test and a client node, all in one namespace; see the module's text."""

    def __init__(self, context, scratch: Path):
        from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
        from rclpy.node import Node

        from ik_service.ros.common.runtime import spinning_streams

        self.namespace = f'/bench_{next(_numbers)}'
        self._domain = str(context.get_domain_id())
        self._scratch = scratch
        self._stack = ExitStack()
        self._children = []
        self._publishers = {}
        self._clients = {}
        self.node = Node('test_client', namespace=self.namespace, context=context)
        self._recorded = MutuallyExclusiveCallbackGroup()
        # Spins in threads of its own: spin_until_future_complete busy-waits on Jazzy. They go on
        # after what leaves rclpy: InvalidHandle, where a test destroys a publisher.
        spinning = spinning_streams(self.node, [self._recorded])
        self._recording = self._stack.enter_context(spinning)

    def close(self):
        try:
            self._stack.close()
        finally:
            for child in self._children:  # pytest shows it when the test has failed
                print(f'--- {child.name} ended with {child.exit_code}:\n{child.output}')
            self.node.destroy_node()

    # Programs

    def start(
        self,
        module,
        *arguments,
        ready='ready',
        name=None,
        environment=None,
        namespaced=True,
        **parameters,
    ):
        """
        Start ``python -m module`` with ROS parameters and wait until it has printed ``ready``.

        :param arguments: command line besides the ROS arguments.
        :param ready: regular expression in its output; None does not wait.
        :param namespaced: whether its nodes get the namespace of the bench.
        :returns: the :class:`ChildProcess`: output, wait_for(), end(), kill(), send().
        """
        ros = ['--ros-args', *(['-r', f'__ns:={self.namespace}'] if namespaced else [])]
        if parameters:
            ros += ['--params-file', str(self._parameter_file(parameters))]
        own = {
            'PYTHONPATH': _prepended('PYTHONPATH', str(Path(ik_service.__file__).parents[1])),
            'ROS_DOMAIN_ID': self._domain,
        }
        forked = sys.platform == 'linux' and not any(
            variable.startswith(_READ_AT_IMPORT) for variable in environment or ()
        )
        kind = ForkedProcess if forked else ChildProcess
        child = kind(
            name or module.rpartition('.')[2],
            module,
            [*arguments, *ros],
            {**own, **(environment or {})},
        )
        self._stack.enter_context(child)
        self._children.append(child)
        if ready:
            child.wait_for(ready, START_TIMEOUT)
        return child

    def _parameter_file(self, parameters):
        # JSON is YAML, and keeps the difference between 1 and 1.0, which ROS insists on.
        file = self._scratch / f'parameters_{next(_numbers)}.yaml'
        file.write_text(json.dumps({'/**': {'ros__parameters': parameters}}))
        return file

    # The client

    def call(self, service_type, service, request, timeout=PATIENCE):
        """Call a service of the namespace (or an absolute name) and return the response."""
        client = self.service_client(service_type, service)
        done = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        assert done.wait(timeout), f'{service} did not answer within {timeout:g} s'
        return future.result()

    def service_client(self, service_type, service, timeout=PATIENCE):
        """Return the client of a service, once a server is there."""
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self.node.create_client(service_type, service)
        until(client.service_is_ready, timeout, f'the service {service}')
        return client

    def publisher(self, message_type, topic, qos=10, subscribers=1, timeout=PATIENCE):
        """Return the publisher of a topic, once so many subscribers are there."""
        publisher = self._publishers.get(topic)
        if publisher is None:
            publisher = self.node.create_publisher(message_type, topic, qos)
            self._publishers[topic] = publisher
        until(
            lambda: publisher.get_subscription_count() >= subscribers,
            timeout,
            f'a subscriber of {topic}',
        )
        return publisher

    def record(self, message_type, topic, qos=100, publishers=0, timeout=PATIENCE):
        """Return a :class:`Recorder` of a topic, once so many publishers are there."""
        recorder = Recorder()
        subscription = self.node.create_subscription(
            message_type, topic, recorder, qos, callback_group=self._recorded
        )
        self._recording.wake()
        until(
            lambda: subscription.get_publisher_count() >= publishers,
            timeout,
            f'a publisher of {topic}',
        )
        return recorder

    def set_parameters(self, node, timeout=PATIENCE, **values):
        """Set parameters of a node, as ``ros2 param set`` does; return the list of results."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        return self.call(SetParameters, f'{node}/set_parameters', request, timeout).results

    def configure(self, node, timeout=PATIENCE, **values):
        """Set parameters of a node, which has to accept them."""
        for result in self.set_parameters(node, timeout, **values):
            assert result.successful, result.reason

    def get_parameters(self, node, *names, timeout=PATIENCE):
        """Return the values of parameters of a node."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        request = GetParameters.Request(names=list(names))
        answer = self.call(GetParameters, f'{node}/get_parameters', request, timeout)
        return [parameter_value_to_python(value) for value in answer.values]


def _prepended(variable, path):
    rest = os.environ.get(variable)
    return f'{path}{os.pathsep}{rest}' if rest else path
