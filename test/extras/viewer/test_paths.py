"""Paths on the page: waypoints, the form, previews and their execution."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.extras.viewer.waypoints import (
    circle_poses,
    MOST_POINTS,
    WaypointError,
    Waypoints,
)

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.harness import raise_it, until
from support.page.client import page_socket, serving
from support.page.paths import FakeLink, straight_answer
from support.ros.servers import panda_arm

from ik_service.exceptions import TrajectoryError
from ik_service.extras.viewer.link.path_link import PathAnswer, PathSettings
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.panel.figures import Level
from ik_service.extras.viewer.paths import (
    path_text,
    PathForm,
    Paths,
    PathState,
    percentage,
    PreviewPlayback,
)
from ik_service.extras.viewer.preview import make_preview
from ik_service.extras.viewer.robot_display import PageTarget


def test_it_runs_to_the_end_and_begins_anew_from_there():
    playback = PreviewPlayback()
    playback.load(2.0)
    playback.toggle(now=10.0)
    playback.step(now=11.5)
    assert (playback.time, playback.is_playing) == (1.5, True)
    playback.step(now=12.5)
    assert (playback.time, playback.is_playing) == (2.0, False)
    playback.toggle(now=20.0)
    assert (playback.time, playback.is_playing) == (0.0, True)


def test_seeking_stops_it_within_the_motion():
    playback = PreviewPlayback()
    playback.load(2.0)
    playback.toggle(now=10.0)
    playback.seek(5.0)
    playback.step(now=11.0)
    assert (playback.time, playback.is_playing) == (2.0, False)


SETTINGS = PathSettings(max_step=0.005, speed=0.1, avoid_collisions=True)


class Page:
    """Everything around the paths, in place of a viewer."""

    def __init__(self):
        self.arm = panda_arm()
        self.chain = self.arm.chain
        self.q = self.chain.mid_range()
        self.link, self.tasks, self.target = FakeLink(), TaskQueue(raise_it), PageTarget()
        self.form = SimpleNamespace(settings=SETTINGS, show=lambda state: None)
        self.refusals, self.shown, self.ghosts, self.moves = [], [], [], []
        self.motions = SimpleNamespace(
            move_joints=self.moves.append, drop=self.target.clear, is_executing=False
        )
        scene = SimpleNamespace(
            show_drawing=lambda drawing, corners: None,
            show_preview=self.shown.append,
            show_ghost=lambda poses, measured: self.ghosts.append(poses),
            move_base=lambda T: None,
            remove=lambda: None,
        )
        self.paths = Paths(
            self._make_form,
            lambda display: scene,
            self.link,
            self.tasks,
            self.target,
            self.motions,
            self.refusals.append,
        )
        self.display = SimpleNamespace(
            view=SimpleNamespace(arm=self.arm),
            joints=lambda: self.q,
            poses={},
            poses_at=lambda q: {'tip': self.chain.forward(q)},
            root_from_base=lambda: np.eye(4),
            tip_pose=lambda: None if self.q is None else self.chain.forward(self.q),
        )
        self.paths.show(self.display)

    def _make_form(self, post, paths):
        self.post = post
        return self.form

    def step(self):
        self.tasks.run_pending()
        self.paths.step(now=100.0)

    def do(self, *names):
        for name in names:
            self.post(getattr(self.paths, name))
            self.step()

    def draw(self, *postures):
        for q in postures:
            self.target.set(self.chain.forward(q))
            self.do('add')

    def answer(self, *rows, number=-1, **answer):
        self.link.paths[number][2](straight_answer(self.chain, *rows, **answer))
        self.step()

    def preview(self, *rows, **answer):
        """Preview a path from where the arm is."""
        self.do('preview')
        self.answer(*rows, **answer)

    @property
    def state(self):
        return self.paths.state()


@pytest.fixture
def page():
    return Page()


@pytest.fixture
def ready(page):
    """A page with a preview that starts where the arm is."""
    page.draw(page.q, page.q + 0.1)
    page.preview(page.q, page.q + 0.1)
    return page


def test_a_path_is_drawn_previewed_and_executed_as_it_was_received(page):
    page.draw(page.q, page.q + 0.1)
    assert page.target.take_unpublished() is not None  # of the drag; nothing else moves the arm
    page.do('preview')
    assert page.state.is_planning
    start, waypoints, _ = page.link.paths[0]
    np.testing.assert_array_equal(start, page.q)
    np.testing.assert_allclose(waypoints, [page.chain.forward(page.q + 0.1)])
    page.answer(page.q, page.q + 0.1)
    assert page.state.can_execute
    assert not page.link.executed
    page.do('execute')
    assert page.link.executed == [page.shown[-1].answer.message]
    assert page.target.pose is None  # the gizmo goes with the arm
    page.q = page.q + 0.03
    page.step()
    assert page.state.progress == pytest.approx(0.3, abs=0.03)
    page.link.end()
    page.step()
    assert page.state.progress is None
    assert page.state.outcome.headline == 'The arm has gone along the path'


def test_the_arm_of_a_preview_is_hidden_when_a_page_opens_and_back_when_it_is_moved(ready):
    ready.paths.draw()
    ready.paths.hide_preview()
    ready.paths.draw()
    ready.paths.seek(0.1)
    ready.step()
    ready.paths.draw()
    assert [poses is not None for poses in ready.ghosts] == [True, False, True]


@pytest.mark.parametrize('change', ['add', 'undo', 'clear', 'settings'])
def test_a_preview_of_another_path_is_not_executed(ready, change):
    if change == 'settings':
        ready.form.settings = PathSettings(max_step=0.005, speed=0.2, avoid_collisions=False)
        ready.step()
    else:
        ready.target.set(ready.chain.forward(ready.q + 0.2))
        ready.do(change)
    assert not ready.state.has_motion
    ready.do('execute')
    assert not ready.link.executed
    assert len(ready.refusals) == 1


def test_from_elsewhere_the_path_is_not_executed_but_the_arm_can_go_to_its_start(page):
    home = page.q
    page.draw(home, home + 0.1)
    page.q = home + 0.5
    page.do('preview')
    T, on_start = page.link.starts[0]
    np.testing.assert_allclose(T, page.chain.forward(home))
    on_start(home + 0.02, '')  # another posture with (nearly) that pose
    page.step()
    page.answer(home + 0.02, home + 0.1)
    assert 'away from there' in page.state.distance
    page.do('execute')
    assert not page.link.executed
    assert 'not where the path starts' in page.refusals[-1]
    page.do('go_to_start')
    assert page.moves == [dict(zip(page.chain.joint_names, home + 0.02, strict=True))]
    assert not page.state.can_execute
    page.q, page.motions.is_executing = home + 0.015, True
    page.step()
    assert not page.state.can_execute  # not before it rests there
    page.motions.is_executing = False
    assert page.state.can_execute
    assert not page.link.executed  # not without being asked


def test_a_path_that_ends_early_says_where_and_why(page):
    page.draw(page.q, page.q + 0.1)
    page.preview(page.q, page.q + 0.05, fraction=0.437, reason='joint limit')
    assert (page.state.fraction, page.state.reason) == (0.437, 'joint limit')
    assert page.state.can_execute  # that part of it


def test_no_motion_is_a_failure_with_its_reason(page):
    page.draw(page.q, page.q + 0.1)
    page.do('preview')
    page.link.paths[0][2](PathAnswer(None, 0.0, 'out of reach'))
    page.step()
    assert page.state.failure == 'out of reach'
    page.q = page.q + 0.5
    page.do('preview')
    page.link.starts[0][1](None, 'a wall')
    page.step()
    assert page.state.failure.endswith('a wall')
    assert not page.state.has_motion


def test_a_late_answer_to_an_earlier_question_does_not_count(page):
    page.draw(page.q, page.q + 0.1)
    page.do('preview')
    page.do('undo')
    page.draw(page.q - 0.1)
    page.answer(page.q, page.q + 0.1, number=0)
    assert not page.state.has_motion
    page.do('preview')
    page.answer(page.q, page.q + 0.3, number=0)
    assert not page.state.has_motion
    page.answer(page.q, page.q - 0.1, number=1)
    assert page.state.has_motion


def test_while_the_arm_goes_along_the_path_it_cannot_be_changed_or_begun_again(ready):
    ready.do('execute', 'execute', 'add', 'clear', 'close_circle', 'preview', 'go_to_start')
    assert len(ready.link.executed) == 1
    assert ready.state.points == 2
    assert len(ready.refusals) == 6
    ready.do('stop')
    assert ready.link.canceled == 1
    ready.link.end(is_success=False, is_canceled=True, reason='as asked')
    ready.step()
    assert ready.state.outcome.detail == 'as asked'


def test_settings_that_change_while_the_arm_goes_along_a_path_count_from_its_end_on(ready):
    ready.do('execute')
    ready.form.settings = PathSettings(max_step=0.005, speed=0.2, avoid_collisions=False)
    ready.step()
    assert ready.state.duration > 0.0
    ready.link.end()
    ready.step()
    assert not ready.state.has_motion


def test_a_node_that_has_gone_ends_the_execution_and_says_so(ready):
    ready.do('execute')
    ready.link.executes = False
    ready.step()
    assert ready.state.progress is None
    assert ready.state.outcome.headline == 'The IK node has gone'
    ready.link.executes = True
    ready.link.end()  # of the node before
    ready.step()
    assert ready.state.outcome.headline == 'The IK node has gone'


def test_without_services_or_states_nothing_is_asked(page):
    page.link.plans = False
    page.draw(page.q, page.q + 0.1)
    page.do('preview')
    assert 'compute_cartesian_path' in page.refusals[-1]
    page.q = None
    page.target.clear()
    page.do('add', 'preview', 'go_to_start', 'execute')
    assert len(page.refusals) == 5
    assert not page.link.paths
    assert not page.link.starts
    assert not page.link.executed


def test_another_robot_has_no_path(ready):
    ready.paths.show(ready.display)
    assert (ready.state.points, ready.state.has_motion) == (0, False)


def test_waypoints_are_saved_and_loaded_and_wrong_files_are_refused():
    page, files = Page(), []
    page.draw(page.q, page.q + 0.1, page.q + 0.2)
    page.do('close_circle')
    drawn = page.paths._points.corners()
    page.paths.save(files.append)
    page.do('clear')
    other = files[0].replace(page.chain.tip_link, 'nose')
    for wrong in (other, '{}', '[', '[]', files[0].replace('"circles": [', '"circles": [1,')):
        page.paths.load(wrong.encode())
        page.step()
    assert len(page.refusals) == 5
    assert 'nose' in page.refusals[0]
    assert all('has to be JSON with base_link' in told for told in page.refusals[1:4])
    assert 'a circle has no three points of its own' in page.refusals[4]
    assert page.paths.state().points == 0
    page.paths.load(files[0].encode())
    page.step()
    assert np.allclose(page.paths._points.corners(), drawn)
    page.do('undo')
    assert page.paths.state().points == 0


@pytest.fixture(scope='module')
def chain():
    return panda_arm().chain


def test_a_preview_knows_the_way_of_the_tip_and_how_far_the_arm_is(chain):
    q = chain.mid_range()
    preview = make_preview(chain, straight_answer(chain, q, q + 0.1))
    np.testing.assert_allclose(preview.tips[1], chain.forward(q + 0.1)[:3, 3])
    np.testing.assert_allclose(preview.at(0.5), q + 0.05)
    away = q.copy()
    away[2] += 0.3
    assert preview.distance_from_start(away) == (chain.joint_names[2], pytest.approx(0.3))


def test_joints_in_another_order_are_sorted_and_other_joints_refused(chain):
    q = chain.mid_range()
    answer = straight_answer(chain, q[::-1], q[::-1] + 0.1)
    names = answer.message.joint_trajectory.joint_names
    answer.message.joint_trajectory.joint_names = names[::-1]
    np.testing.assert_allclose(make_preview(chain, answer).at(0.0), q)
    answer.message.joint_trajectory.joint_names = [f'left_{name}' for name in names]
    with pytest.raises(TrajectoryError, match=names[0]):
        make_preview(chain, answer)


def test_on_a_path_that_crosses_itself_the_arm_is_found_where_it_has_come_to(chain):
    q = chain.mid_range()
    preview = make_preview(chain, straight_answer(chain, q, q + 0.1, q, q - 0.1))
    assert preview.time_nearest(q, since=0.0) == 0.0
    assert preview.time_nearest(q + 0.05, since=0.4) == pytest.approx(0.5, abs=0.05)
    assert preview.time_nearest(q, since=1.8) == pytest.approx(2.0, abs=0.05)
    assert preview.time_nearest(q - 0.1, since=2.9) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ('fraction', 'shown'), [(1.0 - 1e-12, 1.0), (2.0, 1.0), (-1.0, 0.0), (float('nan'), 0.0)]
)
def test_a_fraction_is_a_share(chain, fraction, shown):
    q = chain.mid_range()
    answer = straight_answer(chain, q, q + 0.1, fraction=fraction)
    assert make_preview(chain, answer).fraction == shown


CENTER = np.array([0.4, 0.1, 0.3])


def on_rim(angle, radius=0.2, tilt=0.7):
    """A pose on a circle in a tilted plane, turned by half of its angle."""
    plane = rotation_about_axis((1.0, 0.0, 0.0), tilt)
    position = CENTER + plane @ (radius * np.array([math.cos(angle), math.sin(angle), 0.0]))
    return rigid_transform(rotation_about_axis((0.0, 0.0, 1.0), angle / 2), position)


def drawn(*poses):
    points = Waypoints()
    for pose in poses:
        points.add(pose)
    return points


@pytest.mark.parametrize('angles', [(0.0, 1.0, 2.0), (0.5, 3.0, 5.5), (2.0, 1.0, -3.5)])
def test_a_circle_goes_once_around_through_its_three_points_in_their_order(angles):
    points = [on_rim(angle) for angle in angles]
    poses = circle_poses(*points)
    rim = poses[:, :3, 3] - CENTER
    np.testing.assert_allclose(np.linalg.norm(rim, axis=1), 0.2, atol=1e-9)
    passed = [int(np.argmin(np.abs(poses - T).max(axis=(1, 2)))) for T in points]
    assert passed[0] == 0 < passed[1] < passed[2] < len(poses) - 1
    np.testing.assert_allclose(poses[passed], points, atol=1e-9)
    np.testing.assert_allclose(poses[-1], poses[0], atol=1e-9)
    middle = (rim[1:] + rim[:-1]) / 2  # of the chords
    assert 0.2 - np.linalg.norm(middle, axis=1).min() < 2.1e-4


def test_a_small_circle_and_a_huge_one_have_bounded_numbers_of_chords():
    for radius in (1e-3, 50.0):
        poses = circle_poses(*(on_rim(angle, radius) for angle in (0.0, 2.0, 4.0)))
        assert 36 <= len(poses) <= 364


def test_points_on_one_line_make_no_circle():
    line = [rigid_transform(None, (x, 0.0, 0.0)) for x in (0.0, 0.1, 0.3)]
    points = drawn(*line)
    before = points.drawing
    with pytest.raises(WaypointError, match='on one line'):
        points.close_circle()
    with pytest.raises(WaypointError, match='on one line'):
        circle_poses(line[0], line[1], line[0])
    assert points.drawing is before


def test_lines_and_circles_follow_each_other():
    rim = [on_rim(angle) for angle in (0.0, 1.0, 2.0)]
    start, end = rigid_transform(None, (0.0, 0.0, 0.5)), rigid_transform(None, (0.0, 0.3, 0.5))
    points = drawn(start, *rim)
    points.close_circle()
    points.add(end)
    corners = points.corners()
    np.testing.assert_array_equal(corners[[0, 1, -1]], [start, rim[0], end])
    np.testing.assert_allclose(corners[-2], rim[0], atol=1e-9)  # from there the line goes on
    with pytest.raises(WaypointError, match='after the last circle'):
        points.close_circle()


def test_each_step_can_be_undone_also_clearing():
    rim = [on_rim(angle) for angle in (0.0, 1.0, 2.0)]
    points = drawn(*rim)
    points.close_circle()
    drawings = [points.drawing]
    points.clear()
    assert len(points) == 0
    points.undo()
    assert points.drawing is drawings[0]
    points.undo()
    assert not points.drawing.circles
    for left in (2, 1, 0, 0):
        points.undo()
        assert len(points) == left
    assert points.corners().shape == (0, 4, 4)


def test_a_point_where_the_last_one_is_is_refused():
    points = drawn(on_rim(0.0))
    with pytest.raises(WaypointError, match='waypoint 1 is here already'):
        points.add(on_rim(1e-5))
    assert len(points) == 1


def test_the_number_of_points_is_bounded():
    points = drawn(*(on_rim(0.01 * i) for i in range(MOST_POINTS)))
    with pytest.raises(WaypointError, match=f'{MOST_POINTS} waypoints at most'):
        points.add(on_rim(-1.0))


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
        until(lambda: tab.done == ['execute'], what='an execution')


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
    tab.form._step.value, tab.form._speed.value = -5.0, math.nan  # as a page may send them
    assert (tab.form.settings.max_step, tab.form.settings.speed) == (pytest.approx(1e-4), 0.0)
