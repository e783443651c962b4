"""Keys and joystick as motions: what is held, for how long, and how fast."""

from argparse import ArgumentTypeError

import pytest

from ik_service.cli.teleop.keys import AXES, Keys, SPEEDS
from ik_service.cli.teleop.main import Joystick, parse_axes


def test_a_key_counts_while_it_repeats_and_no_longer():
    keys = Keys(0.5)
    keys.press('w', 0.0)
    assert keys.motion(0.05).twist == (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert keys.motion(0.3) is None, 'the keyboard has not repeated it yet'
    for at in (0.5, 0.53, 0.56):
        keys.press('w', at)
    assert keys.motion(0.65) is not None
    assert keys.motion(0.75) is None


def test_every_key_of_an_axis_has_one_for_the_way_back():
    axes = list(AXES.values())
    assert sorted(axes) == [-6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6]


def test_joints_go_forwards_and_backwards():
    keys = Keys(1.0)
    keys.press('3', 0.0)
    motion = keys.motion(0.0)
    assert (motion.joint, motion.speed) == (2, 1.0)
    keys.press('v', 0.1)
    assert keys.motion(0.1) is None, 'another direction needs another press'
    keys.press('3', 0.2)
    assert keys.motion(0.2).speed == -1.0


def test_space_and_every_other_key_stop_and_speeds_have_ends():
    keys = Keys(0.2)
    keys.press('w', 0.0)
    assert keys.press(' ', 0.01)
    assert keys.motion(0.02) is None
    assert not keys.press('x', 0.03)
    for _ in range(20):
        keys.press('+', 0.1)
    assert keys.speed == SPEEDS[-1] == 1.0
    for _ in range(20):
        keys.press('-', 0.1)
    assert keys.speed == SPEEDS[0] > 0.0


@pytest.fixture
def joystick():
    return Joystick(parse_axes('x=1,y=-0,yaw=2'), deadman=1)


def test_a_joystick_moves_the_arm_only_with_its_button_held(joystick):
    assert 'joy_node' in joystick.fault
    joystick.take([-1.0, 1.0, 0.5], [0, 0], 0.0)
    assert joystick.motion(0.0, 0.5) is None
    joystick.take([-1.0, 1.0, 0.05], [0, 1], 0.0)
    assert joystick.motion(0.1, 0.5).twist == (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert joystick.motion(1.0, 0.5) is None, 'it has fallen silent'
    assert not joystick.fault


def test_a_joystick_without_the_axes_or_the_button_is_said(joystick):
    joystick.take([0.0], [0, 1], 0.0)
    assert 'there is no number 2' in joystick.fault
    assert joystick.motion(0.0, 0.5) is None
    joystick.take([0.0, 0.0, float('nan')], [1], 0.0)
    assert '1 buttons' in joystick.fault


def test_a_deflection_that_is_no_number_counts_as_none(joystick):
    joystick.take([float('nan'), float('inf'), 9.0], [0, 1], 0.0)
    assert joystick.motion(0.0, 0.5).twist == (0.0, 0.0, 0.0, 0.0, 0.0, 0.5)


@pytest.mark.parametrize('text', ['w=1', 'x', 'x=one', 'x=1;y=2', ''])
def test_axes_that_cannot_be_are_named(text):
    with pytest.raises(ArgumentTypeError):
        parse_axes(text)
