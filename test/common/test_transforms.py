"""Transforms: round trips and singular angles; and surfaces of cones and capsules."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import rotation

from ik_service.common.quaternions import (
    normalized_quaternion,
    quaternion_wxyz_from_rotation,
    quaternion_xyzw_from_rotation,
    rotation_from_quaternion_xyzw,
)
from ik_service.common.transforms import (
    inverse_transform,
    rigid_transform,
    rotation_about_axis,
    rotation_from_rpy,
    rotation_from_z_to,
    rpy_from_rotation,
    transform_from_xyz_rpy,
)
from ik_service.drawing.revolved_surface import capsule_surface, cone_surface

SEEDED = settings(deadline=None, derandomize=True)
QUATERNIONS = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(
    lambda q: math.hypot(*q) > 1e-3
)  # fmt: skip
AXES = st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(
    lambda v: math.hypot(*v) > 1e-3
)  # fmt: skip
# Half and whole turns, and what lies next to them, as often as all the rest.
NEAR = st.builds(
    lambda turns, power, sign: turns * math.pi + sign * 10.0**power,
    st.integers(-2, 2),
    st.floats(-18, -3),
    st.sampled_from([-1, 0, 1]),
)
ANGLES = st.one_of(NEAR, st.floats(-7, 7))
POSITIONS = st.lists(st.floats(-10, 10), min_size=3, max_size=3)


def unit(values):
    return np.array(values) / math.hypot(*values)


def assert_rotation(R):
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=5e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)


@SEEDED
@given(ANGLES, ANGLES, ANGLES)
def test_rpy_turns_about_fixed_x_then_y_then_z(roll, pitch, yaw):
    expected = rotation([0, 0, 1], yaw) @ rotation([0, 1, 0], pitch) @ rotation([1, 0, 0], roll)
    np.testing.assert_allclose(rotation_from_rpy(roll, pitch, yaw), expected, atol=2e-15)


@SEEDED
@given(ANGLES, ANGLES, ANGLES)
def test_rpy_round_trip_keeps_the_rotation(roll, pitch, yaw):
    R = rotation_from_rpy(roll, pitch, yaw)
    np.testing.assert_allclose(rotation_from_rpy(*rpy_from_rotation(R)), R, atol=3e-9)


@SEEDED
@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1))
def test_rpy_round_trip_keeps_the_angles_away_from_gimbal_lock(roll, pitch, yaw):
    back = rpy_from_rotation(rotation_from_rpy(roll, pitch, yaw))
    np.testing.assert_allclose(back, (roll, pitch, yaw), atol=1e-13)


@pytest.mark.parametrize('pitch', [np.pi / 2, -np.pi / 2])
def test_yaw_is_zero_in_gimbal_lock(pitch):
    R = rotation_from_rpy(0.3, pitch, 0.5)
    assert rpy_from_rotation(R)[2] == 0.0
    np.testing.assert_allclose(rotation_from_rpy(*rpy_from_rotation(R)), R, atol=1e-15)


@SEEDED
@given(AXES, ANGLES)
def test_rotation_about_axis(axis, angle):
    R = rotation_about_axis(unit(axis), angle)
    assert_rotation(R)
    np.testing.assert_allclose(R @ unit(axis), unit(axis), atol=5e-15)
    np.testing.assert_allclose(R, rotation(axis, angle), atol=5e-15)


@SEEDED
@given(AXES, NEAR)
def test_quaternion_round_trip_near_whole_and_half_turns(axis, angle):
    R = rotation_about_axis(unit(axis), angle)
    x, y, z, w = quaternion_xyzw_from_rotation(R)
    assert w >= 0.0
    assert math.hypot(x, y, z, w) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(rotation_from_quaternion_xyzw(x, y, z, w), R, atol=5e-15)


@SEEDED
@given(QUATERNIONS)
def test_quaternion_round_trip(quaternion):
    q = unit(quaternion)
    R = rotation_from_quaternion_xyzw(*q)
    assert_rotation(R)
    back = quaternion_xyzw_from_rotation(R)
    assert abs(back @ q) == pytest.approx(1.0, abs=1e-14)  # q and −q are the same rotation
    assert back[3] >= 0.0


@SEEDED
@given(AXES, ANGLES)
def test_quaternion_components_are_in_the_order_xyzw(axis, angle):
    q = (*(math.sin(angle / 2) * unit(axis)), math.cos(angle / 2))
    expected = rotation(axis, angle)
    np.testing.assert_allclose(rotation_from_quaternion_xyzw(*q), expected, atol=5e-15)


@SEEDED
@given(AXES, ANGLES)
def test_wxyz_is_xyzw_with_the_scalar_part_first(axis, angle):
    R = rotation(axis, angle)
    x, y, z, w = quaternion_xyzw_from_rotation(R)
    assert quaternion_wxyz_from_rotation(R) == (w, x, y, z)


def test_rotations_of_many_quaternions():
    rng = np.random.default_rng(2)
    quaternions = rng.normal(size=(50, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    many = rotation_from_quaternion_xyzw(*quaternions.T)
    assert many.shape == (50, 3, 3)
    for R, q in zip(many, quaternions, strict=True):
        np.testing.assert_array_equal(R, rotation_from_quaternion_xyzw(*q))


@SEEDED
@given(QUATERNIONS, st.floats(-300, 300))
def test_quaternions_of_any_length_are_normalized(quaternion, power):
    scale = 10.0**power
    q, norm = normalized_quaternion([scale * value for value in quaternion])
    np.testing.assert_allclose(q, unit(quaternion), atol=1e-15)
    assert norm == pytest.approx(scale * math.hypot(*quaternion), rel=1e-14)


def test_the_zero_quaternion_has_norm_zero():
    assert normalized_quaternion((0.0, 0.0, 0.0, 0.0)) == ((0.0, 0.0, 0.0, 0.0), 0.0)


@SEEDED
@given(AXES)
def test_rotation_from_z_to_an_axis_is_the_smallest(axis):
    axis = unit(axis)
    R = rotation_from_z_to(axis)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-12)
    # Its angle is that between z and the axis: trace = 1 + 2 cos.
    assert np.trace(R) == pytest.approx(1.0 + 2.0 * axis[2], abs=1e-12)


@pytest.mark.parametrize('tilt', [0.0, 1e-300, 1e-13, 1e-11, 1e-6])
def test_rotation_from_z_to_nearly_the_opposite(tilt):
    axis = np.array([0.6 * tilt, 0.8 * tilt, -math.sqrt(1.0 - tilt * tilt)])
    R = rotation_from_z_to(axis)
    assert_rotation(R)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-12)


@SEEDED
@given(POSITIONS, AXES, ANGLES)
def test_inverse_transform(position, axis, angle):
    T = rigid_transform(rotation_about_axis(unit(axis), angle), position)
    np.testing.assert_allclose(inverse_transform(T) @ T, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(inverse_transform(T), np.linalg.inv(T), atol=1e-12)


def test_rigid_transform_parts_are_optional():
    np.testing.assert_array_equal(rigid_transform(), np.eye(4))
    T = rigid_transform(position=(1.0, 2.0, 3.0))
    np.testing.assert_array_equal(T[:3], [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3]])


def test_transform_of_a_urdf_origin():
    T = transform_from_xyz_rpy((1.0, 2.0, 3.0), (0.2, -0.4, 0.7))
    np.testing.assert_array_equal(T[:3, :3], rotation_from_rpy(0.2, -0.4, 0.7))
    np.testing.assert_array_equal(T[:, 3], [1.0, 2.0, 3.0, 1.0])


SOLIDS = [
    (cone_surface(0.5, 2.0), math.pi * 0.5**2 * 2.0 / 3.0, (1.0, 1.0, 2.0)),
    (capsule_surface(0.5, 2.0), math.pi * 0.5**2 * (2.0 + 4.0 / 3.0 * 0.5), (1.0, 1.0, 3.0)),
    (capsule_surface(0.1, 0.01), math.pi * 0.1**2 * (0.01 + 4.0 / 3.0 * 0.1), (0.2, 0.2, 0.21)),
]


@pytest.mark.parametrize(('surface', 'volume', 'size'), SOLIDS)
def test_a_surface_is_closed_and_faces_outwards(surface, volume, size):
    vertices, triangles = surface
    edges = {(t[i], t[(i + 1) % 3]) for t in triangles.tolist() for i in range(3)}
    assert len(edges) == 3 * len(triangles)
    assert all((end, start) in edges for start, end in edges)
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    assert np.einsum('ij,ij->', a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=0.04)
    np.testing.assert_allclose(np.ptp(vertices, axis=0), size, atol=1e-12)
    assert set(triangles.flat) == set(range(len(vertices)))
