from pathlib import Path

import numpy as np
import pytest
from support.reach_maps import grid, made_map

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.reach.reach_map import of_capability_map
from ik_service.extras.viewer.reach.selection import COLORS, compare, Cut, Look

ONE, OTHER, BOTH = COLORS.tolist()


def reach_map(name, positions, share=1.0, **changes):
    reached = np.zeros((len(positions), 4), dtype=bool)
    reached[:, : round(4 * share)] = True
    made = made_map(positions=positions, reached=reached, **changes)
    return of_capability_map(Path(f'{name}.zarr'), made)


def colors_by_x(comparison, look):
    points, colors = comparison.drawn(look)
    return {
        round(float(x), 3): color for x, color in zip(points[:, 0], colors.tolist(), strict=True)
    }


def test_places_have_the_colour_of_the_arms_that_reach_them():
    beside = grid(3, origin=0.0) + np.array([0.1, 0.0, 0.0])
    found = compare(reach_map('a', grid(3, origin=0.0)), reach_map('b', beside))
    axis = Look(cut=Cut.LAYER_Y, offset=0.1)
    assert found.names == ('a', 'b')
    assert colors_by_x(found, axis) == {0.0: ONE, 0.1: BOTH, 0.2: BOTH, 0.3: OTHER}
    assert found.volumes(0.0) == pytest.approx((0.009, 0.009, 0.018))


def test_an_arm_reaches_a_place_with_enough_of_the_orientations():
    found = compare(reach_map('a', grid(3), 0.5), reach_map('b', grid(3), 1.0))
    assert {*map(tuple, found.drawn(Look(least=50.0))[1])} == {tuple(BOTH)}
    assert {*map(tuple, found.drawn(Look(least=75.0))[1])} == {tuple(OTHER)}
    assert found.volumes(75.0) == pytest.approx((0.0, 0.027, 0.0))


@pytest.mark.parametrize('origin', [0.0, 0.05, 0.0499])
def test_grids_that_begin_elsewhere_are_put_together(origin):
    found = compare(reach_map('a', grid(4, origin=origin)), reach_map('b', grid(4, origin=origin)))
    assert found.volumes(0.0) == pytest.approx((0.0, 0.0, 0.064))


def test_a_finer_grid_is_compared_in_the_places_of_the_coarser_one():
    fine, coarse = reach_map('a', grid(6, 0.05, -0.025)), reach_map('b', grid(3, 0.1, 0.0))
    for one, other in ((fine, coarse), (coarse, fine)):
        found = compare(one, other)
        assert found.spacing == pytest.approx(0.1)
        assert found.volumes(0.0)[2] > 0.02
    nowhere = np.zeros(216, dtype=bool)
    empty = reach_map('a', grid(6, 0.05, -0.025), position_free=nowhere)
    assert compare(empty, coarse).volumes(0.0) == pytest.approx((0.0, 0.027, 0.0))


def test_maps_of_one_name_are_numbered_and_what_is_no_grid_is_refused():
    one = reach_map('a', grid(3))
    assert compare(one, one).names == ('a (1)', 'a (2)')
    with pytest.raises(ArgumentError, match=r'b\.zarr.*grid'):
        compare(one, reach_map('b', grid()[[0, 7, 30, 31]]))
