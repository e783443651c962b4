"""Buttons that are held: the dead man's switch, and the tab on a served page."""

import threading
from types import SimpleNamespace

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('control_msgs', reason='control_msgs is needed for its types')
pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from support.harness import until
from support.page.client import page_socket, serving
from support.ros.servers import panda_arm

from ik_service.extras.viewer.teleop import (
    CommandRepeater,
    GRACE,
    HandForm,
    HandMotion,
    HeldMotion,
    HOLD_RATE,
    JOGS,
    NUDGE,
    read_units,
    RELEASE,
    SpeedUnits,
    Teleop,
    TWISTS,
)

UP, DOWN = HandMotion('base', (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)), HandMotion(joint='elbow', speed=0.2)
ME, OTHER = 1, 2


class Switch:
    """A dead man's switch with a clock that the test turns."""

    def __init__(self):
        self.now = 100.0
        self.held = HeldMotion(lambda: self.now)
        self.held.allow('')

    def after(self, seconds):
        self.now += seconds
        return self.held.current


@pytest.fixture
def switch():
    return Switch()


def test_nothing_moves_before_it_is_allowed():
    held = HeldMotion()
    assert held.press(ME, UP) == 'there is no IK node'
    assert held.click(ME, UP)
    assert held.current is None


def test_it_moves_while_the_button_is_held_and_stops_when_the_page_falls_silent(switch):
    for _ in range(20):
        assert not switch.held.press(ME, UP)
        assert switch.after(0.1) == UP
    assert switch.after(GRACE - 0.11) == UP
    assert switch.after(0.02) is None


def test_the_release_of_a_button_that_was_held_stops_at_once(switch):
    switch.held.press(ME, UP)
    switch.after(NUDGE)
    switch.held.press(ME, UP)
    assert not switch.held.click(ME, UP)
    assert switch.after(0.0) is None


@pytest.mark.parametrize('is_held', [True, False])  # by the mouse, or the keyboard
def test_one_click_is_one_short_motion(switch, is_held):
    if is_held:
        switch.held.press(ME, UP)
    switch.held.click(ME, UP)
    assert switch.after(NUDGE - 0.01) == UP
    assert switch.after(0.02) is None


def test_a_page_moves_the_arm_alone(switch):
    switch.held.press(ME, UP)
    assert switch.held.press(OTHER, DOWN) == 'another page moves the arm'
    assert switch.held.click(OTHER, DOWN) == 'another page moves the arm'
    switch.held.leave(OTHER)
    assert switch.held.current == UP
    switch.held.leave(ME)
    assert switch.held.current is None
    assert not switch.held.press(OTHER, DOWN)


def test_after_a_stop_a_button_moves_nothing_until_it_was_released(switch):
    switch.held.press(ME, UP)
    switch.held.stop()
    for late in (0.1, 0.1, RELEASE - 0.1, 0.1):
        assert switch.after(late) is None
        assert 'release' in switch.held.press(ME, UP)
    switch.after(RELEASE)
    assert not switch.held.press(ME, UP)


def test_a_button_that_was_held_while_motion_was_forbidden_moves_nothing_afterwards(switch):
    switch.held.press(ME, UP)
    switch.held.allow('it goes along a path')
    assert switch.held.current is None
    assert switch.held.press(ME, UP) == 'it goes along a path'
    switch.held.allow('')
    assert switch.held.press(ME, UP)
    assert switch.after(0.0) is None


class Publisher:
    """Keeps the commands, and lets the test wait for one."""

    def __init__(self):
        self.commands, self._news = [], threading.Condition()

    def __call__(self, motion):
        with self._news:
            self.commands.append(motion)
            self._news.notify_all()

    def wait_for(self, motion):
        with self._news:
            assert self._news.wait_for(lambda: motion in self.commands, 30.0)


@pytest.mark.parametrize('how', ['released', 'stopped'])
def test_commands_are_repeated_and_a_release_is_told(switch, how):
    publisher = Publisher()
    repeater = CommandRepeater(switch.held, publisher)
    switch.held.press(ME, UP)
    publisher.wait_for(UP)
    if how == 'released':
        switch.after(10.0)
        publisher.wait_for(UP.rest)
    else:
        switch.held.stop()
    repeater.close()
    assert set(publisher.commands) == ({UP, UP.rest} if how == 'released' else {UP})
    assert (publisher.commands[-1] == UP.rest) == (how == 'released')
    switch.held.press(ME, UP)
    assert not repeater._thread.is_alive()


def test_unitless_commands_are_shares_of_the_largest_speed():
    units = SpeedUnits()
    assert units.axis_motion(1, -0.2, 'base') == HandMotion(
        'base', (0.0, -0.2, 0.0, 0.0, 0.0, 0.0)
    )
    assert units.joint_motion('elbow', 0.5) == HandMotion(joint='elbow', speed=0.5)


def test_a_node_that_takes_speeds_gets_speeds():
    values = {'command_in_type': 'speed_units', 'scale.linear': 0.1, 'scale.rotational': 2.0}
    units = read_units(values, SpeedUnits())
    assert units.axis_motion(0, 0.5, 'tip').twist[0] == pytest.approx(0.05)
    assert units.axis_motion(5, -0.5, 'tip').twist[5] == pytest.approx(-1.0)
    assert units.joint_motion('elbow', 0.5).speed == pytest.approx(0.25)  # as before: 0.5 rad/s
    assert read_units({'command_in_type': 'unitless'}, units).joint_motion('e', 0.5).speed == 0.5
    assert read_units({'other': 1}, units) == units


