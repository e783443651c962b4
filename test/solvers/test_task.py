"""Tasks: how far a pose is outside the tolerances, by the definitions; and what is no task."""

import math
import pickle

import numpy as np
import pytest
from support.chains import rotation, transform

import ik_service as iks
from ik_service.exceptions import ArgumentError

X, Y, Z = np.eye(3)
FREE = (math.inf,) * 3


def random_rotation(rng):
    return rotation(rng.normal(size=3), rng.uniform(0, math.pi))


def test_without_tolerances_the_violation_is_the_pose_error():
    rng = np.random.default_rng(0)
    for _ in range(20):
        R, axis, angle = random_rotation(rng), rng.normal(size=3), rng.uniform(0, math.pi)
        target, way = transform(R, rng.normal(size=3)), rng.normal(size=3)
        tip = transform(R @ rotation(axis, angle), target[:3, 3] + way)
        for kind in ('rotation_vector', 'euler_xyz'):
            position, orientation = iks.Task(target, parameterization=kind).violation(tip)
            assert position == pytest.approx(np.linalg.norm(way), abs=1e-12)
            assert orientation == pytest.approx(angle, abs=1e-9)


def test_rotation_vector_has_a_tolerance_for_each_component():
    R = random_rotation(np.random.default_rng(1))
    task = iks.Task(transform(R), orientation_tolerances=(0.1, 0.2, math.inf))
    vector = np.array([0.3, -0.5, 1.9])
    tip = transform(R @ rotation(vector, np.linalg.norm(vector)))
    assert task.violation(tip)[1] == pytest.approx(math.hypot(0.2, 0.3), abs=1e-9)


