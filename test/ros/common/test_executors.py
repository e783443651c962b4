"""Executor of subscriptions whose messages come all the time; clients and servers of actions."""

from contextlib import contextmanager, ExitStack
import threading
import time
from types import SimpleNamespace

from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
import pytest
from rclpy.action import ActionServer
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.event_handler import EventHandler
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.harness import until
from support.ros.trajectories import Player
from trajectory_msgs.msg import JointTrajectory

from ik_service.ros.common.actions import (
    DeferredActionServer,
    NodeWithActions,
    ThreadSafeActionClient,
)
from ik_service.ros.common.partial_executor import PartialExecutor
from ik_service.ros.common.runtime import spinning, spinning_streams
from ik_service.ros.common.stream_executor import StreamExecutor
from ik_service.ros.node import node_threads


@pytest.fixture
def node(ros_context, bench):
    node = Node('streams', namespace=bench.namespace, context=ros_context)
    yield node
    node.destroy_node()


@pytest.fixture
def group():
    return MutuallyExclusiveCallbackGroup()


@pytest.fixture
def executor(node, group):
    executor = StreamExecutor(node.context)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    with executor.serving(node, [group]):
        yield executor
    assert executor.shutdown(30.0)
    thread.join(60.0)
    assert not thread.is_alive()


def test_messages_come_in_their_order_with_their_information_where_it_is_asked_for(
    node, group, bench, executor
):
    texts, stamps = [], []
    node.create_subscription(
        String, 'a', lambda message: texts.append(message.data), 100, callback_group=group
    )
    node.create_subscription(
        String,
        'b',
        lambda message, info: stamps.append((message.data, info['source_timestamp'])),
        100,
        callback_group=group,
    )
    executor.wake()
    a, b = bench.publisher(String, 'a'), bench.publisher(String, 'b')
    for i in range(50):
        a.publish(String(data=f'{i}'))
        b.publish(String(data=f'{i}'))
    until(lambda: len(texts) == len(stamps) == 50, what='all messages')
    assert texts == [text for text, _ in stamps] == [f'{i}' for i in range(50)]
    assert all(stamp > 0 for _, stamp in stamps)


def test_other_groups_are_left_to_others(node, group, bench, executor):
    own, others = [], []
    node.create_subscription(String, 'own', own.append, 10, callback_group=group)
    node.create_subscription(String, 'others', others.append, 10)
    executor.wake()
    bench.publisher(String, 'others').publish(String(data='x'))
    bench.publisher(String, 'own').publish(String(data='y'))
    until(lambda: own, what='the message')
    assert not others


def test_a_subscription_may_be_destroyed_while_it_is_waited_for(node, group, bench, executor):
    first, second = [], []
    gone = node.create_subscription(String, 'first', first.append, 10, callback_group=group)
    executor.wake()
    bench.publisher(String, 'first').publish(String(data='x'))
    until(lambda: first, what='the message')
    node.destroy_subscription(gone)
    node.create_subscription(String, 'second', second.append, 10, callback_group=group)
    executor.wake()
    bench.publisher(String, 'second').publish(String(data='y'))
    until(lambda: second, what='the message')
    assert len(first) == 1


@pytest.fixture
def nodes(ros_context, bench):
    nodes = [Node(name, namespace=bench.namespace, context=ros_context) for name in 'ab']
    yield nodes
    for node in nodes:
        node.destroy_node()


@pytest.fixture
def shared_executor(ros_context):
    shared_executor = StreamExecutor(ros_context, rest=1e-3)
    thread = threading.Thread(target=shared_executor.spin, daemon=True)
    thread.start()
    yield shared_executor
    assert shared_executor.shutdown(30.0)
    thread.join(60.0)


def test_no_thread_of_a_node_minds_an_event_that_is_being_destroyed(node, group, bench):
    other = node.create_subscription(String, 'other', print, 10, callback_group=group)
    executor, received = PartialExecutor(node, lambda of: of is group), []
    node.create_subscription(String, 'own', received.append, 10, callback_group=group)
    other.event_handlers[0].destroy()  # as a thread in destroy_subscription has done so far
    executor.spin_once(0.0)
    node.destroy_subscription(other)
    bench.publisher(String, 'own').publish(String())
    until(lambda: executor.spin_once(0.02) or received, what='a message')
    executor.shutdown()


