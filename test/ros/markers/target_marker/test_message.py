"""The interactive marker of the target, and its menu, as messages."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('visualization_msgs.msg', reason='visualization_msgs is not installed')

from geometry_msgs.msg import Pose
from visualization_msgs.msg import InteractiveMarkerControl as Control
from visualization_msgs.msg import MenuEntry

from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.markers.target_marker.node import (
    command_of,
    HOME,
    menu_entries,
    POSITION_ONLY,
    SOLVER,
    target_marker,
    TO_TIP,
)


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


def test_the_ball_is_always_visible_and_moves_freely(marker):
    (ball,) = [control for control in marker.controls if control.markers]
    assert ball.interaction_mode == Control.MOVE_ROTATE_3D
    assert ball.always_visible
    assert ball.markers[0].color.a > 0.0
    assert 0.0 < ball.markers[0].scale.x < marker.scale


def test_the_marker_has_a_frame_and_no_stamp(marker):
    assert marker.header.frame_id == 'base'
    assert marker.header.stamp.sec == marker.header.stamp.nanosec == 0
    assert marker.description == 'tool0'
    assert marker.scale == pytest.approx(0.3)


def test_controls_have_unique_names(marker):
    assert len({control.name for control in marker.controls}) == len(marker.controls) == 7


def test_the_menu_marks_the_present_choice():
    entries = menu_entries(('gradient', 'extended_jacobian'), 'extended_jacobian', True)
    titles = {entry.title: entry for entry in entries}
    assert set(titles) == {
        'Home',
        'Marker to the tip',
        '[x] Position only',
        'Solver',
        '[ ] gradient',
        '[x] extended jacobian',
    }
    solver = titles['Solver']
    assert titles['[ ] gradient'].parent_id == titles['[x] extended jacobian'].parent_id
    assert titles['[ ] gradient'].parent_id == solver.id
    assert {entry.parent_id for entry in entries} == {0, solver.id}
    assert all(entry.id > 0 for entry in entries)
    assert len({entry.id for entry in entries}) == len(entries)
    assert all(entry.command_type == MenuEntry.FEEDBACK for entry in entries)


def test_commands_of_the_entries():
    entries = menu_entries(('a', 'b'), 'a', False)
    commands = [command_of(entries, entry.id) for entry in entries]
    assert commands == [HOME, TO_TIP, POSITION_ONLY, '', f'{SOLVER}a', f'{SOLVER}b']
    assert command_of(entries, 99) == ''


def test_without_solvers_there_is_no_choice_of_them():
    titles = [entry.title for entry in menu_entries((), '', False)]
    assert titles == ['Home', 'Marker to the tip', '[ ] Position only']
