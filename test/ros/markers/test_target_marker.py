"""Interactive marker of the target: its node, beside a simulated IK node, and its program."""

import importlib.util
import math
from threading import Thread
from unittest.mock import Mock

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose, PoseStamped
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from support.harness import until
from support.ros.nodes import Arm, start_panda
from support.ros.servers import panda_arm, posture_of
from visualization_msgs.msg import InteractiveMarkerControl as Control
from visualization_msgs.msg import InteractiveMarkerFeedback
from visualization_msgs.srv import GetInteractiveMarkers

from ik_service import solver_names
from ik_service.exceptions import MissingRosPackageError
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.markers.target_marker import node as node_module
from ik_service.ros.markers.target_marker.node import (
    links_of,
    menu_entries,
    RemoteSolver,
    target_marker,
    TargetMarkerNode,
)
from ik_service.ros.node.parameter_table import SOLVER_NAME
from ik_service.ros.parameters.parameter_declaration import choices_of


class FakeServer:
    """Keeps markers and moves them, as the server of interactive_markers does."""

    def __init__(self, node, namespace):
        self.node, self.namespace = node, namespace
        self.shown = {}
        self.insertions = 0
        self._pending = {}

    def insert(self, marker, *, feedback_callback=None):
        self._pending[marker.name] = marker
        self._callback = feedback_callback
        self.insertions += 1

    def setPose(self, name, pose):  # noqa: N802
        self._pending[name] = self.shown[name]
        self._pending[name].pose = pose
        return True

    def applyChanges(self):  # noqa: N802
        self.shown.update(self._pending)
        self._pending = {}

    def shutdown(self):
        self.shown = {}

    # What a user does in RViz

    @property
    def marker(self):
        return self.shown.get('target')

    @property
    def titles(self):
        return [entry.title for entry in self.marker.menu_entries] if self.marker else []

    def drag(self, x, y, z, w=1.0, frame_id=None):
        feedback = InteractiveMarkerFeedback(event_type=InteractiveMarkerFeedback.POSE_UPDATE)
        feedback.header.frame_id = frame_id or self.marker.header.frame_id
        feedback.pose = pose_at(x, y, z)
        feedback.pose.orientation.w = w
        self._tell(feedback)

    def select(self, title):
        (entry,) = [entry for entry in self.marker.menu_entries if entry.title == title]
        feedback = InteractiveMarkerFeedback(event_type=InteractiveMarkerFeedback.MENU_SELECT)
        feedback.menu_entry_id = entry.id
        self._tell(feedback)

    def _tell(self, feedback):
        """Call the node back in its own thread, as the server does."""

        def call():
            if feedback.event_type == InteractiveMarkerFeedback.POSE_UPDATE:
                self.marker.pose = feedback.pose
            self._callback(feedback)

        until(self.node.executor.create_task(call).done, what='the end of the callback')