def test_an_executor_of_rclpy_goes_on_where_a_subscription_is_destroyed_as_it_begins_to_wait(
    bench, monkeypatch
):
    node = NodeWithActions('busy', namespace=bench.namespace, context=bench.node.context)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    going = node.create_subscription(String, 'going', print, 10)
    enter = EventHandler.__enter__
    destroyed = []

    def destroying(event):  # as another thread may
        if not destroyed:
            destroyed.append(node.destroy_subscription(going))
        enter(event)

    with monkeypatch.context() as patch:
        patch.setattr(EventHandler, '__enter__', destroying)
        executor.spin_once(0.0)
    assert destroyed == [True]
    until(lambda: not node.count_subscribers('going'), what='its end')
    executor.shutdown()
    node.destroy_node()


def test_the_client_of_the_tests_goes_on_where_an_event_is_destroyed_as_it_begins_to_wait(bench):
    bench.node.create_service(Trigger, 'wave', lambda request, response: response)
    publisher = bench.publisher(String, 'going', subscribers=0)
    publisher.event_handlers[0].destroy()
    bench.node.create_timer(0.01, lambda: None)  # it waits anew
    time.sleep(0.1)
    bench.node.destroy_publisher(publisher)
    bench.call(Trigger, 'wave', Trigger.Request())


def test_nodes_come_and_go_and_an_error_of_one_is_no_matter_of_the_other(
    nodes, bench, shared_executor
):
    taken, errors = ([], []), []
    groups = [MutuallyExclusiveCallbackGroup() for _ in nodes]
    for node, group, texts in zip(nodes, groups, taken, strict=True):
        topic, take = f'to_{node.get_name()}', _first_letters(texts)
        node.create_subscription(String, topic, take, 100, callback_group=group)
    a, b = (bench.publisher(String, f'to_{name}') for name in 'ab')
    with shared_executor.serving(nodes[0], [groups[0]]):
        with shared_executor.serving(nodes[1], [groups[1]], errors.append):
            b.publish(String(data=''))  # has no first letter
            for _ in range(50):
                a.publish(String(data='a'))
                b.publish(String(data='b'))
            until(lambda: [len(texts) for texts in taken] == [50, 50], what='all messages')
            assert [type(error) for error in errors] == [IndexError]
        b.publish(String(data='b'))
        a.publish(String(data='a'))
        until(lambda: len(taken[0]) == 51, what='the message')
    assert len(taken[1]) == 50


def test_messages_of_several_nodes_are_taken_in_turns_but_one_that_lasts_keeps_none(
    nodes, bench, ros_context
):
    turn, goes, taken = threading.Lock(), threading.Event(), []
    executors = [StreamExecutor(ros_context, turn=turn) for _ in nodes]

    def take(message):
        taken.append((message.data, turn.locked()))
        assert message.data != 'waits' or goes.wait(60.0)

    with spinning(*executors), ExitStack() as stack:
        for node, executor in zip(nodes, executors, strict=True):
            group = MutuallyExclusiveCallbackGroup()
            topic = f'to_{node.get_name()}'
            node.create_subscription(String, topic, take, 100, callback_group=group)
            stack.enter_context(executor.serving(node, [group]))
        a, b = (bench.publisher(String, f'to_{name}') for name in 'ab')
        a.publish(String(data='waits'))
        until(lambda: len(taken) == 1, what='the first message')
        b.publish(String(data='goes on'))
        until(lambda: len(taken) == 2, what='the message of the other node')
        goes.set()
    assert taken == [('waits', True), ('goes on', True)]
    assert not turn.locked()


def _first_letters(texts):
    def take(message):
        texts.append(message.data[0])

    return take


def test_a_service_that_comes_while_the_threads_of_a_node_start_is_served(
    node, bench, monkeypatch
):
    names = ('group', 'path_group', 'batch_group', 'capability_group')
    services = SimpleNamespace(**{name: ReentrantCallbackGroup() for name in names})
    groups = [ReentrantCallbackGroup() for _ in range(4)]  # of changes, stops, states, targets

    def answered(name):
        return bench.service_client(Trigger, name).call(Trigger.Request(), timeout_sec=60.0)

    def serve(name):
        def answer(_, response):
            return response

        node.create_service(Trigger, name, answer, callback_group=services.path_group)

    @contextmanager
    def late(*executors):
        with spinning(*executors):
            assert answered('early') is not None, 'so that its threads wait'
            serve('late')
            yield

    serve('early')
    monkeypatch.setattr(node_threads, 'spinning', late)
    threads = node_threads.NodeThreads(node, None, pytest.fail)
    changes, stops, states, targets = groups
    with threads.spinning(services, changes, stops, [], states, targets, []):
        assert answered('late') is not None


