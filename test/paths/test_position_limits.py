"""Timed paths keep the position limits also between their rows, and their geometry elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm, SHARED_ROBOTS, snake

from ik_service import Robot
from ik_service.common.transforms import rotation_about_axis
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings, JumpThresholds
from ik_service.paths.search.path_solver import PathOptions
from ik_service.paths.timing.joint_curve import bounds_of_rows, eased, joint_curve, within_limits
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import timing_limits
from ik_service.paths.trajectory.limit_check import check_limits, leaves_range, TrajectoryLimits

ARMS = {
    'motoman_csda10f': ('motoman_csda10f.urdf', 'base_link', 'arm_right_link_tool0'),
    'schunk_lwa4d': ('schunk_lwa4d.urdf', 'arm_base_link', 'arm_ee_link'),
}


def between(trajectory, count=60):
    """Positions, velocities and accelerations (count, k−1, n) at and between the points."""
    c, h = trajectory.coefficients, np.diff(trajectory.times)[:, None]
    t = np.linspace(0.0, 1.0, count)[:, None, None] * h
    q = c[:, 0] + t * (c[:, 1] + t * (c[:, 2] + t * (c[:, 3] + t * (c[:, 4] + t * c[:, 5]))))
    v = c[:, 1] + t * (2 * c[:, 2] + t * (3 * c[:, 3] + t * (4 * c[:, 4] + t * 5 * c[:, 5])))
    a = 2 * c[:, 2] + t * (6 * c[:, 3] + t * (12 * c[:, 4] + t * 20 * c[:, 5]))
    return q, v, a


def beyond(chain, trajectory):
    """Farthest position beyond a limit [rad] or [m]."""
    q = between(trajectory)[0]
    return np.maximum(chain.lower - q, q - chain.upper).max()


def kinked(chain, seed, rows=60):
    """A path on which joints run onto their limits, rest there, bounce off and leave."""
    rng = np.random.default_rng(seed)
    phase = np.linspace(0.0, 1.0, rows)[:, None] * rng.uniform(2.0, 9.0, chain.n)
    middle, half = 0.5 * (chain.upper + chain.lower), 0.5 * (chain.upper - chain.lower)
    reach = rng.uniform(0.9, 1.3, chain.n)  # beyond the limits, on which it is cut off
    q = middle + half * reach * np.sin(phase + rng.uniform(0.0, 6.0, chain.n))
    return np.clip(q, chain.lower, chain.upper)


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('joints', [1, 3, 7])
def test_joints_that_run_onto_their_limits_do_not_swing_beyond_them(joints, seed):
    chain = snake(joints)
    q = kinked(chain, seed)
    trajectory = time_path(chain, q)
    assert beyond(chain, trajectory) <= 1e-9
    assert np.isin(trajectory.positions, q).all()
    limits = timing_limits(chain, None)
    _, velocity, acceleration = between(trajectory)
    assert (np.abs(velocity) <= 1.0005 * limits.velocity).all()
    assert (np.abs(acceleration) <= 1.0005 * limits.acceleration).all()
    bounds = chain.lower, chain.upper, limits.velocity, limits.acceleration
    check_limits(trajectory, TrajectoryLimits(*bounds))


def test_a_joint_that_comes_to_its_limit_does_not_stop_the_others():
    chain = snake(2, prismatic=0.0)
    t = np.linspace(0.0, 1.0, 50)
    q = chain.upper - 0.5 * np.column_stack([np.maximum(0.503 - t, 0.0), t])
    assert beyond(chain, time_path(chain, q)) <= 1e-9
    assert (~time_path(chain, q).velocities.any(axis=1)).sum() == 2
    free = time_path(chain, q - 0.2)  # the same, away from the limits
    assert beyond(chain, free) < 0.0
    assert time_path(chain, q).duration < 1.05 * free.duration


def test_paths_that_do_not_leave_their_limits_are_as_they_were():
    chain = arm('panda')
    q = 0.5 * (chain.upper + chain.lower) + 0.3 * np.sin(np.linspace(0, 5, 40))[:, None]
    curve = joint_curve(chain, q, chain.velocity, None, 1e-4)
    assert within_limits(curve, bounds_of_rows(chain, q)) is curve


def test_a_joint_whose_rows_are_beyond_its_limits_is_left_as_it_is():
    chain = snake(2, prismatic=0.0)
    q = chain.upper + 0.01 * np.sin(np.linspace(0.0, 6.0, 40))[:, None]
    curve = joint_curve(chain, q, chain.velocity, None, 1e-4)
    assert within_limits(curve, bounds_of_rows(chain, q)) is curve


def test_segments_that_are_parted_already_become_straight():
    chain = snake(3)
    q = kinked(chain, 0)
    curve = joint_curve(chain, q, chain.velocity, None, 1e-4)
    some = np.zeros(len(curve.h), bool)
    some[20] = True
    bounds = bounds_of_rows(chain, q)
    twice = eased(eased(curve, some, bounds), some, bounds, 1)
    assert twice.rests[[20, 21]].all()
    np.testing.assert_array_equal(twice.start[20], twice.secants[20])
    np.testing.assert_array_equal(twice.end[20], twice.secants[20])
    wide = eased(curve, some, bounds, 4)
    assert wide.rests[18:24].all()


def lines_of(chain, count, seed=4):
    """Straight paths from random postures, of up to 0.4 m."""
    rng = np.random.default_rng(seed)
    lower = np.where(np.isfinite(chain.lower), chain.lower, -3.0)
    upper = np.where(np.isfinite(chain.upper), chain.upper, 3.0)
    options, speeds = PathOptions(timeout=5.0), timing_limits(chain, None).velocity
    settings = CartesianSettings(0.01, JumpThresholds(), options, np.eye(4), speeds)
    for _ in range(count):
        q = lower + (upper - lower) * rng.uniform(0.05, 0.95, chain.n)
        step = np.eye(4)
        step[:3, :3] = rotation_about_axis(np.eye(3)[rng.integers(3)], rng.uniform(-0.6, 0.6))
        step[:3, 3] = rng.uniform(-0.25, 0.25, 3)
        path = cartesian_path(chain, q, (chain.forward(q) @ step)[None], settings)
        if len(path.q) > 2:
            yield path


def check_lines(chain, count):
    """Check straight paths; return how many touch a limit."""
    touching = 0
    for path in lines_of(chain, count):
        trajectory = time_path(chain, path.q, targets=path.poses)
        assert beyond(chain, trajectory) <= 1e-9
        start, end = path.poses[[0, -1], :3, 3]
        way = (end - start) / np.linalg.norm(end - start)
        points = between(trajectory, 4)[0].reshape(-1, chain.n)
        off = np.array([chain.forward(q)[:3, 3] for q in points]) - start
        assert (
            np.linalg.norm(off - np.outer(off @ way, way), axis=1).max() <= 5e-4
        )  # also at the end of reach
        room = np.minimum(path.q - chain.lower, chain.upper - path.q)
        touching += bool(room.min() < 1e-9)
    return touching


def test_straight_paths_of_the_panda_stay_within():
    assert check_lines(arm('panda'), 30)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED_ROBOTS.is_dir(), reason='shared/robots is not beside the checkout')
@pytest.mark.parametrize('name', ARMS)
def test_straight_paths_of_other_arms_stay_within(name):
    urdf, base, tip = ARMS[name]
    assert check_lines(Robot.from_urdf(SHARED_ROBOTS / urdf).chain(base, tip), 40)


def test_polynomials_are_beyond_a_range_wherever_they_are():
    rng = np.random.default_rng(1)
    coefficients = rng.normal(size=(200, 6, 3))
    values = np.linspace(0.0, 1.0, 20001)[:, None] ** np.arange(6.0) @ coefficients
    lower, upper = values.min(axis=1), values.max(axis=1)
    for row in range(len(coefficients)):
        for by, wanted in ((1e-6, True), (-1e-6, False)):
            one = coefficients[row : row + 1]
            for bounds in ((lower[row] + by, upper[row] + 1), (lower[row] - 1, upper[row] - by)):
                assert (leaves_range(one, *bounds, 0.0) == wanted).all()
