"""Refusals of values of the wrong type, with the valid form."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.parameter import Parameter
import yaml

from ik_service.ros.parameters.parameter_services import wrong_type

DOUBLE, DOUBLES = Parameter.Type.DOUBLE, Parameter.Type.DOUBLE_ARRAY


@pytest.mark.parametrize(
    ('wanted', 'given', 'written'),
    [
        (DOUBLE, '1e-4', '1.0e-4'),
        (DOUBLE, '-2E5', '-2.0e+5'),
        (DOUBLE, '1.25e3', '1.25e+3'),
        (DOUBLE, '5', '5.0'),
        (DOUBLES, '[1, 1, 0]', '[1.0, 1.0, 0.0]'),
        (Parameter.Type.STRING, '0', '"\'0\'"'),
    ],
)
def test_the_suggested_form_is_read_as_the_right_type(wanted, given, written):
    reason = wrong_type(wanted, yaml.safe_load(given))
    assert reason.endswith(f'; write {written}')
    # The shell takes the outer quotes away.
    assert Parameter('x', value=yaml.safe_load(written.strip('"'))).type_ is wanted


@pytest.mark.parametrize('value', ['fast', True, None, [], ['a'], 'x' * 10_000])
def test_without_a_valid_form_none_is_suggested(value):
    reason = wrong_type(DOUBLE, value)
    assert reason.startswith('wrong type: has to be a number with a decimal point, not ')
    assert 'write' not in reason
    assert len(reason) < 400
