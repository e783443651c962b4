"""What is heard of a node: diagnostics, parameters, and its world."""

from dataclasses import replace
import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('visualization_msgs.msg', reason='visualization_msgs is not installed')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point
from rcl_interfaces.msg import Parameter, ParameterEvent
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.collision import shapes
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import IkServiceError
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
from ik_service.extras.viewer.link.world_picture import MOST_MARKERS, read_world_picture
from ik_service.extras.viewer.panel.figures import SolveReport
from ik_service.model.geometry.link_geometry import CollisionGeometry
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.motion.settings import FollowerState
from ik_service.ros.markers.world_markers import world_marker_array, WorldScene

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


class Graph:
    """A monitor, a node whose answers are given by hand, and a clock that is set by hand."""

    def __init__(self, monkeypatch):
        self.now, self.offered, self.asked, self.results, self.connections = 100.0, True, [], [], 0
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: self.now))
        parameters = SimpleNamespace(is_ready=lambda: False, set=self.ask)
        node = SimpleNamespace(
            ik=SimpleNamespace(is_offered=lambda: self.offered),
            find_ik_node=lambda: NAME,
            parameters_of=lambda name: parameters,
        )
        self.tasks = TaskQueue(pytest.fail)
        self.stops, self.refusals = 0, []
        self.monitor = NodeMonitor(
            node,
            self.tasks,
            {},
            None,
            None,
            self.count_connected,
            self.count_stop,
            self.refusals.append,
        )
        self.monitor.update_facts(has_robot=True)
        self.receive()
        self.monitor.step(self.now)
        self.receive()

    def ask(self, values, on_result):
        if 2**63 in values.values():
            raise OverflowError
        self.asked.append((values, on_result))

    def count_connected(self):
        self.connections += 1

    def count_stop(self):
        self.stops += 1

    def report_stops(self, text):
        values = [KeyValue(key='stops', value=text)]
        status = DiagnosticStatus(name='ik_service: motions', values=values)
        self.monitor.on_diagnostics(DiagnosticArray(status=[status]), self.now)

    def receive(self, activity='all is well'):
        """Diagnostics and joint states arrive."""
        status = DiagnosticStatus(name='ik_service: following', message=activity)
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
def graph(monkeypatch):
    return Graph(monkeypatch)


def test_a_change_that_cannot_be_sent_keeps_no_node_busy(graph):
    with pytest.raises(OverflowError):
        graph.choose(2**63)
    assert graph.status_after(2.0).headline == f'Connected to {NAME}'


def test_a_node_that_compiles_is_busy_and_not_gone(graph):
    assert graph.status_after(0.5).headline == f'Connected to {NAME}'
    graph.choose('ccd')
    assert graph.status_after(0.5).headline == f'Connected to {NAME}'  # most changes take no time
    status = graph.status_after(20.0)
    assert (status.level, status.headline) == (Level.WAITING, 'The IK node is busy')
    assert 'for 20 s' in status.detail
    graph.answer(0)
    assert graph.results == [({'solver.name': 'ccd'}, '')]
    graph.receive()
    assert graph.status_after(0.5).headline == f'Connected to {NAME}'
    assert graph.connections == 1  # it was there all the time


def test_it_is_busy_until_all_changes_are_answered(graph):
    graph.choose('ccd')
    graph.status_after(5.0)
    graph.choose('bfgs')
    graph.answer(0)
    assert graph.status_after(0.5).headline != 'The IK node is busy'
    assert graph.status_after(5.0).headline == 'The IK node is busy'
    graph.answer(1, 'no')
    assert graph.results[1] == ({'solver.name': 'bfgs'}, 'no')
    assert graph.status_after(5.0).headline == 'The IK node is gone'


def test_a_node_that_leaves_while_it_is_busy_is_gone(graph):
    graph.choose('ccd')
    assert graph.status_after(20.0).headline == 'The IK node is busy'
    graph.offered = False
    assert graph.status_after(0.5).headline == 'The IK node is gone'
    graph.offered = True
    graph.receive()
    assert graph.status_after(0.5).headline == f'Connected to {NAME}'  # its answer will never come
    assert graph.connections == 2


def test_a_restarted_node_is_not_busy(graph):
    graph.choose('ccd')
    assert graph.status_after(20.0).headline == 'The IK node is busy'
    graph.monitor.on_parameters(ParameterEvent(node=NAME, new_parameters=[Parameter(name='rate')]))
    graph.receive()
    assert graph.status_after(0.5).headline == f'Connected to {NAME}'


def test_stops_that_others_ask_for_are_noticed(graph):
    for text, stops in [('2', 0), ('2', 0), ('3', 1), ('none', 1), ('4', 1), ('0', 1), ('1', 2)]:
        graph.report_stops(text)
        assert graph.stops == stops


