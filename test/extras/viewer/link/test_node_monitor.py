from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import Parameter, ParameterEvent

from ik_service.extras.viewer.link import node_monitor as module
from ik_service.extras.viewer.link.node_monitor import (
    connection_status,
    ConnectionFacts,
    DIAGNOSTICS_TIMEOUT,
    Level,
    NodeMonitor,
    NodeReport,
    read_report,
    STATES_TIMEOUT,
)
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.panel.measures import SolveReport

NOW = 100.0
CONNECTED = ConnectionFacts(
    node='/ik_service',
    is_offered=True,
    diagnostics_at=NOW - 0.5,
    activity='all is well',
    states_at=NOW - 0.01,
    has_robot=True,
)


def test_all_connected():
    status = connection_status(CONNECTED, NOW)
    assert (status.level, status.headline) == (Level.GOOD, 'Connected to /ik_service')
    assert status.detail == 'all is well'
    assert status.is_connected


@pytest.mark.parametrize(
    ('change', 'level', 'words', 'is_connected'),
    [
        ({'is_warning': True}, Level.WAITING, 'Connected to /ik_service', True),
        ({'node': '', 'is_offered': False}, Level.WAITING, 'Waiting for an IK node', False),
        ({'is_offered': False}, Level.BAD, 'The IK node is gone', False),
        (
            {'diagnostics_at': NOW - DIAGNOSTICS_TIMEOUT - 0.1},
            Level.BAD,
            'The IK node is gone',
            False,
        ),
        ({'has_robot': False}, Level.WAITING, 'Waiting for a robot description', True),
        ({'states_at': None}, Level.BAD, 'No joint states', True),
        ({'states_at': NOW - STATES_TIMEOUT - 0.1}, Level.BAD, 'No joint states', True),
        ({'robot_error': 'no mesh'}, Level.BAD, 'The robot cannot be shown', True),
    ],
)
def test_the_status_names_what_is_missing(change, level, words, is_connected):
    status = connection_status(replace(CONNECTED, **change), NOW)
    assert (status.level, status.headline, status.is_connected) == (level, words, is_connected)
    assert status.detail


def test_a_node_without_diagnostics_is_connected_as_long_as_it_offers_its_service():
    assert connection_status(replace(CONNECTED, diagnostics_at=None), NOW).level is Level.GOOD
    gone = connection_status(replace(CONNECTED, diagnostics_at=None, is_offered=False), NOW)
    assert gone.headline == 'The IK node is gone'


SOLVE = {
    'last_solve.status': 'SUCCESS',
    'last_solve.iterations': '4',
    'last_solve.searches': '1',
    'last_solve.solve_time': '7.23e-06',
    'last_solve.position_error': '5e-08',
    'last_solve.orientation_error': '1.1e-07',
    'last_solve.solver': 'levenberg_marquardt',
    'last_solve.source': 'target_pose',
    'last_solve.stamp': '100.5',
}


def entry(name, is_warning, text, values):
    level = DiagnosticStatus.WARN if is_warning else DiagnosticStatus.OK
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(name=name, level=level, message=text, values=pairs)


def report(*entries):
    return read_report(DiagnosticArray(status=[*entries]), 'ik')


ROBOT = entry('ik: robot description', False, 'in use', {'base_link': 'base', 'tip_link': 'tool'})
FOLLOWING = entry('ik: following', True, 'cannot be reached', SOLVE)
OTHER = entry('camera: following', False, 'a rabbit', SOLVE)


def solve_of(*parts):
    entries = [entry(f'ik: {number}', False, '', values) for number, values in enumerate(parts)]
    return report(*entries).solve


def test_the_parts_of_a_report():
    assert report(OTHER, ROBOT, FOLLOWING) == NodeReport(
        'base',
        'tool',
        'cannot be reached',
        True,
        SolveReport(4, 1, 7.23e-6, 'SUCCESS', 'levenberg_marquardt', 'target_pose', 5e-8, 1.1e-7),
    )


def test_reports_of_other_nodes_are_ignored():
    assert report(OTHER) is None
    assert report() is None


def test_the_newest_solve_of_several_parts_counts():
    newer = {**SOLVE, 'last_solve.stamp': '1000.25', 'last_solve.iterations': '9'}
    assert solve_of(newer, SOLVE).iterations == 9
    assert solve_of(SOLVE, newer).iterations == 9
    assert solve_of({**SOLVE, 'last_solve.stamp': 'soon'}, newer).iterations == 9


@pytest.mark.parametrize('key', ['iterations', 'searches', 'solve_time'])
@pytest.mark.parametrize('value', ['', 'none', 'nan', 'inf', '-1', None])
def test_a_wrong_or_missing_figure_is_no_solve(key, value):
    values = {**SOLVE, f'last_solve.{key}': value}
    if value is None:
        del values[f'last_solve.{key}']
    assert solve_of(values) is None


def test_a_solve_without_errors_has_none():
    solve = solve_of({**SOLVE, 'last_solve.position_error': 'inf'})
    assert solve.position_error is None
    assert solve.orientation_error == 1.1e-7


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
