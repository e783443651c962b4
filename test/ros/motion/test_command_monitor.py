"""Monitor of the command topic: who goes before whom, in injected time and without DDS."""

from collections import deque
from contextlib import nullcontext
from types import SimpleNamespace

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import qos_profile_action_status_default
from rclpy.serialization import serialize_message
from support.harness import until
from unique_identifier_msgs.msg import UUID

from ik_service.ros.motion import command_publisher, controller_goals
from ik_service.ros.motion.command_publisher import CommandMonitor
from ik_service.ros.motion.controller_goals import _states, ControllerGoals

HOLD = b'\0\1\0\0 the same position'


class Topic:
    """A command topic, and the nodes that publish on it; ``now`` [s] is the true time."""

    def __init__(self):
        self.now, self.names, self.queues, self.clock = 100.0, [], [], 0.0
        self.topic_name, self.msg_type = '/position_commands', None

    def add(self, name='ik_service', hears=True):
        """Add a node with a monitor."""
        queue = deque()
        handle = nullcontext()
        handle.take_message = lambda kind, raw: queue.popleft() if queue else None
        subscription = SimpleNamespace(
            handle=handle, msg_type=None, get_publisher_count=lambda: len(self.names)
        )
        node = SimpleNamespace(
            create_subscription=lambda *_, **__: subscription,
            get_fully_qualified_name=lambda: f'/{name}',
            resolve_topic_name=lambda topic: topic,
            get_publishers_info_by_topic=lambda topic: [
                SimpleNamespace(node_namespace='/', node_name=name) for name in self.names
            ],
        )
        self.names.append(name)
        if hears:
            self.queues.append(queue)
        return CommandMonitor(node, self)

    def send(self, monitor, message=HOLD, clock=0.0):
        """Send a command of a monitor's node, whose clock is so far ahead [s]; None: unheard."""
        self.clock = clock
        sent = monitor.remember(message) if monitor is not None else None
        for queue in self.queues:
            queue.append((message, {'source_timestamp': self.time_ns()}))
        self.now += 1e-4
        if sent is not None:
            sent.ended = self.time_ns()

    def time_ns(self):
        return round(1e9 * (self.now + self.clock))

    def wait(self, seconds):
        self.now += seconds


@pytest.fixture
def topic(monkeypatch):
    topic = Topic()
    fake = SimpleNamespace(monotonic=lambda: topic.now, time_ns=topic.time_ns)
    monkeypatch.setattr(command_publisher, 'time', fake)
    return topic


def polled(topic, *monitors):
    """Return whom each monitor's node has to give way to, after a look at the commands."""
    topic.wait(0.02)
    for monitor in monitors:
        monitor.poll(topic.now, 0.01)
    return [monitor.rival() for monitor in monitors]


TWIN = 'a second /ik_service'


@pytest.mark.parametrize('clock', [0.0, -3600.0, 3600.0])
def test_of_nodes_that_begin_together_the_first_goes_on(topic, clock):
    """Although their commands are the same to the bit, and whatever their clocks are."""
    first, second = topic.add(), topic.add()
    assert first.is_contested()
    assert second.is_contested()
    topic.send(first)
    topic.send(second, clock=clock)
    earlier = clock >= 0.0  # by the stamps, which both see
    assert polled(topic, first, second) == (['', TWIN] if earlier else [TWIN, ''])
    for _ in range(50):
        topic.send(first if earlier else second, clock=0.0 if earlier else clock)
        assert polled(topic, first, second) == (['', TWIN] if earlier else [TWIN, ''])
    assert (first if earlier else second).others() == ''
    assert not (first if earlier else second).is_contested(), 'the others have seen it'
    topic.wait(1.6)
    assert (first if earlier else second).is_contested(), 'others may have begun meanwhile'


def test_where_the_later_one_does_not_give_way_both_do(topic):
    first, deaf = topic.add(), topic.add(hears=False)
    for _ in range(20):
        topic.send(first)
        topic.send(deaf)
        rivals = polled(topic, first, deaf)
    assert rivals == [TWIN, '']


def test_a_silent_predecessor_only_makes_a_motion_begin_with_commands_at_rest(topic):
    monitor, _ = topic.add(), topic.add()
    assert monitor.is_contested()
    topic.send(monitor)
    assert polled(topic, monitor) == ['']
    topic.names.pop()
    topic.wait(3.0)
    assert not monitor.is_contested()


def test_a_node_that_was_stalled_for_long_gives_way(topic):
    stalled, other = topic.add(), topic.add()
    topic.send(stalled)
    polled(topic, stalled, other)
    topic.wait(3.0)
    assert other.others() == ''
    assert not stalled.poll(topic.now, 0.01), 'the commands of others are still on their way'
    topic.send(other)
    assert polled(topic, other, stalled) == ['', TWIN]
    assert stalled.overtaken


@pytest.mark.parametrize(
    ('stall', 'period', 'known'),
    [(0.09, 0.01, True), (0.11, 0.01, False), (0.29, 0.1, True), (0.31, 0.1, False)],
)
def test_after_a_stall_commands_of_others_are_waited_for(topic, stall, period, known):
    monitor, _ = topic.add(), topic.add()
    answers = []
    for passed in (0.0, 0.06, stall, 0.06):
        topic.wait(passed)
        answers.append(monitor.poll(topic.now, period))
    assert answers == [False, True, known, True]


