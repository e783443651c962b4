"""Monitor of the command topic: who goes before whom, in injected time and without DDS."""

from collections import deque
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from ik_service.ros.motion import command_publisher
from ik_service.ros.motion.command_publisher import CommandMonitor

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
