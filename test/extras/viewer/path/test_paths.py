"""Paths on the page: drawn, previewed and executed."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.page.paths import FakeLink, straight_answer
from support.ros.servers import panda_arm

from ik_service.exceptions import TrajectoryError
from ik_service.extras.viewer.link.path_link import PathAnswer, PathSettings
from ik_service.extras.viewer.link.target import Target
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.path.paths import Paths, Playback
from ik_service.extras.viewer.path.preview import make_preview


def test_it_runs_to_the_end_and_begins_anew_from_there():
    playback = Playback()
    playback.load(2.0)
    playback.toggle(now=10.0)
    playback.step(now=11.5)
    assert (playback.time, playback.is_playing) == (1.5, True)
    playback.step(now=12.5)
    assert (playback.time, playback.is_playing) == (2.0, False)
    playback.toggle(now=20.0)
    assert (playback.time, playback.is_playing) == (0.0, True)


def test_seeking_stops_it_within_the_motion():
    playback = Playback()
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
        self.link, self.tasks, self.target = FakeLink(), TaskQueue(_raise), Target()
        self.form = SimpleNamespace(settings=SETTINGS, show=lambda state: None)
        self.refusals, self.shown, self.ghosts, self.now = [], [], [], 100.0
        motions = SimpleNamespace(go_to_pose=self.target.set, drop=self.target.clear)
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
            motions,
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

    def step(self, seconds=0.0):
        self.now += seconds
        self.tasks.run_pending()
        self.paths.step(self.now)

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


def _raise(error):
    raise error


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
    np.testing.assert_allclose(page.target.take_unpublished(), page.chain.forward(home))
    page.step(1.0)
    assert page.state.is_approaching
    page.q = home.copy()
    page.step(0.1)
    page.step(0.1)
    assert len(page.link.paths) == 1  # not before it rests there
    page.step(0.5)
    page.step()
    assert len(page.link.paths) == 2
    np.testing.assert_array_equal(page.link.paths[1][0], home)
    page.answer(home, home + 0.1)
    assert page.state.can_execute
    assert not page.link.executed  # not without being asked


def test_another_target_ends_the_way_to_the_start(page):
    home = page.q
    page.draw(home, home + 0.1)
    page.preview(home, home + 0.1)
    page.q = home + 0.5
    page.do('go_to_start')
    page.target.set(page.chain.forward(home + 0.3))
    page.step()
    assert not page.state.is_approaching
    page.q = home + 0.2
    page.step(5.0)
    page.step(5.0)
    assert len(page.link.paths) == 1


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
    for wrong in (other, '{}', '[', files[0].replace('"circles": [', '"circles": [1,')):
        page.paths.load(wrong.encode())
        page.step()
    assert len(page.refusals) == 4
    assert 'nose' in page.refusals[0]
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
