"""Publishers of either reliability: what is received, what counts once, and what is named."""

from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from support.harness import until
from support.ros.nodes import NODE, status, WAITING
from support.ros.worlds import ball

from ik_service.ros.common.input_topics import CopyFilter, InputTopic
from ik_service.ros.common.publishers import publishers_of

BEST_EFFORT = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


def info(time, number=1):
    return {'source_timestamp': time, 'publication_sequence_number': number}


class Reader:
    """A publisher's messages through both subscriptions, of which some are lost."""

    def __init__(self):
        self.filter, self.taken = CopyFilter(), []

    def get(self, time, reliable):
        if self.filter.counts(info(time), reliable):
            self.taken.append(time)


@pytest.mark.parametrize('first', [True, False])
def test_of_two_copies_the_first_counts(first):
    reader = Reader()
    for time in range(1, 5000):
        reader.get(time, first)
        reader.get(time, not first)
    assert reader.taken == list(range(1, 5000))


def test_what_only_one_subscription_receives_counts():
    reader = Reader()
    for time in range(1, 3000):
        reader.get(time, time % 2 == 0)
    assert reader.taken == list(range(1, 3000))


def test_after_a_loss_the_order_of_the_reliable_subscription_is_the_last_word():
    reader = Reader()
    reader.get(2, False)  # 1 is lost there, and sent again to the reliable one
    reader.get(3, False)
    for time in (1, 2, 3):
        reader.get(time, True)
    assert reader.taken == [2, 3, 1, 2, 3]
    reader.get(4, True)
    reader.get(4, False)
    assert reader.taken[-1] == 4


@pytest.mark.parametrize('seed', range(20))
def test_whatever_is_lost_and_delayed_the_last_message_counts_last(seed):
    """Two publishers, of which only one is received twice; its best-effort copies are lost."""
    rng = np.random.default_rng(seed)
    reader, waiting, sent, other = Reader(), [], [], []
    for time in range(1, 400):
        if rng.random() < 0.3:
            reader.get(-time, False)
            other.append(-time)
            continue
        sent.append(time)
        if rng.random() < 0.8:
            reader.get(time, False)
        waiting.append(time)
        while waiting and rng.random() < 0.5:
            reader.get(waiting.pop(0), True)
    for time in waiting:
        reader.get(time, True)
    own = [time for time in reader.taken if time > 0]
    assert set(own) == set(sent)
    assert own[-1] == sent[-1]
    assert [time for time in reader.taken if time < 0] == other
    last_of = {time: i for i, time in enumerate(own)}
    assert sorted(last_of, key=last_of.get) == sent


def test_messages_without_a_time_of_publication_all_count():
    reader = Reader()
    for _ in range(3):
        reader.get(0, True)
        reader.get(0, False)
    assert reader.taken == [0] * 6


# Over DDS, with the node in a process of its own


def test_objects_of_best_effort_publishers_are_received(shared_bench, panda_node):
    bench, node = shared_bench, panda_node
    objects = bench.publisher(CollisionObject, 'collision_object', BEST_EFFORT, subscribers=0)
    node.wait_for('collision_object: a best-effort publisher was discovered', 60.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    until(lambda: objects.get_subscription_count() == 1, what='a subscription')
    objects.publish(ball('box'))
    status(diagnostics, 'collisions', objects='^1$')
    held = bench.publisher(
        AttachedCollisionObject, 'attached_collision_object', BEST_EFFORT, subscribers=1
    )
    held.publish(AttachedCollisionObject(link_name='panda_hand', object=ball('tool')))
    status(diagnostics, 'collisions', attached_objects='^1$')
    status(diagnostics, 'motions', publishers_that_are_not_received='^none$')


def test_a_scene_of_a_reliable_publisher_is_complete_beside_a_best_effort_one(
    shared_bench, panda_node
):
    bench = shared_bench
    bench.publisher(CollisionObject, 'collision_object', BEST_EFFORT, subscribers=1)
    reliable = bench.node.create_publisher(CollisionObject, 'collision_object', 1000)
    until(lambda: reliable.get_subscription_count() == 2, what='both subscriptions')
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    reliable.publish(CollisionObject(operation=CollisionObject.REMOVE))  # all there are
    for i in range(300):
        reliable.publish(ball(f'box {i}'))
    status(diagnostics, 'collisions', objects='^300$')


def test_each_message_of_both_kinds_of_publishers_counts_once(bench):
    received = []
    topic = InputTopic(
        bench.node,
        String,
        'words',
        lambda message, _: received.append(message.data),
        1000,
        MutuallyExclusiveCallbackGroup(),
    )
    reliable = bench.node.create_publisher(String, 'words', 1000)
    best_effort = bench.node.create_publisher(String, 'words', BEST_EFFORT)
    until(lambda: best_effort.get_subscription_count() == 1, what='the second subscription')
    until(lambda: reliable.get_subscription_count() == 2, what='both subscriptions')
    for i in range(500):
        reliable.publish(String(data=f'reliable {i}'))
        best_effort.publish(String(data=f'best effort {i}'))
        if i % 50 == 49:  # as many as may wait
            until(lambda i=i: f'best effort {i}' in received, what='the last message')
    until(lambda: 'reliable 499' in received, what='the last message')
    words = [f'reliable {i}' for i in range(500)]
    assert [word for word in received if word.startswith('reliable')] == words
    assert sorted(received) == sorted([*words, *(f'best effort {i}' for i in range(500))])
    topic.destroy()
    until(lambda: reliable.get_subscription_count() == 0, what='no subscription')


def test_targets_and_their_velocities_are_received(shared_bench, panda_node):
    bench, node = shared_bench, panda_node
    targets = bench.publisher(PoseStamped, 'target_pose', BEST_EFFORT, subscribers=1)
    twists = bench.publisher(TwistStamped, 'target_twist', BEST_EFFORT, subscribers=1)
    wrong = TwistStamped()
    wrong.twist.linear.x = float('nan')
    twists.publish(wrong)
    node.wait_for('velocity of target_pose ignored', 60.0)
    target = PoseStamped()
    target.pose.position.x = float('nan')
    targets.publish(target)
    node.wait_for('target_pose ignored: .*position', 60.0)


def test_a_publisher_that_cannot_be_received_is_named(bench):
    bench.start(NODE, ready=WAITING)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'motions', publishers_that_are_not_received='^none$')
    publisher = bench.publisher(String, 'robot_description', 1, subscribers=0)
    status(
        diagnostics,
        'motions',
        publishers_that_are_not_received='robot_description of .*/test_client: .*olatile',
    )
    bench.node.destroy_publisher(publisher)
    status(diagnostics, 'motions', publishers_that_are_not_received='^none$')


def test_a_node_whose_name_is_not_known_yet_is_named_in_words():
    infos = [
        SimpleNamespace(node_namespace='/cell', node_name='teleop'),
        SimpleNamespace(
            node_namespace='_NODE_NAMESPACE_UNKNOWN_', node_name='_NODE_NAME_UNKNOWN_'
        ),
    ]
    node = SimpleNamespace(
        resolve_topic_name=lambda name: f'/{name}',
        get_publishers_info_by_topic=lambda topic: infos,
    )
    names = publishers_of(node, 'joint_command')
    assert names == ['/cell/teleop', 'a node whose name is not known yet']
