"""Curves through the rows of a path: corners, and position limits between the rows."""

import numpy as np
import pytest
from support.chains import arm, SHARED_ROBOTS, snake
from support.paths import HOME, instants, kinked, PATIENT

from ik_service import Robot
from ik_service.common.transforms import rotation_about_axis
from ik_service.paths.cartesian_path import (
    cartesian_path,
    CartesianSettings,
    JumpThresholds,
    straight_lines,
)
from ik_service.paths.search.path_solver import solve_path
from ik_service.paths.timing.joint_curve import (
    bounds_of_rows,
    eased,
    joint_curve,
    slopes,
    within_limits,
)
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import timing_limits
from ik_service.paths.trajectory.limit_check import check_limits, leaves_range, TrajectoryLimits

SQUARE = ((0.0, 0.15, 0.0), (0.0, 0.0, 0.15), (0.0, -0.15, 0.0), (0.0, 0.0, -0.15))


def moved(T, steps):
    """Waypoints that lie so far from each other [m]."""
    points = []
    for step in steps:
        T = T.copy()
        T[:3, 3] += step
        points.append(T)
    return np.array(points)


def polygon(panda, seed):
    """Random posture, and waypoints with edges of half a millimetre to 8 cm."""
    rng = np.random.default_rng(seed)
    q = HOME + rng.uniform(-0.3, 0.3, 7)
    steps = rng.normal(size=(4, 3))
    steps *= (
        rng.choice([5e-4, 4e-3, 0.03, 0.08], 4)[:, None] / np.linalg.norm(steps, axis=1)[:, None]
    )
    points = moved(panda.forward(q), steps)
    for T in points[1:]:
        T[:3, :3] = rotation_about_axis(np.eye(3)[seed % 3], 0.1) @ T[:3, :3]
    return q, points


def off_lines(panda, trajectory, corners):
    """Largest distance of the tip from the lines through poses (k, 4, 4) [m]."""
    parts = np.linspace(0.0, 1.0, 8)[:-1, None]
    times = trajectory.times[:-1] + parts * np.diff(trajectory.times)
    points = np.array([panda.forward(trajectory.at(t)[0])[:3, 3] for t in times.ravel()])
    nearest = np.full(len(points), np.inf)
    for start, end in zip(corners[:-1, :3, 3], corners[1:, :3, 3], strict=True):
        way = end - start
        along = np.clip((points - start) @ way / (way @ way), 0.0, 1.0)
        away = np.linalg.norm(points - start - along[:, None] * way, axis=1)
        nearest = np.minimum(nearest, away)
    return nearest.max()


@pytest.mark.parametrize('max_step', [0.01, 7e-4, 2e-4])
def test_a_square_is_left_by_a_tenth_of_a_millimetre_at_most(panda, max_step):
    start = panda.forward(HOME)
    points = moved(start, SQUARE)
    lines = straight_lines(start, points, max_step)
    path = solve_path(panda, lines.poses, HOME, PATIENT)
    trajectory = time_path(panda, path.q, targets=lines.poses)
    assert off_lines(panda, trajectory, np.vstack([start[None], points])) <= 1e-4


@pytest.mark.parametrize(('max_step', 'largest'), [(0.01, 0.0), (0.01, 0.02), (5e-4, 0.0)])
def test_so_is_one_that_is_searched_for_as_straight_lines(panda, max_step, largest):
    start = panda.forward(HOME)
    points = moved(start, SQUARE)
    jumps = JumpThresholds(revolute=largest)
    settings = CartesianSettings(max_step, jumps, PATIENT, np.eye(4), panda.velocity)
    path = cartesian_path(panda, HOME, points, settings)
    assert path.fraction == 1.0
    trajectory = time_path(panda, path.q, targets=path.poses)
    assert off_lines(panda, trajectory, np.vstack([start[None], points])) <= 1e-4


@pytest.mark.parametrize('seed', range(4))
def test_polygons_of_edges_of_any_length(panda, seed):
    q, points = polygon(panda, seed)
    start = panda.forward(q)
    lines = straight_lines(start, points, (2e-4, 5e-4, 1e-3, 2e-3)[seed % 4])
    path = solve_path(panda, lines.poses, q, PATIENT)
    trajectory = time_path(panda, path.q, targets=lines.poses)
    assert off_lines(panda, trajectory, np.vstack([start[None], points])) <= 1e-4


@pytest.mark.parametrize('seed', range(2))
def test_rows_at_uneven_places(panda, seed):
    """Rows up to some 3 mm apart, beside others that are a hundred times as close."""
    start = panda.forward(HOME)
    points = moved(start, SQUARE)
    rng = np.random.default_rng(seed)
    poses = [start]
    for T in points:
        places = np.sort(np.append(rng.uniform(0.0, 1.0, 300), 1.0))
        for place in places[np.diff(places, prepend=0.0) > 1e-4]:
            between = T.copy()
            between[:3, 3] = (1.0 - place) * poses[-1][:3, 3] + place * T[:3, 3]
            poses.append(between)
        poses[-1] = T
    path = solve_path(panda, np.array(poses), HOME, PATIENT)
    trajectory = time_path(panda, path.q, targets=np.array(poses))
    assert off_lines(panda, trajectory, np.vstack([start[None], points])) <= 1e-4


