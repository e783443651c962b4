"""The page end to end: node, simulated arm and viewer as processes, and a headless Chromium."""

import re
import signal

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.page.browser import browser, changed_pixels, disc, pixels, project, View
from support.reach_maps import one_joint_map

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('control_msgs', reason='control_msgs is needed for its types')
pytest.importorskip('zarr', reason="zarr comes with the extra 'scale'")

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from support.harness import Bench, START_TIMEOUT, until

import ik_service as iks
from ik_service.extras.scale import ChainSpec
from ik_service.extras.viewer.panel.widgets import HOLD_TIME
from ik_service.ros.common.conversions import pose_from_matrix

pytestmark = [pytest.mark.browser, pytest.mark.dds, pytest.mark.slow]
URDF = str(REPOSITORY / 'urdf' / 'panda.urdf')
BASE, TIP = 'panda_link0', 'panda_hand_tcp'
VIEWER = 'ik_service.extras.viewer.main'
START = {
    'panda_joint2': -0.785,
    'panda_joint4': -2.356,
    'panda_joint6': 1.571,
    'panda_joint7': 0.785,
}
SLOW = 300.0  # for what is drawn without a graphics card, or has to be compiled before [s]
SPEED = 1.0  # the arm's, as a share of what its joints can


class Scenario:
    """The programs, and the page of a viewer that was there first."""

    def __init__(self, bench, chromium):
        self.bench = bench
        self.chain = iks.Robot.from_urdf(URDF).chain(BASE, TIP)
        # Few pictures, so that those of a machine without a graphics card keep up.
        viewer = bench.start(VIEWER, ready=None, port=0, rate=10.0)
        for solver in ('levenberg_marquardt', 'pseudoinverse'):  # not in the node, under the clock
            iks.Solver(self.chain, solver).warm_up()
        viewer.wait_for(r'ready: http\S+', START_TIMEOUT)
        self.address = re.search(r'http\S+', viewer.output)[0]
        self.view = View(chromium, self.address)
        self.page = self.view.page
        self.view.wait_for('Waiting for an IK node')
        self.view.close_notices()
        self.node = self.start_node()
        self.view.wait_for('No joint states')
        self.empty = self.view.shot('viewer-empty')
        initial = ', '.join(f'{name}={value}' for name, value in START.items())
        bench.start('ik_service.ros.sim.main', urdf=URDF, initial_positions=initial)
        self.states = bench.record(JointState, 'joint_states')
        self.targets = bench.publisher(PoseStamped, 'target_pose')
        self.view.wait_for('Connected to')

    def start_node(self):
        told = {'urdf': URDF, 'base_link': BASE, 'tip_link': TIP, 'velocity_scaling': SPEED}
        return self.bench.start('ik_service.ros.node.main', **told)

    def joints(self):
        """The measured positions (n,) of the chain's joints."""
        message = self.states.next()
        positions = dict(zip(message.name, message.position, strict=True))
        return np.array([positions[name] for name in self.chain.joint_names])

    def tip(self):
        """The measured pose of the tip (4, 4)."""
        return self.chain.forward(self.joints())

    def is_at_rest(self):
        return max(abs(speed) for speed in self.states.next().velocity) < 1e-3

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

    def parameter(self, name):
        return self.bench.get_parameters('ik_service', name)[0]


@pytest.fixture(scope='module')
def chromium():
    with browser() as running:
        yield running


@pytest.fixture(scope='module')
def scenario(ros_context, tmp_path_factory, chromium):
    bench = Bench(ros_context, tmp_path_factory.mktemp('viewer'))
    try:
        yield Scenario(bench, chromium)
    finally:
        bench.close()


def test_the_map_of_the_parameter_is_seen_until_it_is_hidden(bench, chromium, tmp_path):
    """Of a viewer without a node; before the scenario, whose page would make it slow."""
    places = [(x, y, z) for x in (-0.3, 0.0) for y in (-0.15, 0.15) for z in (0.8, 1.1)]
    points, ends = np.array(places), {'base_link': BASE, 'tip_link': TIP}
    # Half of the orientations on the one side, and all on the other.
    reached = np.column_stack([np.full(8, True), points[:, 1] > 0.0])
    path = tmp_path / 'reach.zarr'
    one_joint_map(spec=ChainSpec.of(URDF, **ends), positions=points, reached=reached).save(path)
    viewer = bench.start(VIEWER, ready=None, port=0, urdf=URDF, reach=str(path), **ends)
    view = View(chromium, viewer.wait_for(r'ready: (http\S+)', START_TIMEOUT)[1])
    view.close_notices()
    view.page.get_by_role('tab', name='Reach').click()

    def until_yellow(condition, what):
        until(lambda: condition(pixels(view.shot('viewer-reach'), 'yellow')), SLOW, what)

    view.wait_for('8 positions, 300 mm apart', SLOW)
    until_yellow(lambda count: count > 100, 'the positions')
    view.page.get_by_label('Show the map').click()
    until_yellow(lambda count: count < 10, 'none')
    view.page.get_by_label('Show the map').click()
    until_yellow(lambda count: count > 100, 'the positions again')
    assert not view.errors
    view.page.close()


