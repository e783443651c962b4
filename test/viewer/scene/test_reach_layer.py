import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.reach_files import POINTS, write_reach

from ik_service.viewer.panel.panel import Actions, Panel
from ik_service.viewer.scene.colormap import viridis
from ik_service.viewer.scene.reach_layer import ReachLayer
from ik_service.viewer.server.page import close, serve


class Page:
    def __init__(self, server):
        self.server = server
        self.panel = Panel(server, Actions(*[lambda *_: None] * 8))
        self.log, self.clouds = [], []
        add = server.scene.add_point_cloud

        def remember(*arguments, **named):
            self.clouds.append(add(*arguments, **named))
            return self.clouds[-1]

        server.scene.add_point_cloud = remember

    def layer(self, path):
        return ReachLayer(self.server, self.panel, str(path), self.log.append)

    @property
    def note(self):
        return self.panel.note.content if self.panel.note.visible else ''

    @property
    def switch(self):
        return self.panel.reach_switch


@pytest.fixture
def page():
    served = serve('127.0.0.1', 0, False)
    yield Page(served.server)
    close(served)


def test_the_cloud_is_shown_in_the_frame_of_the_base_and_can_be_hidden(page, tmp_path):
    layer = page.layer(write_reach(tmp_path))
    layer.draw(np.eye(4))
    assert not page.switch.visible
    layer.set_base_link('base')
    assert page.switch.visible
    assert page.switch.label == 'Reach of tip'
    T = np.diag([-1.0, -1.0, 1.0, 1.0])  # half a turn about z
    T[:3, 3] = 1.0, 2.0, 3.0
    layer.draw(T)
    (cloud,) = page.clouds
    assert cloud.visible
    assert cloud.points == pytest.approx(POINTS)
    assert np.array_equal(cloud.colors, viridis(np.array([0.0, 0.5, 1.0])))
    assert 0.0 < cloud.point_size < 0.1
    assert tuple(cloud.position) == (1.0, 2.0, 3.0)
    assert np.abs(cloud.wxyz) == pytest.approx([0.0, 0.0, 0.0, 1.0])
    page.switch.value = False
    layer.draw(T)
    assert not cloud.visible
    page.switch.value = True
    layer.draw(T)
    assert cloud.visible
    assert (page.log, page.note) == ([], '')


def test_the_cloud_of_another_arm_is_logged_once_and_hidden(page, tmp_path):
    layer = page.layer(write_reach(tmp_path))
    layer.set_base_link('base')
    for _ in range(2):
        layer.set_base_link('pedestal')
        layer.draw(np.eye(4))
        assert not page.clouds[0].visible
        assert not page.switch.visible
        assert 'its base link is base, not pedestal' in page.note
    assert len(page.log) == 1
    assert page.log[0].endswith('its base link is base, not pedestal')
    layer.set_base_link('base')
    layer.draw(np.eye(4))
    assert page.clouds[0].visible
    assert page.note == ''
    assert len(page.clouds) == 1


def test_a_missing_file_is_logged_once(page, tmp_path):
    layer = page.layer(tmp_path / '<b>.npz')
    for _ in range(2):
        layer.set_base_link('base')
        layer.draw(np.eye(4))
    assert len(page.log) == 1
    assert 'not shown' in page.log[0]
    assert 'there is no such file' in page.log[0]
    assert '&lt;b&gt;.npz: there is no such file' in page.note
    assert not page.clouds
    assert not page.switch.visible


def test_without_a_file_nothing_is_logged(page):
    layer = page.layer('')
    layer.set_base_link('base')
    layer.draw(np.eye(4))
    assert (page.log, page.note, page.clouds) == ([], '', [])
    assert not page.switch.visible


def test_a_single_position_can_be_seen(page, tmp_path):
    changes = {'points': POINTS[:1], 'reachable': np.ones(1), 'spacing': np.zeros(3)}
    page.layer(write_reach(tmp_path, **changes)).set_base_link('base')
    assert page.clouds[0].point_size > 0.0
