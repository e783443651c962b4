import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.extras.viewer.panel.panel_html import Level
from ik_service.extras.viewer.path.path_form import path_text, PathState, percentage

READY = PathState(points=2, duration=3.0)


def test_what_the_node_lacks_is_named():
    lacking = PathState(has_planner=False, has_executor=False)
    assert path_text(lacking).level is Level.BAD
    assert 'service compute_cartesian_path and the action execute' in path_text(lacking).detail
    no_action = PathState(points=2, duration=3.0, has_executor=False)
    assert 'action execute_trajectory is not' in path_text(no_action).detail
    assert no_action.can_preview
    assert not no_action.can_execute


@pytest.mark.parametrize(
    'obstacle',
    [
        {'distance': 'far'},
        {'is_planning': True},
        {'is_approaching': True},
        {'progress': 0.5},
        {'obstacle': 'no states'},
        {'duration': 0.0},
        {'has_executor': False},
    ],
)
def test_only_a_motion_from_where_the_arm_rests_can_be_executed(obstacle):
    assert READY.can_execute
    assert not PathState(**{'points': 2, 'duration': 3.0, **obstacle}).can_execute


def test_a_part_of_the_path_never_looks_whole():
    assert percentage(0.9999) == '99 %'
    assert path_text(PathState(points=2, duration=1.0, fraction=0.437)).headline.endswith('43 %')
    assert path_text(READY).headline == 'Ready to execute'