def test_a_long_segment_at_an_end_is_not_drawn_out_from_short_ones():
    """Cubics of short segments, a little uneven, must not swing in a long one."""
    h = np.array([1.0, 0.01, 0.01, 0.01, 0.01, 1.0])
    secants = np.array([1.0, 1.001, 0.999, 1.001, 0.999, 1.0])[:, None]
    rests = np.array([True, *[False] * 5, True])
    start, end = slopes(h, secants, rests)
    assert np.abs(start - 1.0).max() < 0.01
    assert np.abs(end - 1.0).max() < 0.01


def test_a_long_segment_beside_short_ones_is_not_overshot(panda):
    """Joints that come from short segments at full pace stay between the rows of a long one."""
    places = np.array([0.0, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 0.105])
    q = HOME + places[:, None] * np.array([1.0, 0, 0, 0, 0, 0, 0])
    trajectory = time_path(panda, q)
    times = np.linspace(0.0, trajectory.duration, 2000)
    first = np.array([trajectory.at(t)[0][0] for t in times])
    assert np.diff(first).min() >= -1e-9
    assert first.max() <= HOME[0] + 0.105 + 1e-9


ARMS = {
    'motoman_csda10f': ('motoman_csda10f.urdf', 'base_link', 'arm_right_link_tool0'),
    'schunk_lwa4d': ('schunk_lwa4d.urdf', 'arm_base_link', 'arm_ee_link'),
}


def beyond(panda, trajectory):
    """Farthest position beyond a limit [rad] or [m]."""
    q = instants(trajectory)[0]
    return np.maximum(panda.lower - q, q - panda.upper).max()


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('joints', [1, 3, 7])
def test_joints_that_run_onto_their_limits_do_not_swing_beyond_them(joints, seed):
    chain = snake(joints)
    q = kinked(chain, seed)
    trajectory = time_path(chain, q)
    assert beyond(chain, trajectory) <= 1e-9
    assert np.isin(q, trajectory.positions).all()
    limits = timing_limits(chain, None)
    _, velocity, acceleration, _ = instants(trajectory)
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


@pytest.mark.parametrize(('share', 'swing'), [(0.5, 0.3), (1.0, 0.01)])
def test_rows_inside_the_limits_or_beyond_them_themselves_are_left_as_they_are(share, swing):
    chain = snake(2, prismatic=0.0)
    middle = chain.lower + share * (chain.upper - chain.lower)
    q = middle + swing * np.sin(np.linspace(0.0, 6.0, 40))[:, None]
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


def lines_of(panda, count, seed=4):
    """Straight paths from random postures, of up to 0.4 m."""
    rng = np.random.default_rng(seed)
    lower = np.where(np.isfinite(panda.lower), panda.lower, -3.0)
    upper = np.where(np.isfinite(panda.upper), panda.upper, 3.0)
    speeds = timing_limits(panda, None).velocity
    settings = CartesianSettings(0.01, JumpThresholds(), PATIENT, np.eye(4), speeds)
    for _ in range(count):
        q = lower + (upper - lower) * rng.uniform(0.05, 0.95, panda.n)
        step = np.eye(4)
        step[:3, :3] = rotation_about_axis(np.eye(3)[rng.integers(3)], rng.uniform(-0.6, 0.6))
        step[:3, 3] = rng.uniform(-0.25, 0.25, 3)
        path = cartesian_path(panda, q, (panda.forward(q) @ step)[None], settings)
        if len(path.q) > 2:
            yield path


def check_lines(panda, count):
    """Check straight paths; return how many touch a limit."""
    touching = 0
    for path in lines_of(panda, count):
        trajectory = time_path(panda, path.q, targets=path.poses)
        assert beyond(panda, trajectory) <= 1e-9
        start, end = path.poses[[0, -1], :3, 3]
        way = (end - start) / np.linalg.norm(end - start)
        points = instants(trajectory, 4)[0].reshape(-1, panda.n)
        off = np.array([panda.forward(q)[:3, 3] for q in points]) - start
        assert (
            np.linalg.norm(off - np.outer(off @ way, way), axis=1).max() <= 5e-4
        )  # also at the end of reach
        room = np.minimum(path.q - panda.lower, panda.upper - path.q)
        touching += bool(room.min() < 1e-9)
    return touching


def test_straight_paths_of_the_panda_stay_within():
    assert check_lines(arm('panda'), 20)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED_ROBOTS.is_dir(), reason='shared/robots is not beside the checkout')
@pytest.mark.parametrize('name', ARMS)
def test_straight_paths_of_other_arms_stay_within(name):
    urdf, base, tip = ARMS[name]
    assert check_lines(Robot.from_urdf(SHARED_ROBOTS / urdf).chain(base, tip), 15)


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
