"""Comparisons of two maps on one grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.made_maps import made_map
from support.small_arms import GANTRY

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

from ik_service.exceptions import ArgumentError

STEPS = np.arange(3) * 0.1


def block(first, counts):
    """Map of 2 × 2 × 2 positions, from ``first`` steps along x on."""
    axis = STEPS[:2]
    return made_map(GANTRY, (first * 0.1 + axis, axis, axis), counts)


def test_volumes_and_means_of_two_blocks_that_overlap():
    first, second = block(0, [4] * 8), block(1, [2] * 4 + [-1] * 4)
    found = first.compare(second)
    assert found.spacing == pytest.approx(0.1)
    assert found.volumes == pytest.approx((8e-3, 4e-3))
    assert found.shared == pytest.approx(4e-3)
    assert found.overlap == 0.5
    assert len(found.positions) == 12
    np.testing.assert_allclose(np.unique(found.positions[:, 0]), STEPS, atol=1e-12)
    assert [int(free.sum()) for free in found.free] == [8, 4]
    assert [means.share for means in found.means] == [1.0, 0.5]
    assert [means.share for means in found.shared_means] == [1.0, 0.5]
    assert found.shared_means[1].manipulability == pytest.approx(0.2)
    both = found.free[0] & found.free[1]
    np.testing.assert_allclose(found.positions[both][:, 0], 0.1, atol=1e-12)
    np.testing.assert_array_equal(found.share[1][both], 0.5)


def test_arms_that_share_nothing():
    found = block(0, [1] * 8).compare(block(4, [1] * 8))
    assert found.shared == found.overlap == 0.0
    assert math.isnan(found.shared_means[0].share)
    nothing = block(0, [-1] * 8)
    assert math.isnan(nothing.compare(nothing).overlap)


@pytest.mark.parametrize(
    ('axis', 'text'),
    [
        (np.array([0.0, 0.2]), 'one spacing'),
        (np.array([0.05, 0.15]), 'beside each other'),
        (np.array([0.05]), 'grids'),
    ],
)
def test_maps_of_other_grids_are_refused(axis, text):
    other = made_map(GANTRY, (axis,) * 3, [1] * len(axis) ** 3)
    with pytest.raises(ArgumentError, match=text):
        block(0, [1] * 8).compare(other)


@pytest.mark.parametrize('other', [None, 3, 'map.zarr'])
def test_what_is_no_map_is_refused(other):
    with pytest.raises(ArgumentError, match='other: has to be a CapabilityMap, not'):
        block(0, [1] * 8).compare(other)