def seen(scenario, points):
    """Where points (k, 3) in the frame of the base are seen: (k, 2) [px]."""
    from ik_service.extras.viewer.scene import scene as page_scene

    first_joint = scenario.chain.arrays.reach[:3]
    look_at, eye = page_scene.camera_placement(size(scenario), first_joint)
    return project(points, eye, look_at, page_scene.FIELD_OF_VIEW, scenario.view.canvas()[2:])


def size(scenario):
    return float(scenario.chain.arrays.reach[3])


def gizmo_arrow(scenario, axis):
    """Where the middle of a gizmo's arrow is seen, and where it points to there [px]."""
    T = scenario.tip()
    ends = [T[:3, 3] + share * 0.22 * size(scenario) * T[:3, axis] for share in (0.92, 1.5)]
    head, end = seen(scenario, np.array(ends))
    return head, end - head


def share_at(scenario, color, position, radius=0.06):
    """Share of the pixels of a colour where a ball [m] would be seen if nothing were before it."""
    center, beside = seen(scenario, position + np.array([[0.0] * 3, [0.0, 0.0, radius]]))
    seen_there = disc(
        scenario.view.shot('viewer-objects'), center, np.linalg.norm(beside - center)
    )
    return pixels(seen_there, color) / len(seen_there)


def test_the_arm_is_seen(scenario):
    shot = scenario.view.shot('viewer-arm')
    assert changed_pixels(scenario.empty, shot) > 0.02 * shot.shape[0] * shot.shape[1]
    assert not scenario.view.errors


def test_dragging_the_gizmo_moves_the_arm(scenario):
    before, picture = scenario.tip(), scenario.view.shot('viewer-before-drag')
    start, along = gizmo_arrow(scenario, axis=0)
    scenario.view.drag(start, start + along)
    moved = until(lambda: np.linalg.norm((scenario.tip() - before)[:3, 3]) > 0.03, SLOW, 'a move')
    assert moved
    scenario.view.wait_for('target reached', SLOW)
    scenario.view.wait_for(r'^\d+ iterations$', SLOW)
    scenario.view.wait_for(r'^\d+ search(es)?, [\d.]+ (µ|m)s$', SLOW)
    way = (scenario.tip() - before)[:3, 3]
    assert abs(way @ before[:3, 0]) > 0.95 * np.linalg.norm(way)  # along the arrow that was drawn
    assert changed_pixels(picture, scenario.view.shot('viewer-after-drag')) > 1000


def test_choosing_a_solver_sets_the_parameter_of_the_node(scenario):
    assert scenario.parameter('solver.name') == 'levenberg_marquardt'
    page = scenario.view.page
    page.get_by_role('textbox', name='Solver').or_(page.get_by_label('Solver')).first.click()
    option = page.get_by_role('option', name='pseudoinverse')
    option.wait_for()
    # As if it had much to compile; late, since a node that is silent for long can be told nothing.
    scenario.node.send(signal.SIGSTOP)
    option.click()
    scenario.view.wait_for('The IK node is busy', SLOW)
    scenario.node.send(signal.SIGCONT)
    scenario.view.wait_for('Connected to', SLOW)
    until(lambda: scenario.parameter('solver.name') == 'pseudoinverse', SLOW)


def test_the_reason_of_a_refused_value_is_shown(scenario):
    page = scenario.view.page
    page.get_by_role('tab', name='Options').click()
    # The page does not tie this label to its field.
    field = page.locator("xpath=//label[.='timeout [s]']/following::input[1]")
    field.fill('0.25')
    field.press('Enter')
    until(lambda: scenario.parameter('solver.timeout') == 0.25, SLOW)
    notice = page.get_by_text('timeout: has to be a number')

    def is_explained():
        # Once more, if need be: what is typed while an answer comes gives way to that.
        field.fill('long')
        field.press('Enter')
        page.wait_for_timeout(1000)
        return notice.count() > 0

    until(is_explained, SLOW, 'the explanation')
    assert scenario.parameter('solver.timeout') == 0.25


def test_the_buttons_move_the_arm(scenario):
    page = scenario.view.page
    before = scenario.tip()
    page.get_by_text('Random pose', exact=True).click()
    until(lambda: np.linalg.norm((scenario.tip() - before)[:3, 3]) > 0.05, SLOW, 'a move')
    page.get_by_text('Stop', exact=True).click()
    until(scenario.is_at_rest, SLOW, 'rest')
    page.get_by_text('Home', exact=True).click()
    until(lambda: np.allclose(scenario.joints(), ready(scenario), atol=2e-3), SLOW, 'home')


