"""Regions in which a base may stand, and their grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.region import around, Region

TRIANGLE = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize('count', [1, 7, 100, 5000])
@pytest.mark.parametrize('sides', [(0, 0, 0), (2, 0, 0), (1, 3, 0), (1, 1e-6, 0), (2, 1, 0.5)])
def test_a_grid_has_at_most_as_many_places_as_asked_for(sides, count):
    x, y, z = sides
    region = Region((0, x), (0, y), (0, z))
    places = region.grid(region.spacing_for(count, 4), 4)
    assert 4 <= len(places) <= max(count, 4)
    assert (places >= region.lower).all()
    assert (places <= region.upper).all()
    if count == 5000 and y > 0.1:
        assert len(places) > 0.7 * count


def test_headings_of_a_full_turn_are_all_different():
    turns = Region((0, 0), (0, 0)).headings(8)
    assert np.diff(np.append(turns, turns[0] + 2 * math.pi)) == pytest.approx(math.pi / 4)
    part = Region((0, 0), (0, 0), yaw=(0.0, math.pi / 2)).headings(8)
    assert part == pytest.approx([0.0, math.pi / 4, math.pi / 2])
    assert Region((0, 0), (0, 0), yaw=(0.3, 0.3)).headings(8) == pytest.approx([0.3])


def test_a_polygon_holds_what_lies_inside():
    region = Region.polygon(TRIANGLE, z=(0.2, 0.2))
    assert region.x == (0.0, 1.0)
    places = region.grid(0.09, 1)
    assert (places[:, 0] + places[:, 1] < 1.0 + 1e-9).all()
    box = Region((0, 1), (0, 1), z=(0.2, 0.2)).grid(0.09, 1)
    inside = (box[:, 0] + box[:, 1] < 1.0 - 1e-9).sum()
    assert len(places) == pytest.approx(inside, abs=12)


def test_places_are_brought_into_the_box_and_headings_into_one_turn():
    region = Region((0, 1), (0, 1))
    moved = region.bounded(np.array([[-1.0, 0.5, 3.0, 3.5]]))
    np.testing.assert_allclose(moved, [[0.0, 0.5, 0.0, 3.5 - 2 * math.pi]])


def test_a_base_turns_about_the_axis_along_which_it_is_mounted():
    wall = Region((0, 0), (0, 0), mounting=(0.0, math.pi / 2, 0.0))
    poses = wall.poses(np.array([[1.0, 2.0, 3.0, 0.7], [0.0, 0.0, 0.0, -2.0]]))
    np.testing.assert_allclose(poses[:, :3, 2], [[1, 0, 0], [1, 0, 0]], atol=1e-12)
    np.testing.assert_array_equal(poses[0, :3, 3], [1.0, 2.0, 3.0])
    ceiling = Region((0, 0), (0, 0), mounting=(math.pi, 0.0, 0.0))
    np.testing.assert_allclose(
        ceiling.poses(np.array([[0, 0, 0, 0.7]]))[0, :3, 2], [0, 0, -1], atol=1e-12
    )


@pytest.mark.parametrize('mounting', [(0, 0, 0), (math.pi, 0, 0), (0, math.pi / 2, 0)])
def test_no_base_outside_the_default_region_has_a_pose_within_reach(mounting):
    rng = np.random.default_rng(0)
    positions = rng.uniform(-1, 1, (3, 3))
    reach = np.array([0.1, -0.2, 0.3, 0.9])
    region = around(positions, reach, (0.0, 0.4), mounting=mounting)
    wide = Region((-4, 4), (-4, 4), (0.0, 0.4), mounting=mounting).grid(0.2, 6)
    centres = region.poses(wide) @ np.append(reach[:3], 1.0)
    near = (np.linalg.norm(centres[:, None, :3] - positions, axis=2) <= reach[3]).any(axis=1)
    assert near.any()
    assert (wide[near] >= region.lower - 1e-9).all()
    assert (wide[near] <= region.upper + 1e-9).all()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'x': (1, 0)}, 'x: ends at 0 before it begins, at 1'),
        ({'y': (0, math.nan)}, 'y: has to be two numbers'),
        ({'z': (0,)}, 'z: has to be two numbers'),
        ({'yaw': ('a', 'b')}, 'yaw: '),
        ({'mounting': (0, 0)}, 'mounting: has to be three'),
        ({'corners': [(0, 0), (1, 1)]}, 'corners: have to be three or more, not 2'),
        ({'corners': [(0, 0), (1, math.inf), (2, 2)]}, 'corners: have to be finite'),
    ],
)
def test_what_is_no_region_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message.replace('(', r'\(')):
        Region(**{'x': (0, 1), 'y': (0, 1), **arguments})


def test_a_grid_that_is_too_fine_or_empty_is_refused():
    with pytest.raises(ArgumentError, match='spacing: of 1e-05 m makes more than'):
        Region((0, 1), (0, 1)).grid(1e-5, 8)
    flat = Region.polygon([(0, 0), (1, 0), (0.5, 0)])
    with pytest.raises(ArgumentError, match='corners: hold no place'):
        flat.grid(0.1, 1)
