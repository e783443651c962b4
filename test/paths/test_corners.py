"""Corners between straight lines: rounded by no more than the tolerance, or rests."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm

from ik_service.common.transforms import rotation_about_axis
from ik_service.paths.cartesian_path import (
    cartesian_path,
    CartesianSettings,
    JumpThresholds,
    straight_lines,
)
from ik_service.paths.search.path_solver import PathOptions, solve_path
from ik_service.paths.timing.joint_curve import slopes
from ik_service.paths.timing.timing import time_path

HOME = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
SQUARE = ((0.0, 0.15, 0.0), (0.0, 0.0, 0.15), (0.0, -0.15, 0.0), (0.0, 0.0, -0.15))


@pytest.fixture(scope='module')
def chain():
    return arm('panda')


def moved(T, steps):
    """Way points that lie so far from each other [m]."""
    points = []
    for step in steps:
        T = T.copy()
        T[:3, 3] += step
        points.append(T)
    return np.array(points)


def polygon(chain, seed):
    """Random posture, and way points with edges of half a millimetre to 8 cm."""
    rng = np.random.default_rng(seed)
    q = HOME + rng.uniform(-0.3, 0.3, 7)
    steps = rng.normal(size=(4, 3))
    steps *= (
        rng.choice([5e-4, 4e-3, 0.03, 0.08], 4)[:, None] / np.linalg.norm(steps, axis=1)[:, None]
    )
    points = moved(chain.forward(q), steps)
    for T in points[1:]:
        T[:3, :3] = rotation_about_axis(np.eye(3)[seed % 3], 0.1) @ T[:3, :3]
    return q, points


def off_lines(chain, trajectory, corners):
    """Largest distance of the tip from the lines through poses (k, 4, 4) [m]."""
    parts = np.linspace(0.0, 1.0, 8)[:-1, None]
    times = trajectory.times[:-1] + parts * np.diff(trajectory.times)
    points = np.array([chain.forward(trajectory.at(t)[0])[:3, 3] for t in times.ravel()])
    nearest = np.full(len(points), np.inf)
    for start, end in zip(corners[:-1, :3, 3], corners[1:, :3, 3], strict=True):
        way = end - start
        along = np.clip((points - start) @ way / (way @ way), 0.0, 1.0)
        away = np.linalg.norm(points - start - along[:, None] * way, axis=1)
        nearest = np.minimum(nearest, away)
    return nearest.max()


@pytest.mark.parametrize('max_step', [0.01, 0.001, 7e-4, 6.25e-4, 5e-4, 2e-4])
def test_a_square_is_left_by_a_tenth_of_a_millimetre_at_most(chain, max_step):
    start = chain.forward(HOME)
    points = moved(start, SQUARE)
    lines = straight_lines(start, points, max_step)
    path = solve_path(chain, lines.poses, HOME)
    trajectory = time_path(chain, path.q, targets=lines.poses)
    assert off_lines(chain, trajectory, np.vstack([start[None], points])) <= 1e-4


@pytest.mark.parametrize(('max_step', 'largest'), [(0.01, 0.0), (0.01, 0.01), (5e-4, 0.0)])
def test_so_is_one_that_is_searched_for_as_straight_lines(chain, max_step, largest):
    start = chain.forward(HOME)
    points = moved(start, SQUARE)
    jumps = JumpThresholds(revolute=largest)
    options = PathOptions(timeout=600.0)
    settings = CartesianSettings(max_step, jumps, options, np.eye(4), chain.velocity)
    path = cartesian_path(chain, HOME, points, settings)
    assert path.fraction == 1.0
    trajectory = time_path(chain, path.q, targets=path.poses)
    assert off_lines(chain, trajectory, np.vstack([start[None], points])) <= 1e-4


@pytest.mark.parametrize('seed', range(8))
def test_polygons_of_edges_of_any_length(chain, seed):
    q, points = polygon(chain, seed)
    start = chain.forward(q)
    lines = straight_lines(start, points, (2e-4, 5e-4, 1e-3, 2e-3)[seed % 4])
    path = solve_path(chain, lines.poses, q)
    trajectory = time_path(chain, path.q, targets=lines.poses)
    assert off_lines(chain, trajectory, np.vstack([start[None], points])) <= 1e-4


@pytest.mark.parametrize('seed', range(4))
def test_rows_at_uneven_places(chain, seed):
    """Rows up to some 3 mm apart, beside others that are a hundred times as close."""
    start = chain.forward(HOME)
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
    path = solve_path(chain, np.array(poses), HOME)
    trajectory = time_path(chain, path.q, targets=np.array(poses))
    assert off_lines(chain, trajectory, np.vstack([start[None], points])) <= 1e-4


def test_a_long_segment_at_an_end_is_not_drawn_out_from_short_ones():
    """Cubics of short segments, a little uneven, must not swing in a long one."""
    h = np.array([1.0, 0.01, 0.01, 0.01, 0.01, 1.0])
    secants = np.array([1.0, 1.001, 0.999, 1.001, 0.999, 1.0])[:, None]
    rests = np.array([True, *[False] * 5, True])
    start, end = slopes(h, secants, rests)
    assert np.abs(start - 1.0).max() < 0.01
    assert np.abs(end - 1.0).max() < 0.01


def test_a_long_segment_beside_short_ones_is_not_overshot(chain):
    """Joints that come from short segments at full pace stay between the rows of a long one."""
    places = np.array([0.0, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 0.105])
    q = HOME + places[:, None] * np.array([1.0, 0, 0, 0, 0, 0, 0])
    trajectory = time_path(chain, q)
    times = np.linspace(0.0, trajectory.duration, 2000)
    first = np.array([trajectory.at(t)[0][0] for t in times])
    assert np.diff(first).min() >= -1e-9
    assert first.max() <= HOME[0] + 0.105 + 1e-9
