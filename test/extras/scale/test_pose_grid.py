"""Grids of poses: every rotation at every position, none of them held."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

from ik_service.exceptions import ArgumentError
from ik_service.extras.scale import PoseGrid


def test_grid_has_every_rotation_at_every_position():
    turn = np.diag([-1.0, -1.0, 1.0])
    grid = PoseGrid.over(([0.1, 0.2], [0.3], [0.4, 0.5]), [np.eye(3), turn])
    poses = grid.block(0, len(grid))
    assert poses.shape == (8, 4, 4)
    np.testing.assert_array_equal(poses[::2, :3, 3], grid.positions)
    np.testing.assert_array_equal(poses[1::2, :3, 3], grid.positions)
    np.testing.assert_array_equal(poses[1, :3, :3], turn)
    np.testing.assert_array_equal(grid.block(3, 5), poses[3:5])


def test_huge_grid_is_never_made():
    axis = np.linspace(-1.0, 1.0, 100)
    rotations = np.tile(np.eye(3), (1000, 1, 1))
    grid = PoseGrid.over((axis, axis, axis), rotations)
    assert len(grid) == 10**9
    np.testing.assert_array_equal(grid.block(10**9 - 1, 10**9)[0, :3, 3], [1.0, 1.0, 1.0])


def test_grids_are_equal_when_their_numbers_are():
    first = PoseGrid.over(([0.1, 0.2], 0.3, [0.4]), [np.eye(3)])
    again = PoseGrid([[0.1, 0.3, 0.4], [0.2, 0.3, 0.4]], np.eye(3)[None])
    other = PoseGrid.over(([0.1, 0.2], [0.3], [0.5]), [np.eye(3)])
    assert first == again == pickle.loads(pickle.dumps(first))
    assert first != other
    assert first != 3
    assert {first, again, other} == {first, other}
    with pytest.raises(ValueError, match='read-only'):
        first.positions[0] = 0.0


@pytest.mark.parametrize('axes', [([0.0], [1.0]), ([0.0],) * 4, 3, None, (np.eye(2),) * 3])
def test_grids_of_other_than_three_axes_are_refused(axes):
    with pytest.raises(ArgumentError, match='axes: have to be coordinates along x, y and z'):
        PoseGrid.over(axes, [np.eye(3)])


@pytest.mark.parametrize(('count', 'size'), [(10**5, '24,000,000'), (10**7, '24,000,000,000,000')])
def test_grids_beyond_memory_are_told_with_their_size(count, size):
    axis = np.arange(count)
    with pytest.raises(
        ArgumentError, match=f'{count**3:,} positions, {size} GB, which do not fit'
    ):
        PoseGrid.over((axis, axis, axis), [np.eye(3)])
