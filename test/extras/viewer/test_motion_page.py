"""Tabs of the page that move the arm, end to end: a path, and the buttons that are held."""

from __future__ import annotations

from pathlib import Path
import re

import numpy as np
import pytest
from support.page.browser import browser, View

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('control_msgs', reason='control_msgs is needed for its types')

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from support.harness import Bench, START_TIMEOUT, until

import ik_service as iks
from ik_service.ros.common.conversions import pose_from_matrix

pytestmark = [pytest.mark.browser, pytest.mark.dds, pytest.mark.slow]
URDF = str(Path(__file__).parents[3] / 'urdf' / 'panda.urdf')
BASE, TIP = 'panda_link0', 'panda_hand_tcp'
START = {'panda_joint2': -0.785, 'panda_joint4': -2.356, 'panda_joint6': 1.571}
SLOW = 120.0  # for what is drawn without a graphics card, or has to be compiled before [s]


class Scenario:
    """Node, simulated arm and viewer, and the page."""

    def __init__(self, bench, chromium):
        self.bench = bench
        self.chain = iks.Robot.from_urdf(URDF).chain(BASE, TIP)
        told = {'urdf': URDF, 'base_link': BASE, 'tip_link': TIP}
        bench.start('ik_service.ros.node.main', **told, velocity_scaling=1.0)
        initial = ', '.join(f'{name}={value}' for name, value in START.items())
        bench.start('ik_service.ros.sim.main', urdf=URDF, initial_positions=initial)
        # Few pictures, so that those of a machine without a graphics card keep up.
        viewer = bench.start('ik_service.extras.viewer.main', ready=None, port=0, rate=10.0)
        viewer.wait_for(r'ready: http\S+', START_TIMEOUT)
        self.view = View(chromium, re.search(r'http\S+', viewer.output)[0])
        self.page = self.view.page
        self.view.wait_for('Connected to', SLOW)
        self.view.close_notices()
        self.states = bench.record(JointState, 'joint_states')
        self.targets = bench.publisher(PoseStamped, 'target_pose')

    def joints(self):
        """The measured positions (n,) of the chain's joints."""
        message = self.states.next(SLOW)
        positions = dict(zip(message.name, message.position, strict=True))
        return np.array([positions[name] for name in self.chain.joint_names])

    def tip(self):
        """The measured pose of the tip (4, 4)."""
        return self.chain.forward(self.joints())

    def is_near(self, T):
        return np.allclose(self.tip(), T, atol=3e-3)

    def open(self, tab):
        self.page.get_by_role('tab', name=tab, exact=True).click()

    def press(self, name):
        self.page.get_by_role('button', name=name, exact=True).click()

    def go(self, T):
        """Move the gizmo, and the arm with it, as another program would."""
        target = PoseStamped(pose=pose_from_matrix(T))
        target.header.frame_id = BASE
        self.targets.publish(target)
        until(lambda: self.is_near(T), SLOW, 'the target')


@pytest.fixture(scope='module')
def scenario(ros_context, tmp_path_factory):
    bench = Bench(ros_context, tmp_path_factory.mktemp('motion'))
    try:
        with browser() as chromium:
            yield Scenario(bench, chromium)
    finally:
        bench.close()


def test_a_path_of_two_points_is_drawn_previewed_and_executed(scenario):
    first = scenario.tip()
    second = first.copy()
    second[:3, 3] += (0.05, 0.15, 0.05)
    scenario.open('Path')
    scenario.view.wait_for('Draw a path', SLOW)
    for number, T in enumerate((first, second), start=1):
        scenario.go(T)
        # The page, too, has to have heard where the gizmo is.
        text = 'one more is needed' if number == 1 else '2 waypoints'

        def add(text=text):
            scenario.press('Add waypoint')
            scenario.page.wait_for_timeout(500)
            return text in scenario.view.text()

        until(add, SLOW, text)
    scenario.press('Preview')
    scenario.view.wait_for('not where the path starts', SLOW)
    assert scenario.is_near(second)  # a preview moves nothing
    assert scenario.page.get_by_role('button', name='Execute').is_disabled()
    scenario.press('Go to the start')
    scenario.view.wait_for('Ready to execute', SLOW)
    assert scenario.is_near(first)
    scenario.states.clear()
    scenario.press('Execute')
    scenario.view.wait_for('The arm has gone along the path', SLOW)
    assert scenario.is_near(second)
    names = scenario.chain.joint_names
    tips = []
    for message in scenario.states.messages:
        positions = dict(zip(message.name, message.position, strict=True))
        tips.append(scenario.chain.forward([positions[name] for name in names])[:3, 3])
    way = (second - first)[:3, 3]
    away = np.cross(np.array(tips) - first[:3, 3], way / np.linalg.norm(way))
    assert np.linalg.norm(away, axis=1).max() < 3e-3  # from the straight line
    assert not scenario.view.errors


def test_a_button_moves_the_arm_while_it_is_held(scenario):
    scenario.open('By hand')
    scenario.view.wait_for('the arm moves while a button is held', SLOW)
    button = scenario.page.get_by_role('button', name='+ z', exact=True)
    button.scroll_into_view_if_needed()
    before = scenario.tip()
    box = button.bounding_box()
    scenario.page.mouse.move(box['x'] + box['width'] / 2, box['y'] + box['height'] / 2)
    scenario.page.mouse.down()
    up = until(lambda: (scenario.tip() - before)[2, 3] > 0.02, SLOW, 'a motion upwards')
    assert up
    scenario.page.mouse.up()
    until(lambda: max(map(abs, scenario.states.next().velocity)) < 1e-4, SLOW, 'rest')
    moved = (scenario.tip() - before)[:3, 3]
    assert np.abs(moved[:2]).max() < 0.1 * moved[2]
    assert not scenario.view.errors
