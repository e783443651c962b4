"""The tab of the reach on a served page, without a browser: maps, and places of ik_place."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('zarr', reason="zarr comes with the extra 'scale'")

from support.harness import raise_it, until
from support.page.client import serving
from support.reach_maps import one_joint_map, one_joint_urdf

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.panel.panel import Actions, Panel
from ik_service.extras.viewer.reach import MOST_PLACES, Placements, Reach, read_places
from ik_service.extras.viewer.reach_map import Cut, Fineness, FINENESSES
from ik_service.extras.viewer.robot_display import PageTarget
from ik_service.robot import Robot

SLOW = 120.0  # of a thread that reads a file [s]


class Page:
    """The tab, the arm that is shown, and the clouds that were sent to the page."""

    def __init__(self, server):
        self.log, self.clouds, self.now = [], [], 0.0
        self.tasks, self.target = TaskQueue(raise_it), PageTarget()
        self.T_root_base = np.eye(4)
        self.display = SimpleNamespace(
            root_from_base=lambda: self.T_root_base, tip_pose=lambda: np.eye(4)
        )
        add = server.scene.add_point_cloud

        def remember(*arguments, **named):
            self.clouds.append(add(*arguments, **named))
            return self.clouds[-1]

        server.scene.add_point_cloud = remember
        self.server = server
        self.panel = Panel(server, Actions(*[lambda *_: None] * 10))

    def open(self, path='', makes=False):
        self.reach = Reach(self.server, self.panel, self.tasks, self.log.append, str(path), makes)
        self.form = self.reach._form
        self.opened_cut = self.form._cut.value
        self.form._cut.value = Cut.NONE.value
        return self

    def show(self, urdf=None):
        self.reach.show(Robot.from_urdf(urdf or one_joint_urdf()).chain('base', 'tip'))
        return self

    def step(self):
        self.tasks.run_pending()
        self.now += 1.0
        self.reach.draw(self.now, self.display, self.target)

    def wait_for(self, text):
        def is_there():
            self.step()
            return text in self.form._text.content

        until(is_there, SLOW, text)
        return self

    def change(self, **values):
        for name, value in values.items():
            getattr(self.form, f'_{name}').value = value
        self.reach.change()
        self.step()

    @property
    def root(self):
        """The frame that the cloud is in."""
        return self.reach._root

    @property
    def cloud(self):
        """The cloud that is seen; None without one."""
        clouds = [cloud for cloud in self.clouds if not cloud._impl.removed]
        return clouds[-1] if clouds else None


@pytest.fixture
def page(server):
    return Page(server)


@pytest.fixture
def path(tmp_path):
    one_joint_map().save(tmp_path / 'mine.zarr')
    return tmp_path / 'mine.zarr'


def test_the_map_is_drawn_where_the_base_is_and_follows_the_controls(page, path):
    page.open(path).show().wait_for('125 positions, 100 mm apart, from base to tip')
    assert len(page.cloud.points) == 125
    page.T_root_base = np.diag([-1.0, -1.0, 1.0, 1.0])
    page.T_root_base[:3, 3] = 1.0, 2.0, 3.0
    page.step()
    assert tuple(page.root.position) == (1.0, 2.0, 3.0)
    assert np.abs(page.root.wxyz) == pytest.approx([0.0, 0.0, 0.0, 1.0])
    page.change(least=75.0, size=7.0)
    assert len(page.cloud.points) == 60
    assert page.cloud.point_size == pytest.approx(0.007)
    assert tuple(page.root.position) == (1.0, 2.0, 3.0)
    quantities = page.form._quantities
    for spacing in (2e-4, 1.2e-3, 15.0, 0.15848679, 0.1):
        page.form.offer(quantities, page.cloud.points, spacing)
        assert page.form.point_size == pytest.approx(0.2 * spacing, rel=0.05)
        size = page.form._size
        assert size.min < size.value < size.max
        assert size.max / size.step == pytest.approx(round(size.max / size.step), abs=1e-6)
    page.change(color='manipulability')
    assert page.form._least.label == 'At least'
    assert page.form._least.max == pytest.approx(0.2)
    assert len(page.cloud.points) == 125
    assert '0.200' in page.form._key.content
    page.change(cut='layer at z', offset=0.1)
    assert page.form._offset.visible
    assert page.cloud.points[:, 2] == pytest.approx(0.1, abs=1e-6)
    page.change(show=False)
    assert page.cloud is None
    assert not page.log


def test_the_place_of_the_gizmo_is_told_as_it_moves(page, path):
    page.open(path).show().wait_for('positions')
    assert 'manipulability 0.000' in page.form._here.content
    T = np.eye(4)
    T[0, 3] = 0.2
    page.target.set(T)
    page.step()
    assert 'orientations reached 50 %, manipulability 0.200' in page.form._here.content


def test_the_map_of_another_arm_is_not_drawn_and_comes_back_with_its_own(page, path):
    page.open(path).wait_for('no robot is shown yet')
    page.show(one_joint_urdf(height=0.7)).wait_for(
        'the same joint positions put its tip elsewhere'
    )
    assert page.cloud is None
    assert not page.form._color.visible
    assert len(page.log) == 1
    page.show().wait_for('125 positions')
    assert page.cloud is not None
    page.show(one_joint_urdf(lower=-0.5)).wait_for('other joint limits')
    assert page.cloud is None


def test_a_file_that_cannot_be_read_costs_nothing_but_a_sentence(page, path, tmp_path):
    page.open().show().wait_for('No map of the reach')
    for wrong, complaint in (
        (tmp_path / '<b>.zarr', '&lt;b&gt;.zarr: there is no such file'),
        (path / 'zarr.json', 'no capability map but a file'),
        (tmp_path, 'no capability map'),
    ):
        page.reach.load(str(wrong))
        page.wait_for(complaint)
    for chunk in (path / 'positions' / 'c').rglob('*'):
        if chunk.is_file():
            chunk.write_bytes(chunk.read_bytes()[:20])
    page.reach.load(str(path))
    page.wait_for('The map is not shown')
    assert page.cloud is None
    one_joint_map().save(tmp_path / 'good.zarr')
    page.reach.load(f' {tmp_path}/good.zarr ')
    page.wait_for('good.zarr</b>')
    assert page.cloud is not None
    page.reach.load('')
    page.wait_for('No map of the reach')
    assert page.cloud is None


def test_what_was_asked_for_last_counts(page, path, tmp_path):
    page.open(path).show().wait_for('mine.zarr</b>')
    page.reach.load(str(tmp_path / 'missing'))
    page.reach.load(str(path))
    page.wait_for('mine.zarr</b>')
    assert not page.log


def test_a_map_is_made_at_the_first_look_and_another_one_from_the_page(page, monkeypatch):
    monkeypatch.setitem(FINENESSES, 'coarse', Fineness(5, 2))
    page.open(makes=True).show().wait_for('the map of this arm</b>')
    assert page.cloud is None or not len(page.cloud.points)  # nobody has asked for it
    page.change(show=True)
    assert len(page.cloud.points) > 0
    assert not page.form._progress.visible
    page.reach.make('coarse')
    page.reach.load('')  # drops it
    page.wait_for('No map of the reach')
    page.reach.make('coarse')
    page.wait_for('the map of this arm</b>')
    page.step()
    assert page.form.is_shown
    assert len(page.cloud.points) > 0
    assert not page.log


def test_another_arm_ends_the_making_of_a_map(page, monkeypatch):
    monkeypatch.setitem(FINENESSES, 'coarse', Fineness(5, 2))
    page.open(makes=True).show().step()
    page.show(one_joint_urdf(height=0.7)).wait_for('the map of this arm</b>')  # of the other one
    page.reach.make('coarse')
    page.show().wait_for('No map of the reach')
    assert not page.form._progress.visible
    assert not page.log


def test_a_map_opens_cut_towards_the_camera(page, path):
    page.open(path)
    page.form._cut.value = page.opened_cut
    page.show().wait_for('125 positions')
    assert len(page.cloud.points) == 75


def transform(*position):
    T = np.eye(4)
    T[:3, 3] = position
    return T.tolist()


def write_places(folder, **changes):
    content = {
        'robot': {'base_link': 'base', 'tip_link': 'tip'},
        'poses': {
            'file': 'poses.csv',
            'T_world_tip': [transform(0.5, 0, 1), transform(0, 0.5, 1)],
        },
        'places': [
            {'T_world_base': transform(0.1, 0, 0), 'share': 1.0},
            {'T_world_base': transform(0.2, 0, 0), 'share': 0.5},
        ],
    }
    path = folder / 'places.json'
    path.write_text(json.dumps({**content, **changes}))
    return path


def test_the_best_places_are_read(tmp_path):
    found = read_places(write_places(tmp_path))
    assert found.ends == ('base', 'tip')
    assert found.T_world_base[:, 0, 3].tolist() == [0.1, 0.2]
    assert found.shares.tolist() == [1.0, 0.5]
    assert found.T_world_tip.shape == (2, 4, 4)
    many = [{'T_world_base': transform(0, 0, 0), 'share': 0.5}] * 100
    assert len(read_places(write_places(tmp_path, places=many)).shares) == MOST_PLACES


@pytest.mark.parametrize(
    'changes',
    [
        {'places': []},
        {'places': {}},
        {'places': None},
        {'robot': 3},
        {'poses': {}},
        {'poses': {'T_world_tip': []}},
        {'places': [{'T_world_base': transform(0, 0, 0), 'share': 'all'}]},
        {'places': [{'T_world_base': transform(0, 0, 0), 'share': 3.0}]},
        {'places': [{'T_world_base': transform(np.nan, 0, 0), 'share': 0.5}]},
        {'places': [{'T_world_base': np.ones((4, 4)).tolist(), 'share': 0.5}]},
        {'places': [{'T_world_base': [[1.0]], 'share': 0.5}]},
    ],
)
def test_a_file_with_other_content_is_refused(tmp_path, changes):
    with pytest.raises(ArgumentError, match=r'places\.json.*is no file of ik_place'):
        read_places(write_places(tmp_path, **changes))


@pytest.mark.parametrize('text', ['', '{', '[]', '[' * 100_000, '\xff'])
def test_a_damaged_file_is_refused(tmp_path, text):
    path = tmp_path / 'places.json'
    path.write_bytes(text.encode('latin-1'))
    with pytest.raises(ArgumentError, match=r'places\.json.*is no file of ik_place'):
        read_places(path)
    path.write_text('{"robot": 1}')
    with pytest.raises(ArgumentError, match='has to be JSON with robot, places and poses'):
        read_places(path)


def test_places_are_frames_and_those_of_another_arm_are_not_shown(tmp_path):
    path = write_places(tmp_path)
    with serving() as client:
        server, tasks = client.served.server, TaskQueue(raise_it)
        tab = server.gui.add_tab_group().add_tab('reach')
        placements = Placements(server, tab, tasks)
        axes = []
        add = server.scene.add_batched_axes

        def remember(*arguments, **named):
            axes.append(add(*arguments, **named))
            return axes[-1]

        server.scene.add_batched_axes = remember

        def wait_for(text):
            def is_there():
                tasks.run_pending()
                return placements._text.visible and text in placements._text.content

            until(is_there, SLOW, text)

        placements.show(Robot.from_urdf(one_joint_urdf()).chain('base', 'tip'))
        placements.load(str(path))
        wait_for('the best one reaches 100 % of 2 poses')
        poses, bases = axes
        assert bases.batched_positions[:, 0].tolist() == pytest.approx([0.1, 0.2])
        assert len(poses.batched_positions) == 2
        placements.show(
            Robot.from_urdf(one_joint_urdf().replace('"tip"', '"nose"')).chain('base', 'nose')
        )
        wait_for('for another arm: from base to tip, and here from base to nose')
        assert bases._impl.removed
        placements.load(str(tmp_path / 'missing.json'))
        wait_for('cannot be read')
        placements.load('')
        assert not placements._text.visible
