from __future__ import annotations

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.harness import until
from support.page.client import page_socket, serving

from ik_service.extras.viewer.panel.panel_html import Level
from ik_service.extras.viewer.path.path_form import (
    path_text,
    PathForm,
    PathState,
    percentage,
)

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


class Tab:
    """The tab, and the names of what was done in it."""

    def __init__(self, client):
        self.served, self.done = client.served, []
        gui = client.served.server.gui
        container = gui.add_tab_group().add_tab('path')
        self.form = PathForm(gui, container, lambda name, *_: self.done.append(name), self)

    def __getattr__(self, name):  # stands for the paths' own methods
        return name


@pytest.fixture(scope='module')
def tab():
    with serving() as client:
        yield Tab(client)


def test_only_the_page_itself_can_execute_a_path(tab):
    tab.form.show(READY)
    for origin in ('http://evil.example', 'null', 'http://127.0.0.1:1'):
        with page_socket(tab.served, origin) as page:
            assert page is None
    assert not tab.done
    with page_socket(tab.served) as page:
        page.click(tab.form._execute)
        until(lambda: tab.done == ['execute'], 30.0, 'an execution')


def test_what_this_program_shows_is_nothing_that_was_done(tab):
    tab.done.clear()
    for time in (0.5, 2.0):
        tab.form.show(PathState(points=2, duration=3.0, time=time, is_playing=True))
    assert tab.form._time.value == 2.0
    assert tab.form._play.label == 'Pause'
    assert not tab.done


def test_buttons_are_there_when_they_can_be_used(tab):
    form = tab.form
    form.show(PathState(points=1))
    assert form._preview.disabled
    assert form._execute.disabled
    assert not form._time.visible
    form.show(PathState(points=2, duration=3.0, fraction=0.437, distance='far'))
    assert form._go.visible
    assert form._execute.disabled
    form.show(PathState(points=2, duration=3.0, fraction=0.437))
    assert not form._go.visible
    assert (form._execute.disabled, form._execute.label) == (False, 'Execute the first 43 %')
    form.show(PathState(points=2, duration=3.0, progress=0.5))
    assert form._add.disabled
    assert form._cancel.visible
    assert form._progress.value == 50.0


def test_settings_are_in_metres(tab):
    settings = tab.form.settings
    assert (settings.max_step, settings.speed) == (0.005, pytest.approx(0.1))
    assert settings.avoid_collisions
