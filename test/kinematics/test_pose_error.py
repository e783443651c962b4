"""Pose errors: exact from zero to π, and wrong transforms refused."""

import math

from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import rotation, transform

from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import check_transform, frame_of, pose_error

SEEDED = settings(deadline=None, derandomize=True, max_examples=200)
AXES = [
    (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1),
    (1, 1, 0), (0, 1, -1), (1, 1, 1), (-1, 1, 1), (1e-9, 1, 1e-9), (0.3, -0.5, 0.81),
]  # fmt: skip

lengths = st.floats(-10, 10)
vectors = st.tuples(lengths, lengths, lengths)
rotations = st.builds(
    rotation,
    vectors.filter(lambda v: np.linalg.norm(v) > 1e-3),
    st.floats(-math.pi, math.pi),
)


def rotation_error(R):
    return pose_error(np.eye(4), transform(R))[3:]


@pytest.mark.parametrize('axis', AXES)
@pytest.mark.parametrize('angle', [0.0, 1e-300, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 2.0, 3.0])
def test_rotation_vector(axis, angle):
    expected = angle * np.array(axis) / np.linalg.norm(axis)
    np.testing.assert_allclose(rotation_error(rotation(axis, angle)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize('axis', AXES)
@pytest.mark.parametrize('exponent', range(1, 16))
def test_rotation_vector_close_to_pi(axis, exponent):
    angle = math.pi - 10.0**-exponent
    expected = angle * np.array(axis) / np.linalg.norm(axis)
    error = rotation_error(rotation(axis, angle))
    if angle > math.pi - 1e-14:  # the sine is lost in rounding, and the sign of the axis with it
        error *= np.sign(error @ expected)
    np.testing.assert_allclose(error, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize('axis', AXES)
def test_rotation_by_pi_is_about_its_axis_with_either_sign(axis):
    unit = np.array(axis) / np.linalg.norm(axis)
    error = rotation_error(2 * np.outer(unit, unit) - np.eye(3))
    assert np.linalg.norm(error) == pytest.approx(math.pi, abs=1e-15)
    np.testing.assert_allclose(error * np.sign(error @ unit), math.pi * unit, rtol=0, atol=1e-14)


def test_small_rotations_are_relatively_exact():
    rng = np.random.default_rng(0)
    for exponent in range(-15, 0):
        vector = rng.normal(size=3) * 10.0**exponent
        error = rotation_error(rotation(vector, np.linalg.norm(vector)))
        # The matrix itself resolves its elements to about 1e-16.
        np.testing.assert_allclose(error, vector, rtol=1e-14, atol=3e-16)


@SEEDED
@given(rotations, vectors, rotations, vectors)
@example(np.eye(3), (0, 0, 0), np.eye(3), (0, 0, 0))
@example(rotation((1, 2, 3), 1.0), (1, 0, 0), rotation((1, 2, 3), 1.0 - math.pi), (0, 0, 1))
def test_moving_by_the_error_leads_to_the_target(R_tip, p_tip, R_target, p_target):
    tip, target = transform(R_tip, p_tip), transform(R_target, p_target)
    error = pose_error(tip, target)
    angle = np.linalg.norm(error[3:])
    assert angle <= math.pi + 1e-15
    turn = rotation(error[3:], angle) if angle > 0 else np.eye(3)
    reached = transform(turn @ R_tip, p_tip + error[:3])
    np.testing.assert_allclose(reached, target, rtol=0, atol=1e-13)


def test_frame_of_is_the_axes_then_the_origin():
    T = np.arange(16.0).reshape(4, 4)
    assert frame_of(T).tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]


def bad(row, column, value):
    T = np.eye(4)
    T[row, column] = value
    return T


@pytest.mark.parametrize(
    ('T', 'fault'),
    [
        (bad(0, 3, math.nan), 'NaN or infinity'),
        (bad(1, 1, math.inf), 'NaN or infinity'),
        (bad(3, 0, math.nan), 'NaN or infinity'),
        (bad(3, 3, 0.0), 'last row'),
        (bad(3, 1, 1e-3), 'last row'),
        (bad(0, 0, 1.001), 'not rigid'),
        (bad(0, 1, 0.01), 'not rigid'),
        (bad(2, 2, -1.0), 'not rigid'),  # a reflection
        (np.zeros((4, 4)), 'last row'),
        (transform(np.zeros((3, 3))), 'not rigid'),
        (np.eye(3), r'shape \(3, 3\)'),
        (np.zeros(7), r'shape \(7,\)'),
        ('pose', 'numbers'),
        (None, 'numbers|shape'),
        ([[1, 2], [3]], 'numbers'),
    ],
)
def test_wrong_transforms_are_refused(T, fault):
    with pytest.raises(ArgumentError, match=f'^T_base_tip: .*({fault})') as error:
        pose_error(T, np.eye(4))
    assert error.value.argument == 'T_base_tip'
    with pytest.raises(ArgumentError, match=r'^T_base_target: '):
        pose_error(np.eye(4), T)


def test_transforms_are_copied_and_rounding_is_forgiven():
    rounded = np.round(transform(rotation((1, 2, 3), 1.0), (1, 2, 3)), 7)
    checked = check_transform(rounded.astype(np.float32).tolist(), 'T')
    assert checked.dtype == np.float64
    T = np.eye(4)
    checked = check_transform(T, 'T')
    checked[0, 3] = 5.0
    assert T[0, 3] == 0.0
    assert check_transform(np.asfortranarray(T), 'T').flags.c_contiguous
