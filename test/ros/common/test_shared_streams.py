"""One executor for the streams of several nodes."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_msgs.msg import String
from support.harness import until

from ik_service.ros.common.executors import StreamExecutor


@pytest.fixture
def nodes(ros_context, bench):
    nodes = [Node(name, namespace=bench.namespace, context=ros_context) for name in 'ab']
    yield nodes
    for node in nodes:
        node.destroy_node()


@pytest.fixture
def executor(ros_context):
    executor = StreamExecutor(ros_context, rest=1e-3)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield executor
    assert executor.shutdown(30.0)
    thread.join(30.0)


def test_nodes_come_and_go_and_an_error_of_one_is_no_matter_of_the_other(nodes, bench, executor):
    taken, errors = ([], []), []
    groups = [MutuallyExclusiveCallbackGroup() for _ in nodes]
    for node, group, texts in zip(nodes, groups, taken, strict=True):
        topic, take = f'to_{node.get_name()}', _first_letters(texts)
        node.create_subscription(String, topic, take, 100, callback_group=group)
    a, b = (bench.publisher(String, f'to_{name}') for name in 'ab')
    with executor.serving(nodes[0], [groups[0]]):
        with executor.serving(nodes[1], [groups[1]], errors.append):
            b.publish(String(data=''))  # has no first letter
            for _ in range(50):
                a.publish(String(data='a'))
                b.publish(String(data='b'))
            until(lambda: [len(texts) for texts in taken] == [50, 50], 30.0, 'all messages')
            assert [type(error) for error in errors] == [IndexError]
        b.publish(String(data='b'))
        a.publish(String(data='a'))
        until(lambda: len(taken[0]) == 51, 30.0, 'the message')
    assert len(taken[1]) == 50


def _first_letters(texts):
    def take(message):
        texts.append(message.data[0])

    return take