@pytest.mark.parametrize('second', [False, True], ids=['first triple', 'second triple'])
def test_euler_angles_have_a_tolerance_each(second):
    R = random_rotation(np.random.default_rng(2))
    a, b, c = (math.pi + 0.3, math.pi - 0.2, math.pi + 1.0) if second else (0.3, 0.2, 1.0)
    tip = transform(R @ rotation(X, a) @ rotation(Y, b) @ rotation(Z, c))
    task = iks.Task(
        transform(R), orientation_tolerances=(0.1, 0.05, 0.8), parameterization='euler_xyz'
    )
    expected = np.linalg.norm([0.2, 0.15, 0.2])
    assert task.violation(tip)[1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize('sign', [1, -1])
def test_gimbal_lock_leaves_the_sum_of_two_angles(sign):
    tip = transform(rotation(X, 0.4) @ rotation(Y, sign * math.pi / 2) @ rotation(Z, 0.3))
    tolerances = (0.0, math.inf, math.inf)
    task = iks.Task(np.eye(4), orientation_tolerances=tolerances, parameterization='euler_xyz')
    assert task.violation(tip)[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('tolerance', [math.pi, 4.0, math.inf])
def test_tolerances_of_half_a_turn_leave_an_axis_free(tolerance):
    task = iks.Task(np.eye(4), orientation_tolerances=(0.0, 0.0, tolerance))
    assert task.violation(transform(rotation(Z, math.pi)))[1] == 0.0


def test_point_has_to_be_in_the_region():
    R, R_region = rotation((1, 2, 3), 0.5), rotation((3, 1, 0), 1.2)
    region_pose = transform(R_region, (0.1, 0.2, 0.3))
    task = iks.Task(
        np.eye(4), iks.Box((0.2, math.inf, 0.0)), region_pose, (0.01, 0.02, 0.03), FREE
    )
    local = np.array([0.15, 3.0, -0.02])
    point = region_pose[:3, 3] + R_region @ local
    tip = transform(R, point - R @ task.point)
    position, orientation = task.violation(tip)
    assert position == pytest.approx(math.hypot(0.05, 0.02), abs=1e-12)
    assert orientation == 0.0


WRONG = {
    'target': [np.eye(3), np.full((4, 4), math.nan), 2 * np.eye(4), None],
    'region': ['box', iks.Box],
    'region_pose': [np.zeros((4, 4))],
    'point': [(0.0, 0.0), (0.0, 0.0, math.inf), None],
    'orientation_tolerances': [
        (0.0, 0.0), (0.0, 0.0, -1e-9), (0.0, math.nan, 0.0), 0.1, None,
    ],
    'parameterization': ['euler_zyx', ['rotation_vector']],
}  # fmt: skip


@pytest.mark.parametrize(
    ('field', 'value'), [(field, value) for field in WRONG for value in WRONG[field]]
)
def test_fields_that_cannot_be_are_named(field, value):
    fields = {'target': np.eye(4), 'region': iks.Sphere(0.1), field: value}
    with pytest.raises(ArgumentError, match=rf'^{field}: '):
        iks.Task(**fields)


def test_pose_of_no_region_is_refused():
    with pytest.raises(ArgumentError, match=r'^region_pose: has to come with a region'):
        iks.Task(np.eye(4), region_pose=np.eye(4))


def test_tasks_do_not_change():
    target = np.eye(4)
    task = iks.Task(target)
    target[0, 3] = 9.0
    assert task.target[0, 3] == 0.0
    with pytest.raises(ValueError, match='read-only'):
        task.target[0, 3] = 1.0
    copy = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(copy.block, task.block)


REGIONS = [iks.Box((0.4, 0.2, 0.0)), iks.Sphere(0.3), iks.Cylinder(0.2, 0.6)]


def points_inside(region, rng, count=20_000):
    p = rng.uniform(-0.5, 0.5, (count, 3))
    if isinstance(region, iks.Box):
        return p * region.size
    if isinstance(region, iks.Sphere):
        return p[np.linalg.norm(p, axis=1) <= region.radius]
    return p[(np.hypot(p[:, 0], p[:, 1]) <= region.radius) & (abs(p[:, 2]) <= region.height / 2)]


@pytest.mark.parametrize('region', REGIONS, ids=str)
def test_excess_leads_to_the_nearest_point(region):
    rng = np.random.default_rng(1)
    inside = points_inside(region, rng)
    for point in rng.normal(size=(50, 3)) * 0.4:
        excess = region.excess(point)
        nearest = np.linalg.norm(inside - point, axis=1).min()
        assert np.linalg.norm(excess) <= nearest + 1e-12
        assert nearest <= np.linalg.norm(excess) + 0.08  # as dense as the points are
        np.testing.assert_allclose(region.excess(point - excess), 0.0, atol=1e-12)
    assert not any(region.excess(point).any() for point in inside[:50])


@pytest.mark.parametrize(
    'region', [iks.Box((math.inf,) * 3), iks.Sphere(math.inf), iks.Cylinder(math.inf, math.inf)]
)
def test_infinite_regions_hold_every_point(region):
    np.testing.assert_array_equal(region.excess(np.array([1e9, -3.0, 0.0])), 0.0)


def test_a_huge_region_overflows_nothing():
    T_region = transform(p=(1.7e308, 1e308, 0.0))
    task = iks.Task(np.eye(4), iks.Sphere(1.0), T_region)
    with np.errstate(over='raise'):
        assert task.violation(np.eye(4))[0] == math.inf


def test_half_infinite_cylinder_bounds_the_radius_alone():
    np.testing.assert_allclose(
        iks.Cylinder(0.5, math.inf).excess(np.array([0.0, 2.0, 7.0])), [0.0, 1.5, 0.0]
    )


@pytest.mark.parametrize('value', [-1.0, math.nan, None, 'a', [1.0], 10**400])
def test_lengths_that_are_none_are_refused(value):
    for make, field in (
        (iks.Sphere, 'radius'),
        (lambda v: iks.Cylinder(v, 1.0), 'radius'),
        (lambda v: iks.Cylinder(1.0, v), 'height'),
        (lambda v: iks.Box((1.0, 1.0, v)), 'size'),
    ):
        with pytest.raises(ArgumentError, match=rf'^{field}: '):
            make(value)


@pytest.mark.parametrize('size', [(), (1.0, 2.0), 1.0, None, 'box', np.ones((3, 1))])
def test_sizes_have_three_numbers(size):
    with pytest.raises(ArgumentError, match=r'^size: '):
        iks.Box(size)
