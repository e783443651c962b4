"""Targets in files of NumPy and on grids."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

from ik_service.exceptions import ArgumentError
from ik_service.extras.scale import PoseGrid, solve_to_store
from ik_service.extras.scale.targets import block_targets


@pytest.fixture
def file(targets, tmp_path):
    np.save(tmp_path / 't.npy', targets)
    return tmp_path / 't.npy'


@pytest.mark.parametrize('rows', [slice(None), slice(7, 1900), slice(1500, 2000)])
def test_parts_of_a_map_are_read_where_they_are(targets, file, rows):
    read = block_targets(np.load(file, mmap_mode='r')[rows])
    again = pickle.loads(pickle.dumps(read))
    for each in (read, again):
        np.testing.assert_array_equal(each.block(3, 450), targets[rows][3:450])
    assert len(pickle.dumps(read)) < 1000
    assert again.digest == read.digest


def test_targets_in_memory_are_written_as_they_are(targets, tmp_path):
    for rows in (targets, targets[::-2], targets[:7].astype('>f4')):
        written = block_targets(np.asarray(rows)).save(tmp_path / 'rows.npy')
        np.testing.assert_array_equal(np.load(tmp_path / 'rows.npy'), rows)
        np.testing.assert_array_equal(written.block(0, len(rows)), rows)


def test_full_disk_is_told_with_its_reason(targets, tmp_path):
    (tmp_path / 'full.npy').symlink_to('/dev/full')
    with pytest.raises(OSError, match='No space left on device'):
        block_targets(targets).save(tmp_path / 'full.npy')


@pytest.mark.parametrize('rows', [slice(None, None, 2), slice(None, None, -1)])
def test_rows_out_of_order_are_taken_from_memory(targets, file, rows):
    read = block_targets(np.load(file, mmap_mode='r')[rows])
    np.testing.assert_array_equal(read.block(0, 1000), targets[rows][:1000])


def test_other_types_and_changed_maps_count(targets, tmp_path):
    np.save(tmp_path / 'f.npy', targets.astype('>f4'))
    read = block_targets(np.load(tmp_path / 'f.npy', mmap_mode='r'))
    np.testing.assert_array_equal(read.block(0, 9), targets[:9].astype(np.float32))
    changed = np.load(tmp_path / 'f.npy', mmap_mode='r+')
    changed[3] = 0.0
    assert not block_targets(changed).block(3, 4).any()


def test_file_that_is_removed_is_read_to_the_end(targets, file):
    read = block_targets(np.load(file, mmap_mode='r'))
    file.unlink()
    np.testing.assert_array_equal(read.block(0, 2000), targets)
    with pytest.raises(ArgumentError, match='No such file'):
        pickle.loads(pickle.dumps(read))


def test_map_of_a_file_that_was_replaced_is_what_is_solved(
    spec, expected, targets, file, tmp_path
):
    mapped = np.load(file, mmap_mode='r')
    for name, rows in (('other', targets[::-1]), ('short', targets[:7])):
        np.save(tmp_path / 'new.npy', rows)
        os.replace(tmp_path / 'new.npy', file)
        report = solve_to_store(spec, mapped[:1000], tmp_path / name, progress=False)
        np.testing.assert_array_equal(report.store.read('q'), expected.q[:1000])


def test_file_that_is_changed_meanwhile_is_told(spec, expected, targets, file, tmp_path):
    def change(done, _):
        if done == 600:
            written = np.load(file, mmap_mode='r+')
            written[5] = targets[6]
            written.flush()

    of_file = np.load(file, mmap_mode='r')
    with pytest.raises(ArgumentError, match=r'0 to 300 are others now .* solves 1 chunks again'):
        solve_to_store(spec, of_file, tmp_path / 's', chunk=300, progress=change)
    report = solve_to_store(spec, of_file, tmp_path / 's', progress=False)
    assert report.solved_before == 1700
    wanted = expected.q.copy()
    wanted[5] = expected.q[6]
    np.testing.assert_array_equal(report.store.read('q'), wanted)


def test_file_that_is_only_touched_meanwhile_is_no_fault(spec, file, tmp_path):
    of_file = np.load(file, mmap_mode='r')
    report = solve_to_store(
        spec, of_file, tmp_path / 's', chunk=300, progress=lambda *_: os.utime(file)
    )
    assert report.count == 2000


def test_file_that_is_cut_is_an_error(spec, expected, targets, file, tmp_path):
    def cut(done, _):
        if done == 600:
            os.truncate(file, 100_000)

    of_file = np.load(file, mmap_mode='r')
    with pytest.raises(ArgumentError, match='cut'):
        solve_to_store(spec, of_file, tmp_path / 's', chunk=300, progress=cut)
    np.save(file, targets)
    report = solve_to_store(spec, np.load(file, mmap_mode='r'), tmp_path / 's', progress=False)
    assert report.solved_before >= 600
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


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