@pytest.mark.parametrize('visible', [True, False])
def test_every_command_of_a_stranger_counts(topic, visible):
    monitor = topic.add()
    topic.send(monitor)
    topic.send(monitor)
    assert polled(topic, monitor) == ['']
    if visible:
        topic.names.append('teleop')
        assert polled(topic, monitor) == [''], 'one that is silent'
        assert monitor.others() == '/teleop'
    topic.send(None)
    assert polled(topic, monitor) == ['/teleop' if visible else 'a publisher that is not visible']
    assert not monitor.goes_on
    topic.send(None)
    assert polled(topic, monitor) != ['']
    assert monitor.goes_on
    assert not monitor.overtaken


def test_own_commands_that_come_late_or_twice_are_own_ones(topic):
    monitor = topic.add()
    topic.send(monitor)
    (queue,) = topic.queues
    queue.extend([queue[0]] * 2)
    topic.wait(5.0)
    assert polled(topic, monitor) == ['']
    assert monitor.foreign_count == 0


UNKNOWN, ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = range(7)


def states(*goals):
    """The states of goals, each given by its number and state."""
    return GoalStatusArray(
        status_list=[
            GoalStatus(goal_info=GoalInfo(goal_id=UUID(uuid=[number] * 16)), status=state)
            for number, state in goals
        ]
    )


class Action:
    """An action with servers that say what the test wants."""

    def __init__(self, node):
        self.goals = ControllerGoals(
            node, '/arm/follow_joint_trajectory', ReentrantCallbackGroup()
        )
        self.node, self.topic = node, '/arm/follow_joint_trajectory/_action/status'

    def server(self):
        publisher = self.node.create_publisher(
            GoalStatusArray, self.topic, qos_profile_action_status_default
        )
        until(lambda: publisher.get_subscription_count() == 1, what='discovery')
        return publisher

    def until_noted(self, number):
        """Wait until a goal is the one that counts; 0 for none."""
        name = f'({bytes([number] * 4).hex()})' if number else ''
        until(
            lambda: self.goals.foreign().partition('trajectory ')[2] == name, what=name or 'none'
        )


@pytest.fixture
def action(bench):
    return Action(bench.node)


def test_the_states_of_many_goals_are_found_in_the_bytes(bench):
    for first in range(7):
        goals = [(number, (number + first) % 7) for number in range(100)]
        wanted = {bytes([number] * 16): state for number, state in goals}
        assert _states(serialize_message(states(*goals))) == wanted
    assert _states(serialize_message(states())) == {}


@pytest.mark.parametrize('state', [ACCEPTED, EXECUTING, CANCELING])
@pytest.mark.parametrize('end', [SUCCEEDED, CANCELED, ABORTED])
def test_a_goal_counts_until_its_server_ends_it(action, state, end):
    server = action.server()
    server.publish(states((1, SUCCEEDED), (2, state)))
    action.until_noted(2)
    server.publish(states((1, SUCCEEDED), (2, end)))
    action.until_noted(0)


def test_a_goal_of_which_only_the_end_is_told_counts_for_a_moment(action, monkeypatch):
    monkeypatch.setattr(controller_goals, '_LINGERS', 1.0)
    server = action.server()
    server.publish(states((1, CANCELED)))
    action.until_noted(1)
    action.until_noted(0)
    server.publish(states((1, CANCELED), (2, CANCELED)))
    action.until_noted(2)


def test_after_a_long_stall_goals_of_a_server_may_be_unknown(action, monkeypatch):
    monkeypatch.setattr(controller_goals, '_REPEATED', 0.5)
    action.goals.note_stall(1.0)
    assert not action.goals.foreign()
    action.server()
    action.goals.note_stall(0.2)
    assert not action.goals.foreign()
    action.goals.note_stall(1.0)
    assert action.goals.foreign().startswith('perhaps a goal at')
    action.until_noted(0)


def test_own_goals_do_not_count(action):
    server = action.server()
    action.goals.note_own(bytes([1] * 16))
    server.publish(states((1, EXECUTING), (2, EXECUTING)))
    action.until_noted(2)
    server.publish(states((1, EXECUTING), (2, ABORTED)))
    action.until_noted(0)


def test_a_server_says_nothing_of_the_goals_of_another_one_and_loses_its_own(action):
    old, new = action.server(), None
    old.publish(states((1, EXECUTING)))
    action.until_noted(1)
    new = action.server()
    new.publish(states((2, ABORTED)))
    new.publish(states((2, ABORTED), (3, EXECUTING)))
    action.until_noted(1)
    action.node.destroy_publisher(old)
    action.until_noted(3)
    action.node.destroy_publisher(new)
    action.until_noted(0)


def test_a_goal_of_before_the_monitor_counts(bench, action):
    action.server().publish(states((1, EXECUTING)))
    action.until_noted(1)
    later = Action(bench.node)
    later.until_noted(1)


def test_the_goals_of_a_server_that_has_just_come_are_awaited(action):
    assert not action.goals.awaited()
    action.server()
    until(action.goals.awaited, what='the server')
    until(lambda: not action.goals.awaited(), what='the end of the wait')


def test_of_a_flood_of_goals_not_all_are_remembered(action):
    server = action.server()
    for n in range(5):
        goals = states(*[(k, EXECUTING) for k in range(1, 256)])
        for status in goals.status_list:
            status.goal_info.goal_id.uuid[0] = n
        server.publish(goals)
    until(action.goals.foreign)
    assert len(action.goals._goals) <= 400
