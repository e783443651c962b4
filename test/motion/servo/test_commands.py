"""Commands for servoing: units, and what cannot be."""

import numpy as np
import pytest
from support.motion.rigs import panda, SPEED_UNITS, ur5e

from ik_service.exceptions import ArgumentError, OptionError
from ik_service.motion.servo.commands import (
    joint_command,
    pose_command,
    ServoSettings,
    twist_command,
)

UNITLESS = ServoSettings(linear=0.4, rotational=0.8, joint=0.5)


def test_a_unitless_twist_is_a_share_of_the_scales_and_one_in_speed_units_a_speed():
    twist = np.array([0.5, 0.0, -1.0, 0.0, 1.0, 0.0])
    command, note = twist_command(twist, UNITLESS)
    np.testing.assert_allclose(command.twist, [0.2, 0.0, -0.4, 0.0, 0.8, 0.0])
    assert not note
    np.testing.assert_array_equal(twist_command(twist, SPEED_UNITS)[0].twist, twist)


def test_beyond_one_a_unitless_command_keeps_its_direction_and_is_brought_to_one():
    command, note = twist_command(np.array([0.0, 3.0, -1.5, 0.0, 0.0, 0.0]), UNITLESS)
    np.testing.assert_allclose(command.twist, [0.0, 0.4, -0.2, 0.0, 0.0, 0.0])
    assert "'linear.y' is 3" in note


@pytest.mark.parametrize('value', ['fast', None, 1j])
def test_a_joint_velocity_that_is_no_number_is_refused_by_name(value):
    with pytest.raises(ArgumentError, match='velocities: has to be'):
        joint_command({'panda_joint1': value}, UNITLESS, panda())


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e6])
def test_numbers_that_can_be_no_speed_are_refused_by_name(value):
    twist = np.zeros(6)
    twist[4] = value
    for settings in (UNITLESS, SPEED_UNITS):
        with pytest.raises(ArgumentError, match=r'angular\.y'):
            twist_command(twist, settings)
        with pytest.raises(ArgumentError, match='panda_joint3'):
            joint_command({'panda_joint3': value}, settings, panda())
    T = np.eye(4)
    T[1, 3] = np.nan
    with pytest.raises(ArgumentError, match='pose'):
        pose_command(T, UNITLESS)


def test_joints_that_are_not_named_rest_and_unknown_ones_are_named():
    command, _ = joint_command({'elbow_joint': -1.0}, UNITLESS, ur5e())
    np.testing.assert_array_equal(command.velocity, [0.0, 0.0, -0.5, 0.0, 0.0, 0.0])
    with pytest.raises(ArgumentError, match=r"'elbow' is none of .*shoulder_pan_joint"):
        joint_command({'elbow': 1.0}, UNITLESS, ur5e())


@pytest.mark.parametrize(
    ('settings', 'named'),
    [
        ({'linear': 0.0}, 'linear'),
        ({'timeout': np.nan}, 'timeout'),
        ({'margins': ()}, 'joint_limit_margins'),
        ({'margins': (-0.1,)}, 'joint_limit_margins'),
        ({'lower_threshold': 30.0}, 'hard_stop_singularity_threshold'),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(settings, named):
    with pytest.raises(OptionError) as caught:
        ServoSettings(**settings)
    assert caught.value.option == named


def test_margins_are_one_or_one_for_each_joint_and_leave_room_between_them():
    chain = panda()
    assert (ServoSettings().margins_of(chain) == 0.1).all()
    wide = ServoSettings(margins=(10.0,)).margins_of(chain)
    np.testing.assert_allclose(wide, 0.25 * (chain.upper - chain.lower))
    with pytest.raises(OptionError, match='2 numbers; there have to be one, or 7'):
        ServoSettings(margins=(0.1, 0.2)).margins_of(chain)
