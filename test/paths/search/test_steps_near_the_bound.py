"""Paths on which a joint moves nearly as far as it may in every step."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from support.chains import arm, pose_difference, within_limits

import ik_service as iks
from ik_service.extras.studies.paths import poses_along, random_postures

LARGEST = 0.095
ROWS = 200


@pytest.fixture(scope='module')
def panda():
    return arm('panda')


def paced_path(chain, seed):
    """A joint path between random postures on which some joint moves by LARGEST in every step."""
    corners = random_postures(chain, seed, 40, 0.3)
    curve = PchipInterpolator(np.arange(len(corners)), corners)
    fine = np.linspace(0, len(corners) - 1, 40_000)
    lengths = np.abs(np.diff(curve(fine), axis=0)).max(axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(lengths)])
    return curve(np.interp(0.9999 * LARGEST * np.arange(ROWS), travelled, fine))


@pytest.mark.parametrize('seed', range(4))
def test_steps_just_below_the_largest_are_enough(panda, seed):
    way = paced_path(panda, seed)
    steps = np.abs(np.diff(way, axis=0)).max(axis=1)
    assert np.median(steps) > 0.9 * LARGEST
    assert steps.max() <= LARGEST
    targets = poses_along(panda, way)
    path = iks.solve_path(panda, targets, way[0], iks.PathOptions(timeout=120.0))
    assert path.success, path.reason
    assert path.largest_step <= 0.1
    for q, T in zip(path.q, targets, strict=True):
        assert within_limits(panda, q)
        assert max(pose_difference(panda.forward(q), T)) <= 1e-6
    again = iks.solve_path(panda, targets, way[0], iks.PathOptions(timeout=120.0))
    np.testing.assert_array_equal(path.q, again.q)


def test_where_no_step_is_large_enough_the_path_ends(panda):
    """The thorough search does not exceed the largest step either."""
    way = paced_path(panda, 0)
    targets = poses_along(panda, way)
    path = iks.solve_path(panda, targets, way[0], iks.PathOptions(max_step=0.06, timeout=120.0))
    assert not path.success
    assert path.largest_step <= 0.06
    assert np.isnan(path.q[path.reached :]).all()
