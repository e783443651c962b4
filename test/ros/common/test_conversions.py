"""Conversion of poses to matrices, and refusal of invalid ones."""

import math

from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Vector3
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from ik_service.ros.common.conversions import (
    matrix_from_pose,
    matrix_from_transform,
    pose_from_matrix,
)
from ik_service.ros.requests.errors import ErrorCode, RequestError

UNIT = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(
    lambda q: math.hypot(*q) > 1e-3
)  # fmt: skip


def pose(position=(0.0, 0.0, 0.0), orientation=(0.0, 0.0, 0.0, 1.0)):
    x, y, z, w = (float(value) for value in orientation)
    px, py, pz = (float(value) for value in position)
    return Pose(position=Point(x=px, y=py, z=pz), orientation=Quaternion(x=x, y=y, z=z, w=w))


def components(quaternion):
    return np.array([quaternion.x, quaternion.y, quaternion.z, quaternion.w])


def test_quarter_turn_about_z_takes_x_to_y():
    T = matrix_from_pose(pose((1, 2, 3), (0, 0, math.sqrt(0.5), math.sqrt(0.5))))
    expected = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    np.testing.assert_allclose(T, expected, atol=1e-15)


@given(UNIT)
def test_round_trip_keeps_the_rotation(quaternion):
    q = np.array(quaternion) / math.hypot(*quaternion)
    T = matrix_from_pose(pose((1, -2, 3), q))
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)
    back = pose_from_matrix(T)
    assert abs(components(back.orientation) @ q) == pytest.approx(1.0, abs=1e-14)
    assert back.orientation.w >= 0.0
    assert (back.position.x, back.position.y, back.position.z) == (1.0, -2.0, 3.0)


@pytest.mark.parametrize('axis', range(3))
def test_half_turns_survive_the_round_trip(axis):
    q = np.zeros(4)
    q[axis] = 1.0
    back = components(pose_from_matrix(matrix_from_pose(pose(orientation=q))).orientation)
    np.testing.assert_allclose(np.abs(back), q, atol=1e-15)


@pytest.mark.parametrize('norm', [0.991, 1.009, 0.5, 1.02, 1e-200, 1e200, 1e-310, 1.7e308])
def test_quaternions_of_any_length_are_normalised(norm):
    T = matrix_from_pose(pose(orientation=(0.6 * norm, 0, 0, 0.8 * norm)))
    expected = matrix_from_pose(pose(orientation=(0.6, 0, 0, 0.8)))
    np.testing.assert_allclose(T, expected, atol=1e-13)


@pytest.mark.parametrize(
    ('bad', 'words'),
    [
        (pose((math.nan, 0, 0)), ['goal.position.x', 'nan']),
        (pose((0, math.inf, 0)), ['goal.position.y', 'inf']),
        (pose((math.inf, -math.inf, 0)), ['goal.position.x', 'inf']),
        (pose(orientation=(0, 0, math.nan, 1)), ['goal.orientation.z', 'nan']),
        (pose(orientation=(0, 0, 0, 0)), ['goal.orientation', 'zero']),
    ],
)
def test_bad_poses_are_refused_by_field(bad, words):
    with pytest.raises(RequestError) as caught:
        matrix_from_pose(bad, 'goal')
    assert caught.value.code is ErrorCode.INVALID_GOAL_CONSTRAINTS
    for word in words:
        assert word in str(caught.value)


def test_transforms_are_converted_like_poses():
    transform = Transform(translation=Vector3(x=1.0), rotation=Quaternion(x=1.0, w=0.0))
    np.testing.assert_allclose(
        matrix_from_transform(transform), np.diag([1.0, -1, -1, 1]) + np.eye(4, k=3), atol=1e-15
    )
