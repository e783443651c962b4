"""The program target_marker."""

import importlib.util

import numpy as np
import pytest
from support.harness import until
from support.ros.nodes import Arm, ended, start_panda
from support.ros.servers import panda_arm, posture_of
from visualization_msgs.msg import InteractiveMarkerFeedback
from visualization_msgs.srv import GetInteractiveMarkers

from ik_service.exceptions import MissingRosPackageError
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.markers.target_marker import node as node_module

PROGRAM = 'ik_service.ros.markers.target_marker.main'
INSTALLED = importlib.util.find_spec('interactive_markers') is not None


def is_at(marker, T):
    return np.allclose(matrix_from_pose(marker.pose), T, atol=1e-9)


@pytest.mark.skipif(INSTALLED, reason='interactive_markers is installed')
def test_without_interactive_markers_the_error_names_the_package(bench):
    child = bench.start(PROGRAM, ready=None, environment={'ROS_DISTRO': 'jazzy'})
    ended(child, 'sudo apt install ros-jazzy-interactive-markers')


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
