"""Transforms, and the tree of frames."""

import math
import threading
import time

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import rotation

from ik_service.common import transform_tree
from ik_service.common.quaternions import (
    normalized_quaternion,
    quaternion_wxyz_from_rotation,
    quaternion_xyzw_from_rotation,
    rotation_from_quaternion_xyzw,
)
from ik_service.common.transform_tree import TransformTree
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
from ik_service.exceptions import ArgumentError, NoTransformError

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
def test_rpy_turns_about_fixed_x_then_y_then_z_and_is_found_again(roll, pitch, yaw):
    expected = rotation([0, 0, 1], yaw) @ rotation([0, 1, 0], pitch) @ rotation([1, 0, 0], roll)
    R = rotation_from_rpy(roll, pitch, yaw)
    np.testing.assert_allclose(R, expected, atol=2e-15)
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
@given(AXES, ANGLES)
def test_quaternions_are_those_of_rotations(axis, angle):
    """In the order xyzw, and in the other one with the scalar part first."""
    expected = rotation(axis, angle)
    q = (*(math.sin(angle / 2) * unit(axis)), math.cos(angle / 2))
    np.testing.assert_allclose(rotation_from_quaternion_xyzw(*q), expected, atol=5e-15)
    R = rotation_about_axis(unit(axis), angle)
    x, y, z, w = back = quaternion_xyzw_from_rotation(R)
    assert w >= 0.0
    assert math.hypot(*back) == pytest.approx(1.0, abs=1e-15)
    assert abs(np.dot(back, q)) == pytest.approx(1.0, abs=1e-14)  # −q is the same rotation
    np.testing.assert_allclose(rotation_from_quaternion_xyzw(*back), R, atol=5e-15)
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


STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
SECOND = 1_000_000_000


def random_pose(rng):
    R = rotation_from_rpy(*rng.uniform(-3, 3, 3))
    p = rng.uniform(-1, 1, 3)
    return (*p.tolist(), *quaternion_xyzw_from_rotation(R)), rigid_transform(R, p)


def shifted(x):
    return (x, *STILL[1:])


def test_ways_up_down_and_across():
    rng = np.random.default_rng(1)
    tree = TransformTree()
    T = {'root': np.eye(4)}
    for parent, child in [('root', 'a'), ('a', 'b'), ('b', 'c'), ('root', 'x'), ('x', 'y')]:
        pose, T_parent_child = random_pose(rng)
        T[child] = T[parent] @ T_parent_child
        tree.set_static(parent, child, pose)
    for target in T:
        for source in T:
            found, stamp = tree.look_up(target, source)
            np.testing.assert_allclose(found, inverse_transform(T[target]) @ T[source], atol=1e-14)
            assert stamp is None


def test_the_stamp_is_that_of_the_oldest_transform_on_the_way():
    tree = TransformTree()
    tree.set_moving('map', 'odom', STILL, 3 * SECOND, 5 * SECOND)
    tree.set_moving('odom', 'base', STILL, 5 * SECOND, 5 * SECOND)
    tree.set_static('base', 'camera', STILL)
    tree.set_moving('map', 'other', STILL, SECOND, 5 * SECOND)
    assert tree.look_up('base', 'map')[1] == 3 * SECOND
    assert tree.look_up('camera', 'odom')[1] == 5 * SECOND
    assert tree.look_up('camera', 'base')[1] is None
    assert tree.look_up('camera', 'camera')[1] is None


def test_only_newer_transforms_count_and_equal_ones():
    tree = TransformTree()
    for stamp, x in [(4 * SECOND, 1.0), (3 * SECOND, 2.0), (4 * SECOND, 3.0)]:
        tree.set_moving('map', 'base', shifted(x), stamp, 5 * SECOND)
    T, stamp = tree.look_up('map', 'base')
    assert (T[0, 3], stamp) == (3.0, 4 * SECOND)


def test_a_clock_that_was_set_back_is_followed():
    tree = TransformTree()
    tree.set_moving('map', 'base', shifted(1.0), 1000 * SECOND, 1000 * SECOND)
    tree.set_moving('map', 'base', shifted(2.0), SECOND, 2 * SECOND)
    assert tree.look_up('map', 'base')[0][0, 3] == 2.0


@pytest.mark.parametrize('stamp', [0, 1000 * SECOND])
def test_a_transform_without_a_stamp_or_from_the_future_counts_from_its_arrival(stamp):
    tree = TransformTree()
    tree.set_moving('map', 'base', STILL, stamp, 7 * SECOND)
    assert tree.look_up('map', 'base')[1] == 7 * SECOND


def test_frames_change_their_parents_and_kinds():
    tree = TransformTree()
    tree.set_static('map', 'box', shifted(1.0))
    tree.set_static('map', 'hand', shifted(5.0))
    tree.set_moving('hand', 'box', shifted(0.1), SECOND, SECOND)
    assert tree.look_up('map', 'box')[0][0, 3] == 5.1
    tree.set_static('map', 'box', shifted(2.0))
    assert tree.look_up('map', 'box')[0][0, 3] == 2.0