SLOW = 30.0


class Scene:
    """A served page with the tab, and a node that keeps the commands."""

    def __init__(self, client):
        self.client, self.sent, self.absent = client, [], ()
        self.now = 100.0  # the time stands still unless the test turns it
        self.chain = panda_arm().chain
        gui = client.served.server.gui
        link = SimpleNamespace(
            publish=self.sent.append,
            missing=lambda: self.absent,
            subscribe=lambda on_status: setattr(self, 'tell', on_status),
        )
        self.forms = []

        def make_form(*actions):
            self.forms.append(HandForm(gui, gui.add_tab_group().add_tab('hand'), *actions))
            return self.forms[-1]

        self.teleop = Teleop(make_form, link, lambda: self.now)
        self.teleop.show(self.chain)
        self.step()

        @client.served.server.on_client_disconnect
        async def _(page):
            self.teleop.leave(page.client_id)

    @property
    def form(self):
        return self.forms[0]

    def step(self, is_connected=True, is_busy=False):
        self.teleop.step(is_connected, is_busy)
        self.teleop.draw()

    def axis(self, i):
        return self.form._axis_buttons[i]

    def is_moving(self):
        return self.teleop._held.current is not None


@pytest.fixture
def scene():
    with serving() as client:
        made = Scene(client)
        yield made
        made.teleop.close()


@pytest.mark.parametrize(('typed', 'share'), [(0, 0.01), (-5, 0.01), (10**9, 1.0)])
def test_a_speed_beyond_the_ends_of_its_slider_counts_as_the_end(scene, typed, share):
    scene.form._speed.value = typed
    assert scene.form.share == share


def test_a_button_of_the_page_moves_the_arm_until_it_is_released(scene):
    with page_socket(scene.client.served) as page:
        page.hold(scene.axis(1), HOLD_RATE)
        until(lambda: scene.sent, SLOW, 'a command')
        scene.now += NUDGE
        assert scene.is_moving()
        page.click(scene.axis(1))
        until(lambda: not scene.is_moving(), SLOW, 'the end')
        until(lambda: scene.sent[-1] == scene.sent[0].rest, SLOW, 'a command to rest')
    first = scene.sent[0]
    assert first.frame == scene.chain.base_link
    assert first.twist == (scene.form.share, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize('origin', ['http://evil.example', 'null', 'http://127.0.0.1:1'])
def test_a_page_that_gets_no_websocket_moves_nothing(scene, origin):
    with page_socket(scene.client.served, origin) as page:
        assert page is None
    assert not scene.is_moving()
    assert not scene.sent


def test_a_lost_page_ends_its_motion_and_no_other(scene):
    served = scene.client.served
    with page_socket(served) as mine, page_socket(served) as other:
        mine.hold(scene.axis(0), HOLD_RATE)
        until(scene.is_moving, SLOW)
        other.hold(scene.axis(1), HOLD_RATE)
        until(lambda: scene.teleop._refusal, SLOW, 'a refusal')
        other.close()
        until(lambda: len(served.server.get_clients()) == 1, SLOW, 'one page')
        assert scene.is_moving()
        mine.close()
        until(lambda: not scene.is_moving(), SLOW, 'the end')


def test_joints_and_the_axes_of_the_tool_can_be_moved(scene):
    scene.form._frame.value = 'tool'
    with page_socket(scene.client.served) as page:
        page.click(scene.axis(10))
        until(lambda: scene.sent, SLOW)
        assert scene.sent[0].frame == scene.chain.tip_link
        assert scene.sent[0].twist[5] == -scene.form.share
        scene.now += NUDGE
        page.click(scene.form._joint_buttons[3])
        until(lambda: scene.sent[-1].joint == scene.chain.joint_names[1], SLOW)


@pytest.mark.parametrize(
    ('state', 'why'),
    [
        ({'is_connected': False}, 'no IK node'),
        ({'is_busy': True}, 'goes along a path'),
        ({'absent': (TWISTS, JOGS)}, 'no node listens to delta_twist_cmds and delta_joint_cmds'),
    ],
)
def test_a_button_does_nothing_where_the_page_says_why(scene, state, why):
    scene.absent = state.pop('absent', ())
    scene.step()
    with page_socket(scene.client.served) as page:
        page.hold(scene.axis(0), HOLD_RATE)
        if not scene.absent:
            until(scene.is_moving, SLOW)
        scene.step(**state)
        assert not scene.is_moving()
        page.hold(scene.axis(0), HOLD_RATE)  # a page may send what its disabled button cannot
        until(lambda: scene.teleop._refusal, SLOW, 'a refusal')
    scene.step(**state)
    assert not scene.is_moving()
    assert why in scene.form._text.content
    assert scene.axis(0).disabled


def test_warnings_of_the_node_are_shown(scene):
    scene.tell(1, 'close to a singularity')
    scene.step()
    assert 'close to a singularity' in scene.form._text.content
    scene.tell(0, 'fine')
    scene.step()
    assert 'fine' not in scene.form._text.content
