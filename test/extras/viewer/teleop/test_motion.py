import pytest

from ik_service.extras.viewer.teleop.servo_link import HandMotion, read_units, SpeedUnits


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


def test_the_command_for_rest_is_the_same_without_motion():
    rest = SpeedUnits().axis_motion(2, 0.3, 'tip').rest
    assert rest == HandMotion('tip')
    assert SpeedUnits().joint_motion('elbow', 0.3).rest == HandMotion(joint='elbow')
