"""The IK node as the page knows it, without ROS."""

from types import SimpleNamespace

import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import Parameter, ParameterEvent

from ik_service.extras.viewer.link import node_monitor as module
from ik_service.extras.viewer.link.node_monitor import Level, NodeMonitor
from ik_service.extras.viewer.link.task_queue import TaskQueue

NAME = '/ik_service'


class World:
    """A node with a node whose answers are given by hand, and a clock that is set by hand."""

    def __init__(self, monkeypatch):
        self.now, self.offered, self.asked, self.results, self.connections = 100.0, True, [], [], 0
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: self.now))
        parameters = SimpleNamespace(
            is_ready=lambda: False,
            set=lambda values, on_result: self.asked.append((values, on_result)),
        )
        node = SimpleNamespace(
            ik=SimpleNamespace(is_offered=lambda: self.offered),
            find_ik_node=lambda: NAME,
            parameters_of=lambda name: parameters,
        )
        self.tasks = TaskQueue(pytest.fail)
        self.stops = 0
        self.monitor = NodeMonitor(
            node, self.tasks, {}, None, None, self.count_connected, self.count_stop
        )
        self.monitor.update_facts(has_robot=True)
        self.receive()
        self.monitor.step(self.now)
        self.receive()

    def count_connected(self):
        self.connections += 1

    def count_stop(self):
        self.stops += 1

    def report_stops(self, text):
        values = [KeyValue(key='stops', value=text)]
        status = DiagnosticStatus(name='ik_service: motions', values=values)
        self.monitor.on_diagnostics(DiagnosticArray(status=[status]), self.now)

    def receive(self):
        """Diagnostics and joint states arrive."""
        status = DiagnosticStatus(name='ik_service: following', message='all is well')
        self.monitor.on_diagnostics(DiagnosticArray(status=[status]), self.now)
        self.monitor.update_facts(states_at=self.now)

    def choose(self, solver):
        self.monitor.set_parameters(
            {'solver.name': solver}, lambda *result: self.results.append(result)
        )

    def answer(self, index, refusal=''):
        values, on_result = self.asked[index]
        on_result(values, refusal)
        self.tasks.run_pending()

    def status_after(self, seconds):
        """Status some time later."""
        self.now += seconds
        self.monitor.update_facts(states_at=self.now)
        return self.monitor.step(self.now)


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_a_node_that_compiles_is_busy_and_not_gone(world):
    assert world.status_after(0.5).headline == f'Connected to {NAME}'
    world.choose('ccd')
    assert world.status_after(0.5).headline == f'Connected to {NAME}'  # most changes take no time
    status = world.status_after(20.0)
    assert (status.level, status.headline) == (Level.WAITING, 'The IK node is busy')
    assert 'for 20 s' in status.detail
    world.answer(0)
    assert world.results == [({'solver.name': 'ccd'}, '')]
    world.receive()
    assert world.status_after(0.5).headline == f'Connected to {NAME}'
    assert world.connections == 1  # it was there all the time


def test_it_is_busy_until_all_changes_are_answered(world):
    world.choose('ccd')
    world.status_after(5.0)
    world.choose('bfgs')
    world.answer(0)
    assert world.status_after(0.5).headline != 'The IK node is busy'
    assert world.status_after(5.0).headline == 'The IK node is busy'
    world.answer(1, 'no')
    assert world.results[1] == ({'solver.name': 'bfgs'}, 'no')
    assert world.status_after(5.0).headline == 'The IK node is gone'


def test_a_silent_node_without_changes_is_gone(world):
    assert world.status_after(20.0).headline == 'The IK node is gone'


def test_a_node_that_leaves_while_it_is_busy_is_gone(world):
    world.choose('ccd')
    assert world.status_after(20.0).headline == 'The IK node is busy'
    world.offered = False
    assert world.status_after(0.5).headline == 'The IK node is gone'
    world.offered = True
    world.receive()
    assert world.status_after(0.5).headline == f'Connected to {NAME}'  # its answer will never come
    assert world.connections == 2


def test_a_restarted_node_is_not_busy(world):
    world.choose('ccd')
    assert world.status_after(20.0).headline == 'The IK node is busy'
    world.monitor.on_parameters(ParameterEvent(node=NAME, new_parameters=[Parameter(name='rate')]))
    world.receive()
    assert world.status_after(0.5).headline == f'Connected to {NAME}'


def test_stops_that_others_ask_for_are_noticed(world):
    for text, stops in [('2', 0), ('2', 0), ('3', 1), ('none', 1), ('4', 1), ('0', 1), ('1', 2)]:
        world.report_stops(text)
        assert world.stops == stops
