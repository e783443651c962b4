from pathlib import Path

import numpy as np
import pytest
from support.reach_maps import grid, one_joint_map

from ik_service.exceptions import ArgumentError
from ik_service.extras.reach import figures
from ik_service.extras.viewer.reach.reach_map import of_capability_map
from ik_service.extras.viewer.reach.selection import (
    COLORS,
    compare,
    Cut,
    drawn,
    Look,
    nearest,
    place_text,
    viridis,
)

VALUES = np.linspace(0.0, 1.0, 101)


def test_the_colours_are_those_of_the_study_s_figure():
    pytest.importorskip('matplotlib', reason="matplotlib comes with the extra 'plot'")
    expected = 255.0 * figures.share_colors(VALUES)[:, :3]
    assert np.abs(viridis(VALUES) - expected).max() < 7.0  # of 255: nobody sees that


@pytest.fixture
def found():
    return of_capability_map(Path('m'), one_joint_map())


def test_everything_that_is_reached_is_drawn_in_the_colour_of_its_value(found):
    points, colors = drawn(found, Look())
    assert np.array_equal(points, found.points)
    assert np.array_equal(colors, viridis(found.quantities[0].values / 100.0))


def test_what_is_not_reached_or_not_known_is_never_drawn(found):
    made = one_joint_map(
        position_free=found.points[:, 0] > 0.0,
        manipulability=np.where(found.points[:, 1] > 0.0, np.nan, 0.1),
    )
    points, _ = drawn(of_capability_map(Path('m'), made), Look(quantity=1))
    assert len(points) == 2 * 3 * 5
    assert (points[:, 0] > 0.0).all()
    assert (points[:, 1] <= 1e-6).all()


@pytest.mark.parametrize('axis', range(3))
def test_a_plane_leaves_one_layer_or_one_side(found, axis):
    layer, below, above = list(Cut)[1 + axis :: 3]
    for offset in (0.1, 0.13):  # the grid has its layer at 0.1
        points, _ = drawn(found, Look(cut=layer, offset=offset))
        assert points[:, axis] == pytest.approx(0.1, abs=1e-6)
        assert len(points) == 25
        points, _ = drawn(found, Look(cut=below, offset=offset))
        assert len(points) == 100
        assert points[:, axis].max() == pytest.approx(0.1, abs=1e-6)
        points, _ = drawn(found, Look(cut=above, offset=offset))
        assert len(points) == 50
        assert points[:, axis].min() == pytest.approx(0.1, abs=1e-6)


def test_the_place_of_the_gizmo_is_told(found):
    text = place_text(found, np.array([0.11, 0.02, -0.04]))
    assert text == (
        'orientations reached 50 %, manipulability 0.100, distance from limits 25 % of the range'
    )
    assert place_text(found, np.array([0.0, 0.0, 2.0])) == 'the map has no position here'
    assert nearest(found, np.array([0.249, 0.249, 0.249])) == 124  # the corner of the last cell
    nowhere = one_joint_map(position_free=np.zeros(125, dtype=bool))
    assert place_text(of_capability_map(Path('m'), nowhere), np.zeros(3)) == 'not reached'


ONE, OTHER, BOTH = COLORS.tolist()


def reach_map(name, positions, share=1.0, **changes):
    reached = np.zeros((len(positions), 4), dtype=bool)
    reached[:, : round(4 * share)] = True
    made = one_joint_map(positions=positions, reached=reached, **changes)
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