def test_streams_have_a_thread_of_their_own_and_what_comes_later_is_served(node, group, bench):
    goes, texts = threading.Event(), []

    def answer(_, response):
        assert goes.wait(60.0)
        return response

    with spinning_streams(node, [group]) as streams:
        node.create_subscription(String, 'a', texts.append, 10, callback_group=group)
        streams.wake()
        node.create_service(Trigger, 'late', answer)
        answered = bench.service_client(Trigger, 'late').call_async(Trigger.Request())
        bench.publisher(String, 'a').publish(String())
        until(lambda: texts, what='the message')
        assert not answered.done()
        goes.set()
        until(answered.done, what='the answer')


def test_answers_that_arrive_before_the_request_is_noted_are_not_lost(bench, monkeypatch):
    from rclpy.impl.implementation_singleton import rclpy_implementation

    def execute(handle):
        handle.succeed()
        return FollowJointTrajectory.Result(error_string='done')

    server = ActionServer(bench.node, FollowJointTrajectory, 'play', execute)
    client = ThreadSafeActionClient(bench.node, FollowJointTrajectory, 'play')
    until(client.server_is_ready, what='the action')
    for request in ('send_goal_request', 'send_result_request'):
        send = getattr(rclpy_implementation.ActionClient, request)

        def late(handle, message, send=send):
            number = send(handle, message)
            time.sleep(0.3)  # while the answer arrives
            return number

        monkeypatch.setattr(rclpy_implementation.ActionClient, request, late)
    accepted = client.send_goal_async(FollowJointTrajectory.Goal())
    until(accepted.done, what='the answer')
    result = accepted.result().get_result_async()
    until(result.done, what='the result')
    assert result.result().result.error_string == 'done'
    client.destroy()
    server.destroy()


def test_a_result_is_sent_although_the_servers_executor_spins_no_more(bench):
    goals, asked = [], []

    class Server(DeferredActionServer):
        async def _execute_get_result_request(self, request):
            await super()._execute_get_result_request(request)
            asked.append(request)

    node = Node('serving', namespace=bench.namespace, context=bench.node.context)
    executor = SingleThreadedExecutor(context=bench.node.context)
    executor.add_node(node)
    server = Server(node, FollowJointTrajectory, 'play', goals.append, lambda _: True, None)
    client = ThreadSafeActionClient(bench.node, FollowJointTrajectory, 'play')
    until(client.server_is_ready, what='the action')
    accepted = client.send_goal_async(FollowJointTrajectory.Goal())
    until(lambda: executor.spin_once(0.02) or (goals and accepted.done()), what='the goal')
    result = accepted.result().get_result_async()
    until(lambda: executor.spin_once(0.02) or asked, what='the request for the result')
    executor.spin_once(0.1)  # as it waits it takes charge of what rclpy leaves to it
    server.finish(goals[0], goals[0].abort, FollowJointTrajectory.Result(error_string='the end'))
    until(result.done, what='the result')
    assert result.result().result.error_string == 'the end'
    client.destroy()
    server.destroy()
    node.destroy_node()
    executor.shutdown()


def test_a_goal_after_one_that_is_not_canceled_is_canceled_with_all(bench):
    goals, asked = [], []
    server = DeferredActionServer(
        bench.node,
        FollowJointTrajectory,
        'play',
        goals.append,
        lambda goal: asked.append(goal) or len(asked) > 1,
        None,
    )
    player = Player(bench)
    for _ in range(3):
        assert player.follow(JointTrajectory(), 'play').accepted()
    answer = bench.call(CancelGoal, 'play/_action/cancel_goal', CancelGoal.Request())
    assert {bytes(info.goal_id.uuid) for info in answer.goals_canceling} == {
        bytes(goal.goal_id.uuid) for goal in goals if goal.is_cancel_requested
    }
    assert len(asked) == 3
    server.destroy()
