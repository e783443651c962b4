import threading

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('control_msgs', reason='control_msgs is needed for its types')

from ik_service.extras.viewer.teleop.servo_link import HandMotion
from ik_service.extras.viewer.teleop.teleop import CommandRepeater, GRACE, HeldMotion, NUDGE

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
    for _ in range(30):
        assert switch.after(0.1) is None
        assert 'release' in switch.held.press(ME, UP)
    switch.after(GRACE)
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