class FakeIkNode(Node):
    """What the marker needs of an IK node: diagnostics, parameters and compute_fk."""

    def __init__(self, bench, links=('base', 'tool')):
        super().__init__('ik_service', namespace=bench.namespace, context=bench.node.context)
        self.links = links
        self.tip = pose_at(0.5, 0.0, 0.4)
        self.assumed, self.silent = '', False
        descriptor = ParameterDescriptor(additional_constraints='one of gradient, newton')
        self.declare_parameter('solver.name', 'gradient', descriptor)
        self.declare_parameter('solver.task_weights', [1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
        self.add_on_set_parameters_callback(self._check)
        self.create_service(GetPositionFK, 'compute_fk', self._place)
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 10)
        self.create_timer(0.05, self._report)
        self.targets, self.reports = [], 0
        self.create_subscription(PoseStamped, 'target_pose', self.targets.append, 10)

    def value(self, name):
        return self.get_parameter(name).value

    def settle(self):
        """Wait until the marker has heard enough for what would come to have come."""
        since = self.reports
        until(lambda: self.reports > since + 6, what='reports')

    def _check(self, parameters):
        for parameter in parameters:
            if parameter.name == 'solver.name' and parameter.value == 'newton' and self.refuse:
                return SetParametersResult(successful=False, reason='not today')
        return SetParametersResult(successful=True)

    refuse = False

    def _place(self, request, response):
        assert request.fk_link_names == [self.links[1]]
        assert request.header.frame_id == self.links[0]
        response.error_code.val = 1
        response.error_code.message = self.assumed
        response.pose_stamped = [] if self.silent else [PoseStamped(pose=self.tip)]
        return response

    def _report(self):
        values = [
            KeyValue(key=key, value=value)
            for key, value in zip(('base_link', 'tip_link'), self.links, strict=True)
        ]
        other = DiagnosticStatus(name='driver: robot description', values=[])
        status = DiagnosticStatus(name='ik_service: robot description', values=values)
        self._diagnostics.publish(DiagnosticArray(status=[other, status]))
        self.reports += 1


class Spinning:
    """A node that spins in a thread of its own, for the time of a ``with`` block."""

    def __init__(self, node):
        self.node = node

    def __enter__(self):
        self._executor = SingleThreadedExecutor(context=self.node.context)
        self._executor.add_node(self.node)
        self._thread = Thread(target=self._executor.spin, daemon=True)
        self._thread.start()
        return self.node

    def __exit__(self, *_exception):
        self._executor.shutdown()
        self._thread.join(5.0)
        self.node.destroy_node()


def pose_at(x, y, z):
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = x, y, z
    return pose


@pytest.fixture
def ik_node(bench):
    with Spinning(FakeIkNode(bench)) as node:
        yield node


@pytest.fixture
def server(bench, monkeypatch):
    """The server of the marker of a node that spins."""
    made = []

    def make(node, namespace):
        made.append(FakeServer(node, namespace))
        return made[0]

    monkeypatch.setattr(node_module, 'interactive_marker_server', lambda: make)
    monkeypatch.setattr(node_module, '_SILENCE', 0.5)
    node = TargetMarkerNode(namespace=bench.namespace, context=bench.node.context)
    with Spinning(node):
        yield made[0]


def position(pose):
    return (pose.position.x, pose.position.y, pose.position.z)


def shown(server):
    until(lambda: server.titles[-1:] == ['[ ] newton'], what='the marker with its menu')
    return server.marker


def test_it_appears_at_the_tip_and_moves_nothing(ik_node, server):
    marker = shown(server)
    assert position(marker.pose) == (0.5, 0.0, 0.4)
    assert marker.header.frame_id == 'base'
    assert marker.description == 'tool'
    assert server.namespace == 'target_marker'
    ik_node.settle()
    assert not ik_node.targets
    insertions = server.insertions
    ik_node.tip = pose_at(0.0, 0.0, 1.0)  # the arm is moved by somebody else
    ik_node.settle()
    assert position(server.marker.pose) == (0.5, 0.0, 0.4)
    assert server.insertions == insertions  # each would break a drag off


def test_dragging_it_sets_the_target(ik_node, server):
    shown(server)
    until(lambda: server.drag(0.1, 0.2, 0.3) or ik_node.targets, what='a target')
    target = ik_node.targets[-1]
    assert position(target.pose) == (0.1, 0.2, 0.3)
    assert target.header.frame_id == 'base'
    assert target.header.stamp.sec > 0


def test_a_drag_to_nowhere_is_ignored_and_the_marker_put_back(ik_node, server):
    shown(server)
    until(lambda: server.drag(0.1, 0.2, 0.3) or ik_node.targets, what='a target')
    server.drag(math.nan, 0.2, 0.3)
    server.drag(9.0, 0.2, 0.3, frame_id='camera')  # no viewer moves it in another frame
    assert position(server.marker.pose) == (0.1, 0.2, 0.3)
    server.drag(0.4, 0.2, 0.3, w=2.0)
    until(lambda: position(ik_node.targets[-1].pose) == (0.4, 0.2, 0.3), what='the next target')
    assert (
        ik_node.targets[-1].pose.orientation.w == 1.0
    )  # viewers refuse quaternions of another norm
    assert {target.header.frame_id for target in ik_node.targets} == {'base'}
    assert all(target.pose.position.x < 9.0 for target in ik_node.targets)
    assert all(math.isfinite(target.pose.position.x) for target in ik_node.targets)


def test_home_is_where_the_marker_appeared(ik_node, server):
    shown(server)
    until(lambda: server.drag(0.1, 0.2, 0.3) or ik_node.targets, what='a target')
    server.select('Home')
    until(lambda: position(ik_node.targets[-1].pose) == (0.5, 0.0, 0.4), what='the home')
    assert position(server.marker.pose) == (0.5, 0.0, 0.4)


def test_it_goes_to_the_tip_without_moving_the_arm(ik_node, server):
    shown(server)
    ik_node.tip = pose_at(0.0, 0.0, 1.0)
    server.select('Marker to the tip')
    until(lambda: position(server.marker.pose) == (0.0, 0.0, 1.0))
    ik_node.settle()
    assert not ik_node.targets


def test_the_menu_changes_the_solver(ik_node, server):
    shown(server)
    server.select('[ ] newton')
    until(lambda: '[x] newton' in server.titles)
    assert '[ ] gradient' in server.titles
    assert ik_node.value('solver.name') == 'newton'


def test_position_only_is_switched_on_and_off(ik_node, server):
    shown(server)
    server.select('[ ] Position only')
    until(lambda: '[x] Position only' in server.titles)
    assert list(ik_node.value('solver.task_weights')) == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    server.select('[x] Position only')
    until(lambda: '[ ] Position only' in server.titles)
    assert list(ik_node.value('solver.task_weights')) == [1.0, 2.0, 3.0, 1.0, 1.0, 1.0]


def test_a_refusal_is_shown_until_the_next_choice(ik_node, server):
    shown(server)
    ik_node.refuse = True
    server.select('[ ] newton')
    until(lambda: server.marker.description == 'refused: not today')
    ik_node.refuse = False
    server.select('[ ] newton')
    until(lambda: '[x] newton' in server.titles)
    assert server.marker.description == 'tool'


def test_the_marker_stays_where_it_was_dragged_when_the_ik_node_ends(bench, server):
    with Spinning(FakeIkNode(bench)):
        shown(server)
        server.drag(0.1, 0.2, 0.3)
    until(lambda: server.marker.description == 'ik_service is silent')
    server.select('[ ] newton')
    until(lambda: 'not running' in server.marker.description)
    with Spinning(FakeIkNode(bench)) as ik_node:
        until(lambda: server.marker.description == 'tool')
        assert position(server.marker.pose) == (0.1, 0.2, 0.3)
        until(lambda: '[x] gradient' in server.titles)
        server.select('[ ] newton')
        until(lambda: ik_node.value('solver.name') == 'newton')


def test_the_marker_moves_to_another_arm(bench, server):
    with Spinning(FakeIkNode(bench)):
        shown(server)
        server.drag(0.1, 0.2, 0.3)
    with Spinning(FakeIkNode(bench, links=('pedestal', 'gripper'))):
        until(lambda: server.marker.header.frame_id == 'pedestal')
        assert server.marker.description == 'gripper'
        assert position(server.marker.pose) == (0.5, 0.0, 0.4)


def test_it_waits_for_a_robot_and_its_joint_states(bench, server):
    with Spinning(FakeIkNode(bench, links=('', ''))) as ik_node:
        ik_node.settle()
        assert server.marker is None
        ik_node.assumed = 'neither measured nor given: elbow'
        ik_node.links = ('base', 'tool')
        ik_node.settle()
        assert server.marker is None
        ik_node.assumed, ik_node.silent = '', True
        ik_node.settle()
        assert server.marker is None
        ik_node.silent = False
        shown(server)


def test_parameters_of_a_node_that_has_not_those_of_an_ik_node_are_passed_over():
    solver = RemoteSolver(Mock(), 'ik_service', lambda: None, lambda reason: None)
    name, number = Parameter('a', value='ccd'), Parameter('b', value=1.0)
    for values in ([], [name], [name, number], [number, number]):
        answer = Future()
        messages = [value.get_parameter_value() for value in values]
        answer.set_result(GetParameters.Response(values=messages))
        solver._on_values(answer)
    assert (solver.name, solver.weights) == ('', ())


def test_only_the_diagnostics_of_the_ik_node_count():
    status = DiagnosticStatus(name='ik_service: robot description')
    message = DiagnosticArray(status=[status])
    assert links_of(message, 'ik_service') == ('', '')
    assert links_of(message, 'cell/ik_service') == ('', '')
    assert links_of(message, 'other') is None
    status.values = [KeyValue(key='base_link', value='b'), KeyValue(key='tip_link', value='t')]
    assert links_of(message, 'ik_service') == ('b', 't')


def test_the_ik_node_describes_its_solvers_in_that_way():
    assert choices_of(SOLVER_NAME.descriptor()) == solver_names()


@pytest.fixture
def marker():
    menu = menu_entries(('a', 'b'), 'a', False)
    return target_marker('base', Pose(), 0.3, 'tool0', menu)


def test_the_marker_moves_along_and_turns_about_every_axis(marker):
    found = {}
    for control in marker.controls:
        if control.interaction_mode in (Control.MOVE_AXIS, Control.ROTATE_AXIS):
            R = matrix_from_pose(Pose(orientation=control.orientation))[:3, :3]
            found[control.interaction_mode, control.name] = R[:, 0]  # it acts along its x axis
    assert len(found) == 6
    for mode, verb in ((Control.MOVE_AXIS, 'move'), (Control.ROTATE_AXIS, 'turn')):
        axes = [found[mode, f'{verb}_{name}'] for name in 'xyz']
        np.testing.assert_allclose(axes, np.eye(3), atol=1e-12)


PROGRAM = 'ik_service.ros.markers.target_marker.main'
INSTALLED = importlib.util.find_spec('interactive_markers') is not None


def is_at(marker, T):
    return np.allclose(matrix_from_pose(marker.pose), T, atol=1e-9)


def test_the_error_names_the_package_of_the_distribution(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f'No module named {name!r}')

    monkeypatch.setattr(node_module.importlib, 'import_module', missing)
    for distribution, package in (
        ('kilted', 'ros-kilted-interactive-markers'),
        ('', 'ros-$ROS_DISTRO-interactive-markers'),
    ):
        monkeypatch.setenv('ROS_DISTRO', distribution)
        with pytest.raises(MissingRosPackageError) as caught:
            node_module.interactive_marker_server()
        assert str(caught.value).endswith(f'sudo apt install {package}')
        assert caught.value.package == 'interactive_markers'


@pytest.mark.skipif(not INSTALLED, reason='interactive_markers is not installed')
def test_the_arm_follows_the_marker(bench):
    arm = panda_arm()
    chain, q = arm.chain, posture_of(arm, 1)[arm.indices]
    start_panda(bench, velocity_scaling=1.0)
    machine = Arm(bench, chain.joint_names, q)
    child = bench.start(PROGRAM)

    def markers():
        request = GetInteractiveMarkers.Request()
        return bench.call(
            GetInteractiveMarkers, 'target_marker/get_interactive_markers', request
        ).markers

    marker = until(markers, what='the marker')[0]
    np.testing.assert_allclose(matrix_from_pose(marker.pose), chain.forward(q), atol=1e-6)
    until(lambda: any(e.title == '[x] levenberg marquardt' for e in markers()[0].menu_entries))

    hands = bench.publisher(InteractiveMarkerFeedback, 'target_marker/feedback')
    T = chain.forward(np.clip(q + 0.2, chain.lower, chain.upper))
    drag = InteractiveMarkerFeedback(
        client_id='test', marker_name=marker.name, pose=pose_from_matrix(T)
    )
    drag.header.frame_id = marker.header.frame_id
    drag.event_type = InteractiveMarkerFeedback.POSE_UPDATE
    # The server heeds nobody in the first second, nor a second one within a second of the first.
    until(lambda: hands.publish(drag) or is_at(markers()[0], T), period=0.1)
    until(lambda: np.allclose(chain.forward(machine.q), T, atol=1e-4), what='the arm there')

    entries = {entry.title: entry for entry in markers()[0].menu_entries}
    choice = InteractiveMarkerFeedback(client_id='test', marker_name=marker.name)
    choice.event_type = InteractiveMarkerFeedback.MENU_SELECT
    choice.menu_entry_id = entries['[ ] pseudoinverse'].id
    hands.publish(choice)
    until(lambda: any(e.title == '[x] pseudoinverse' for e in markers()[0].menu_entries))
    assert bench.get_parameters('ik_service', 'solver.name') == ['pseudoinverse']
    child.end()
    assert child.exit_code == 0
    assert 'Traceback' not in child.output