def test_circles_are_told_and_can_be_broken():
    tree = TransformTree()
    for parent, child in [('a', 'b'), ('b', 'c'), ('c', 'a')]:
        tree.set_static(parent, child, STILL)
    with pytest.raises(NoTransformError, match='circle'):
        tree.look_up('a', 'b')
    tree.set_static('map', 'a', STILL)
    tree.look_up('map', 'c')


def test_unknown_and_unconnected_frames_are_named():
    tree = TransformTree()
    tree.set_static('a', 'b', STILL)
    tree.set_static('x', 'y', STILL)
    with pytest.raises(NoTransformError, match="no transform names 'moon'"):
        tree.look_up('b', 'moon')
    with pytest.raises(NoTransformError, match="nothing connects 'y' with 'b'"):
        tree.look_up('b', 'y')


def test_leading_slashes_are_left_out():
    tree = TransformTree()
    tree.set_static('/map', '/base', STILL)
    tree.look_up('map', 'base')


@pytest.mark.parametrize(
    ('parent', 'child', 'pose'),
    [
        ('map', 'base', (math.nan, *STILL[1:])),
        ('map', 'base', (*STILL[:6], math.inf)),
        ('map', 'base', (*STILL[:6], 0.0)),
        ('map', 'base', (*STILL[:6], 1.02)),
        ('map', 'map', STILL),
        ('map', '/map', STILL),
        ('', 'base', STILL),
        ('map', '/', STILL),
        ('map', 'x' * 1001, STILL),
    ],
)
def test_bad_transforms_are_refused(parent, child, pose):
    tree = TransformTree()
    with pytest.raises(ArgumentError):
        tree.set_static(parent, child, pose)
    with pytest.raises(ArgumentError):
        tree.set_moving(parent, child, pose, SECOND, SECOND)
    assert not tree.knows(child)


def test_nearly_unit_quaternions_are_normalised():
    tree = TransformTree()
    tree.set_static('a', 'b', (0.0, 0.0, 0.0, 0.6 * 1.009, 0.0, 0.0, 0.8 * 1.009))
    R = tree.look_up('a', 'b')[0][:3, :3]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)


def test_the_number_of_frames_is_bounded(monkeypatch):
    monkeypatch.setattr(transform_tree, 'MOST_FRAMES', 10)
    tree = TransformTree()
    for i in range(11):
        tree.set_moving('map', f'f{i}', STILL, SECOND, SECOND)
        tree.set_moving('map', 'base', STILL, SECOND + i, SECOND)  # has news, so it stays
    assert not tree.knows('f0')
    assert not tree.knows('f1')
    assert all(tree.knows(frame) for frame in ('f10', 'f5', 'base'))
    for i in range(10):
        tree.set_static('map', f's{i}', STILL)
    with pytest.raises(ArgumentError, match='kept already'):
        tree.set_static('map', 's10', STILL)
    tree.set_static('map', 's9', shifted(1.0))


def test_a_long_way_is_found():
    tree = TransformTree()
    for i in range(2000):
        tree.set_static(f'f{i}', f'f{i + 1}', shifted(0.001))
    assert tree.look_up('f0', 'f1000')[0][0, 3] == pytest.approx(1.0)
    with pytest.raises(NoTransformError, match='more than 1000 frames'):
        tree.look_up('f0', 'f2000')


def test_frames_that_no_transform_names_any_more_are_forgotten():
    tree = TransformTree()
    for parent in ('a', 'b', 'c'):
        tree.set_static(parent, 'box', STILL)
    assert [tree.knows(frame) for frame in ('a', 'b', 'c', 'box')] == [False, False, True, True]
    tree.set_moving('d', 'box', STILL, SECOND, SECOND)
    assert not tree.knows('c')


def test_a_failure_takes_no_longer_with_many_frames():
    tree = TransformTree()
    for i in range(transform_tree.MOST_FRAMES - 1):
        tree.set_static('map', f'f{i}', STILL)
    tree.set_static('robot', 'hand', STILL)
    began = time.thread_time()
    for _ in range(1000):
        with pytest.raises(NoTransformError):
            tree.look_up('hand', 'f7')
    assert time.thread_time() - began < 0.5


def test_looking_up_while_frames_change():
    tree = TransformTree()
    tree.set_static('map', 'hand', shifted(1.0))
    ended = threading.Event()

    def change():
        for i in range(20_000):
            tree.set_moving('map' if i % 2 else 'hand', 'box', STILL, SECOND + i, SECOND + i)
        ended.set()

    thread = threading.Thread(target=change)
    tree.set_moving('hand', 'box', STILL, SECOND, SECOND)
    thread.start()
    while not ended.is_set():
        assert tree.look_up('map', 'box')[0][0, 3] in (0.0, 1.0)
    thread.join()
