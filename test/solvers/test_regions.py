"""Regions: the shortest vector from them to a point, against points of the region."""

import math

import numpy as np
import pytest

import ik_service as iks
from ik_service.exceptions import ArgumentError

REGIONS = [iks.Box((0.4, 0.2, 0.0)), iks.Sphere(0.3), iks.Cylinder(0.2, 0.6)]


def points_inside(region, rng, count=20_000):
    """Random points of a region, as its definition says."""
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
