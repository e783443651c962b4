"""Chunks of a store: files that Zarr reads, and that are known from those of other chunks."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from support.stores import ARRAYS, assert_same_store, file_of

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

import zarr

from ik_service.exceptions import StoreError
from ik_service.extras.scale import (
    PoseGrid,
    ResultStore,
)
from ik_service.extras.scale.store_chunks import StoreChunks

FILES = (*ARRAYS, 'target_digest', 'status', 'checksums')


@pytest.fixture(scope='module')
def targets(targets):
    return targets[:430]


def copy(source, number, destination, place, arrays=FILES):
    for array in arrays:
        shutil.copy(file_of(source, array, number), file_of(destination, array, place))


def test_zarr_reads_what_is_written(solve, tmp_path):
    store = solve().store
    group = zarr.open_group(tmp_path / 's', mode='r')
    assert set(group.array_keys()) == set(FILES)
    for name in (*ARRAYS, 'target_digest', 'status'):
        assert group[name].shape[0] == 430
        np.testing.assert_array_equal(group[name][:], store.read(name))
    assert group['checksums'].shape == (5, 7)
    assert len(np.unique(group['checksums'][:])) == 35


def test_what_zarr_has_written_is_read(solve, targets, expected, tmp_path):
    solve()
    group = zarr.open_group(tmp_path / 's', mode='r+')
    for name in FILES:
        group[name][:] = group[name][:]
    report = solve()
    assert report.solved_before == 430
    assert_same_store(report.store, expected, slice(430))


@pytest.mark.parametrize('array', FILES)
def test_file_of_another_chunk_is_noticed(solve, expected, tmp_path, array):
    solve()
    copy(tmp_path / 's', 1, tmp_path / 's', 3, [array])
    equal = array == 'status'  # all were solved
    read = 'q' if array == 'checksums' else array
    if not equal:
        with pytest.raises(StoreError, match=f'damaged: {read}, rows 300 to 400: .* is not the'):
            ResultStore.existing(tmp_path / 's').read(read, 300, 400)
    report = solve()
    assert report.solved_before == (430 if equal else 330)
    assert_same_store(report.store, expected, slice(430))


def test_all_files_of_another_chunk_or_store_are_noticed(spec, targets, solve, tmp_path):
    turns = targets[:6, :3, :3]
    grids = [PoseGrid(targets[rows, :3, 3], turns) for rows in (slice(60), slice(60, 120))]
    expected = solve(targets=grids[0]).store.read('q')
    solve(tmp_path / 'other', targets=grids[1])
    for source, number in (('s', 1), ('other', 2)):
        copy(tmp_path / source, number, tmp_path / 's', 2)
        report = solve(targets=grids[0])
        assert report.solved_before == 260
        np.testing.assert_array_equal(report.store.read('q'), expected)


def test_chunk_that_is_written_meanwhile_is_read_again(solve, targets, expected, monkeypatch):
    store = solve().store
    rows = {name: store.read(name, 100, 200) for name in store.arrays}
    other = {**rows, 'q': rows['q'] + 1.0}
    chunks, written = store._chunks, StoreChunks._written

    def overtaken(self, number):
        found = written(self, number)
        monkeypatch.undo()
        self.write(number, other)
        return found

    monkeypatch.setattr(StoreChunks, '_written', overtaken)
    np.testing.assert_array_equal(store.read('q', 100, 200), other['q'])
    chunks.write(1, rows)
    assert_same_store(store, expected, slice(430))