def ready(scenario):
    """Positions (n,) of the chain's joints in the state of that name."""
    return scenario.chain.joint_vector(scenario.chain.robot.group_states('panda_arm')['ready'])


def test_a_named_state_moves_the_joints_to_it_and_can_be_chosen_again(scenario):
    menu = scenario.view.page.get_by_label('Named state').first
    wanted = {'ready': ready(scenario), 'home (mid-range)': scenario.chain.mid_range()}

    def is_there(name):
        return np.allclose(scenario.joints(), wanted[name], atol=2e-3)

    def choose(name):
        menu.click()
        scenario.view.page.get_by_role('option', name=name).click()

    for name in ('ready', 'home (mid-range)', 'ready'):
        choose(name)
        until(lambda name=name: menu.input_value() == name, SLOW, name)
        until(lambda name=name: is_there(name), SLOW, f'the posture {name}')
        assert menu.input_value() == name
    scenario.view.page.get_by_text('Random pose', exact=True).click()
    until(lambda: menu.input_value() == '–', SLOW, 'another target')
    until(lambda: not is_there('ready'), SLOW, 'a move')
    choose('ready')
    until(lambda: is_there('ready'), SLOW, 'the posture again')


def test_a_slider_moves_its_joint(scenario):
    page = scenario.view.page
    until(scenario.is_at_rest, SLOW, 'rest')
    page.wait_for_timeout(1e3 * (HOLD_TIME + 1.0))  # for so long they hold the state chosen above
    q = scenario.joints() + np.radians([20.0, *[0.0] * 6])
    page.get_by_role('tab', name='Joints').click()
    number = page.locator(
        "xpath=//label[.='panda_joint1 [°]']/following::input[@inputmode='decimal'][1]"
    )
    number.fill(f'{np.degrees(q[0]):.1f}')
    number.press('Enter')
    until(lambda: np.allclose(scenario.joints(), q, atol=2e-3), SLOW, 'the position of the slider')


def test_objects_are_seen_and_what_collides_is_red_and_named(scenario):
    pytest.importorskip('coal', reason="Coal comes with the extra 'collision'")
    from moveit_msgs.msg import CollisionObject
    from shape_msgs.msg import SolidPrimitive

    until(scenario.is_at_rest, SLOW, 'rest')
    page = scenario.view.page
    page.get_by_role('tab', name='View').click()
    at_tip, aside = scenario.tip()[:3, 3], np.array([0.0, -0.6, 0.3])
    ball = CollisionObject(id='ball', pose=pose_from_matrix(scenario.tip()))
    ball.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.12])]
    objects = scenario.bench.publisher(CollisionObject, 'collision_object')

    def see(color, where, what):
        until(lambda: share_at(scenario, color, where) > 0.5, SLOW, what)

    def see_no_ball():
        until(lambda: share_at(scenario, 'sandy', aside) < 0.1, SLOW, 'no ball')

    see_no_ball()
    objects.publish(ball)
    see('red', at_tip, 'a red ball')
    text = page.get_by_text('collision: panda_hand with ball')
    assert text.count() == 1
    ball.operation = CollisionObject.MOVE
    ball.pose.position.x, ball.pose.position.y, ball.pose.position.z = aside.tolist()
    objects.publish(ball)
    see('sandy', aside, 'a ball aside')
    until(lambda: text.count() == 0, SLOW, 'no collision')
    page.get_by_label('Objects').set_checked(False)
    see_no_ball()
    page.get_by_label('Objects').set_checked(True)
    see('sandy', aside, 'the ball again')
    ball.operation = CollisionObject.REMOVE
    objects.publish(ball)
    until(lambda: page.get_by_label('Objects').count() == 0, SLOW, 'no switch')
    see_no_ball()


def test_a_path_of_two_points_is_drawn_previewed_and_executed(scenario):
    first = scenario.chain.forward(ready(scenario))
    scenario.go(first)
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


def test_a_node_that_was_killed_is_reported_and_reconnected(scenario):
    scenario.node.kill()
    scenario.view.wait_for('The IK node is gone', SLOW)
    scenario.view.shot('viewer-node-gone')
    assert scenario.view.page.get_by_label('Position only').is_disabled()
    scenario.node = scenario.start_node()
    scenario.view.wait_for('Connected to', SLOW)
    until(lambda: not scenario.view.page.get_by_label('Position only').is_disabled(), SLOW)
    solver = scenario.view.page.get_by_label('Solver').first
    until(lambda: solver.input_value() == 'levenberg_marquardt', SLOW)  # what it started with
    assert not scenario.view.errors