@pytest.mark.parametrize('state', [FollowerState.REACHED, FollowerState.RELEASED])
def test_a_new_target_is_not_shown_as_reached(graph, state):
    graph.receive(state.value)
    assert graph.status_after(0.1).detail == state.value
    graph.monitor.on_target()
    assert graph.status_after(0.1).detail == ''
    graph.receive(FollowerState.FOLLOWING.value)
    graph.monitor.on_target()
    assert graph.status_after(0.1).detail == FollowerState.FOLLOWING.value


def test_what_is_asked_of_a_node_that_has_gone_is_refused_or_said_to_be_undone(graph):
    moved = []
    graph.monitor.ask(moved.append, 'home')
    graph.receive()  # and goes on its way
    graph.status_after(1.0)
    graph.monitor.ask(moved.append, 'open')  # the node has just been killed
    graph.status_after(1.0)
    assert not graph.refusals
    graph.status_after(DIAGNOSTICS_TIMEOUT)
    graph.monitor.ask(moved.append, 'close')
    assert moved == ['home', 'open']
    undone, refusal = graph.refusals
    assert undone == 'The IK node is gone: what was asked of it last may not have been done'
    assert refusal.startswith('The IK node is gone: nothing received')
    graph.receive()
    graph.status_after(0.1)
    graph.status_after(DIAGNOSTICS_TIMEOUT)  # gone again, at rest
    assert len(graph.refusals) == 2


T = transform_from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def test_what_the_node_sends_is_what_the_page_shows():
    mesh = shapes.Mesh(np.eye(3), [[0, 1, 2]])
    pile = [shapes.Box((1, 2, 3)), shapes.Sphere(0.5), shapes.Cylinder(0.2, 3.0), mesh]
    world = World(
        {'pile': WorldObject('pile', pile, T), 'p': WorldObject('p', shapes.Plane((0, 0, 1, 0)))},
        {'tool': AttachedObject('tool', shapes.Cone(0.1, 0.2), 'hand', (), T)},
    )
    links = [CollisionGeometry('arm/upper', Sphere(0.1), np.eye(4))]
    contacts = [('arm/upper', 'pile')]
    scene = WorldScene('base', world, contacts, links, ['a remark'])
    picture = read_world_picture(world_marker_array(scene, Time()))
    assert picture.colliding_links == {'arm/upper'}
    assert (picture.contacts, picture.remarks) == (('arm/upper with pile',), ('a remark',))
    tool, box, ball, rod, triangle, floor = picture.parts
    assert [part.link for part in picture.parts] == ['hand', *5 * ['base']]
    assert [box.geometry, ball.geometry, rod.geometry] == [
        Box((1, 2, 3)),
        Sphere(0.5),
        Cylinder(0.2, 3.0),
    ]
    np.testing.assert_array_equal(triangle.geometry.vertices, np.eye(3))
    assert tool.geometry.faces.max() == len(tool.geometry.vertices) - 1
    assert floor.opacity < 1.0
    assert box.opacity is None
    assert box.color == ball.color != tool.color
    for part in (tool, box, rod, triangle):
        np.testing.assert_allclose(part.T_link_geometry, T, atol=1e-12)


def marker(x=1.0, w=1.0, **fields):
    made = Marker(**{'ns': 'objects', 'id': 7, 'type': Marker.CUBE, **fields})
    made.scale.x, made.pose.orientation.w = x, w
    made.scale.y = made.scale.z = 1.0
    return made


def triangles(*numbers):
    points = [Point(x=number) for number in numbers]
    return marker(type=Marker.TRIANGLE_LIST, points=points)


@pytest.mark.parametrize(
    ('bad', 'complaint'),
    [
        (marker(type=Marker.ARROW), 'marker 7 of objects: type 0 is not known'),
        (marker(x=0.0), 'no size'),
        (marker(x=math.nan), 'no size'),
        (marker(w=0.0), 'zero quaternion'),
        (marker(w=math.inf), 'finite'),
        (triangles(0.0, 1.0), '2 points make no triangles'),
        (triangles(0.0, 1.0, math.nan), 'no triangles'),
        (triangles(), '0 points'),
    ],
)
def test_a_faulty_marker_is_refused(bad, complaint):
    with pytest.raises(IkServiceError, match=complaint):
        read_world_picture(MarkerArray(markers=[marker(), bad]))


def test_foreign_and_further_markers_are_ignored():
    foreign = [marker(ns='trail', type=Marker.LINE_STRIP), marker(action=Marker.DELETE)]
    many = [marker()] * (MOST_MARKERS + 1)
    picture = read_world_picture(MarkerArray(markers=[*foreign, *many]))
    assert len(picture.parts) == MOST_MARKERS - len(foreign)
