import numpy as np
import pytest
from support.chains import rotation

from ik_service.cli.solve.pose import (
    quaternion_of,
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_of,
)
from ik_service.exceptions import ArgumentError


def test_roll_pitch_yaw_turn_about_fixed_axes_in_this_order():
    expected = rotation([0, 0, 1], 0.7) @ rotation([0, 1, 0], -0.4) @ rotation([1, 0, 0], 0.2)
    np.testing.assert_allclose(rotation_from_rpy(0.2, -0.4, 0.7), expected, atol=1e-15)


def test_roll_pitch_yaw_come_back():
    rng = np.random.default_rng(1)
    for angles in rng.uniform([-3.1, -1.5, -3.1], [3.1, 1.5, 3.1], (100, 3)):
        np.testing.assert_allclose(rpy_of(rotation_from_rpy(*angles)), angles, atol=1e-12)


@pytest.mark.parametrize('pitch', [np.pi / 2, -np.pi / 2])
def test_the_rotation_comes_back_where_roll_and_yaw_cannot_be_told_apart(pitch):
    R = rotation_from_rpy(0.3, pitch, 0.5)
    *_, yaw = rpy_of(R)
    assert yaw == 0.0
    np.testing.assert_allclose(rotation_from_rpy(*rpy_of(R)), R, atol=1e-12)


def test_a_quaternion_is_x_y_z_w():
    angle, axis = 1.1, np.array([0.6, 0.0, 0.8])
    quaternion = [*(np.sin(angle / 2) * axis), np.cos(angle / 2)]
    np.testing.assert_allclose(
        rotation_from_quaternion(quaternion, 'q'), rotation(axis, angle), atol=1e-15
    )


def test_quaternions_come_back_with_w_not_negative():
    rng = np.random.default_rng(2)
    for quaternion in [*rng.normal(size=(200, 4)), *np.eye(4), [1, 1e-9, 0, 0], [1, 1, 1, 0]]:
        unit = quaternion / np.linalg.norm(quaternion)
        back = quaternion_of(rotation_from_quaternion(unit, 'q'))
        assert back[3] >= 0.0
        # q and −q are the same rotation.
        assert abs(back @ unit) == pytest.approx(1.0, abs=1e-12)


def test_a_quaternion_that_is_nearly_a_unit_one_is_normalised():
    R = rotation_from_quaternion([0.0, 0.0, 0.709, 0.709], 'q')
    np.testing.assert_allclose(R, rotation([0, 0, 1], np.pi / 2), atol=1e-12)


@pytest.mark.parametrize(
    ('quaternion', 'message'),
    [
        ([0.0, 0.0, 0.0, 0.0], 'is the zero quaternion'),
        ([1.0, 1.0, 0.0, 0.0], 'has the norm 1.41421, but a rotation has 1: 0.707107 0.707107'),
        ([1e-200, 0.0, 0.0, 0.0], 'but a rotation has 1: 1 0 0 0'),
    ],
)
def test_what_is_no_rotation_is_refused(quaternion, message):
    with pytest.raises(ArgumentError, match=message):
        rotation_from_quaternion(quaternion, '--quaternion')
