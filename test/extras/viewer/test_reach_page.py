"""Tab of the reach, end to end: a viewer without a node, and a headless Chromium."""

from __future__ import annotations

from pathlib import Path
import re

import numpy as np
import pytest
from support.page.browser import browser, View, yellow_pixels
from support.reach_maps import write_reach

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.harness import Bench, START_TIMEOUT, until

pytestmark = [pytest.mark.browser, pytest.mark.dds, pytest.mark.slow]
URDF = str(Path(__file__).parents[3] / 'urdf' / 'panda.urdf')
BASE, TIP = 'panda_link0', 'panda_hand_tcp'
SLOW = 120.0  # for what is drawn without a graphics card, or has to be compiled before [s]
POINTS = np.array([[x, y, z] for x in (-0.3, 0.0) for y in (-0.3, 0.3) for z in (0.8, 1.1)])


@pytest.fixture(scope='module')
def view(ros_context, tmp_path_factory):
    folder = tmp_path_factory.mktemp('reach')
    bench = Bench(ros_context, folder)
    content = {'points': POINTS, 'spacing': np.full(3, 0.3), 'base_link': BASE}
    # Half of the orientations on the one side, and all on the other.
    content['reachable'] = np.where(POINTS[:, 1] < 0.0, 0.5, 1.0)
    path = write_reach(folder, tip_link=TIP, **content)
    told = {'port': 0, 'urdf': URDF, 'base_link': BASE, 'tip_link': TIP, 'reach': str(path)}
    try:
        with browser() as chromium:
            viewer = bench.start('ik_service.extras.viewer.main', ready=None, **told)
            viewer.wait_for(r'ready: http\S+', START_TIMEOUT)
            found = View(chromium, re.search(r'http\S+', viewer.output)[0])
            found.close_notices()
            found.page.get_by_role('tab', name='Reach').click()
            yield found
    finally:
        bench.close()


def until_yellow(view, condition, what):
    until(lambda: condition(yellow_pixels(view.shot('viewer-reach'))), SLOW, what)


def test_the_map_of_the_parameter_is_seen_until_it_is_hidden(view):
    view.wait_for('8 positions, 300 mm apart', SLOW)
    until_yellow(view, lambda count: count > 100, 'the positions')
    view.page.get_by_label('Show the map').click()
    until_yellow(view, lambda count: count < 10, 'none')
    view.page.get_by_label('Show the map').click()
    until_yellow(view, lambda count: count > 100, 'the positions again')
    assert not view.errors
