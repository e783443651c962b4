from pathlib import Path

import numpy as np
import pytest
from support.reach_maps import made_map

from ik_service.extras.viewer.reach.reach_map import of_capability_map
from ik_service.extras.viewer.reach.selection import Cut, drawn, Look, nearest, place_text, viridis


@pytest.fixture
def found():
    return of_capability_map(Path('m'), made_map())


def test_everything_that_is_reached_is_drawn_in_the_colour_of_its_value(found):
    points, colors = drawn(found, Look())
    assert np.array_equal(points, found.points)
    assert np.array_equal(colors, viridis(found.quantities[0].values / 100.0))


def test_positions_below_the_threshold_are_not_drawn(found):
    points, _ = drawn(found, Look(least=75.0))
    assert len(points) == (found.quantities[0].values == 100.0).sum() == 60
    assert (points[:, 0] < 0.05).all()


def test_what_is_not_reached_or_not_known_is_never_drawn(found):
    made = made_map(
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
    nowhere = made_map(position_free=np.zeros(125, dtype=bool))
    assert place_text(of_capability_map(Path('m'), nowhere), np.zeros(3)) == 'not reached'
