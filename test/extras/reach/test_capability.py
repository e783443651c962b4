"""Capability maps: what they miss, their comparison, and their files."""

import json
import math
import shutil

import numpy as np
import pytest
from support.reach_maps import assert_same_map, made_map
from support.robots import GANTRY

from ik_service.extras.reach.capability import MapCheck
from ik_service.extras.reach.survey import SAMPLE, sample

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

import zarr

from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.reach import CapabilityMap


def test_number_of_missed_targets_estimated_from_a_sample():
    assert MapCheck(tried=100, found=2, given_up=1000).missed == pytest.approx(20.0)
    assert MapCheck(tried=100, found=0, given_up=1000).missed == pytest.approx(30.0)
    assert MapCheck(tried=100, found=0, given_up=100).missed == 0.0
    assert MapCheck(tried=0, found=0, given_up=0).missed == 0.0


def test_samples_are_of_those_given_up_and_spread_over_all_of_them():
    given_up = np.arange(2_500_000) % 7 == 3
    chosen = sample(given_up)
    assert len(chosen) == len(np.unique(chosen)) == SAMPLE
    assert given_up[chosen].all()
    tenths = np.histogram(chosen, bins=10, range=(0, len(given_up)))[0]
    assert tenths.min() > 0.7 * SAMPLE / 10
    np.testing.assert_array_equal(chosen, sample(given_up))
    assert sample(given_up[:700]).tolist() == list(range(3, 700, 7))
    assert len(sample(np.zeros(5, bool))) == 0


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
def test_only_maps_are_compared(other):
    with pytest.raises(ArgumentError, match='other: has to be a CapabilityMap, not'):
        block(0, [1] * 8).compare(other)


ARRAYS = (
    'positions', 'rotations', 'reached', 'free', 'position_reached', 'position_free',
    'manipulability', 'limit_distance',
)  # fmt: skip


@pytest.fixture(scope='module')
def made():
    return made_map(GANTRY, (STEPS, STEPS, STEPS), np.arange(27) % 6 - 1)


@pytest.fixture(scope='module')
def kept(made, tmp_path_factory):
    """The file of the map, which is not to be changed."""
    path = tmp_path_factory.mktemp('kept') / 'm.zarr'
    made.save(path)
    return path


@pytest.fixture
def path(kept, tmp_path):
    """A file of the map."""
    return shutil.copytree(kept, tmp_path / 'm.zarr')


def test_a_map_is_read_as_it_was_written(made, tmp_path):
    made.save(tmp_path / 'm.zarr')
    found = CapabilityMap.load(tmp_path / 'm.zarr')
    assert_same_map(found, made)
    assert (found.spacing, found.volume) == (made.spacing, made.volume)
    with pytest.raises(ValueError, match='read-only'):
        found.free[0] = True
    attributes = dict(zarr.open_group(tmp_path / 'm.zarr', mode='r').attrs)
    assert attributes['kind'] == 'capability map of ik_service'
    assert attributes['spacing'] == 0.1


def test_a_map_takes_the_place_of_another_but_of_nothing_else(made, tmp_path):
    other = made_map(GANTRY, (STEPS[:1],) * 3, [2])
    made.save(tmp_path / 'm.zarr')
    other.save(tmp_path / 'm.zarr')
    assert_same_map(CapabilityMap.load(tmp_path / 'm.zarr'), other)
    assert [path.name for path in tmp_path.iterdir()] == ['m.zarr']
    letters = tmp_path / 'letters'
    letters.mkdir()
    (letters / 'love.txt').write_text('dear')
    with pytest.raises(StoreError, match='letters'):
        made.save(letters)
    assert (letters / 'love.txt').read_text() == 'dear'


def edit(path, **changes):
    group = zarr.open_group(path, mode='r+')
    for name, value in changes.items():
        group.attrs[name] = value


def cut_short(path):
    for file in (path / 'free' / 'c').rglob('*'):
        if file.is_file():
            file.write_bytes(file.read_bytes()[:7])


@pytest.mark.parametrize(
    ('damage', 'text'),
    [
        (lambda path: edit(path, format=1), 'layout 1, which is not 2'),
        (lambda path: edit(path, kind='shopping list'), 'something else'),
        (lambda path: edit(path, chain='{}'), 'damaged'),
        (lambda path: edit(path, missed_poses=3), 'damaged'),
        (lambda path: edit(path, tip_link=None), 'damaged.*tip_link'),
        (lambda path: zarr.open_group(path, mode='r+')['free'].resize((26, 4)), 'damaged.*free'),
        (cut_short, 'damaged'),
        (lambda path: (path / 'zarr.json').write_text('{'), r'damaged.*zarr\.json'),
        (lambda path: (path / 'rotations' / 'zarr.json').unlink(), 'damaged.*rotations'),
        (lambda path: (path / 'rotations' / 'zarr.json').write_text(''), 'damaged.*rotations'),
    ],
)
def test_damaged_and_foreign_files_are_refused(path, damage, text):
    damage(path)
    with pytest.raises(StoreError, match=text):
        CapabilityMap.load(path)


def test_attributes_and_notes_of_others_are_no_damage(made, path):
    edit(path, operator='Ada')
    zarr.open_group(path, mode='r+')['positions'].attrs['note'] = 'mine'
    assert_same_map(CapabilityMap.load(path), made)


def files_of(path, array):
    return [file for file in (path / array / 'c').rglob('*') if file.is_file()]


@pytest.mark.parametrize('array', ARRAYS)
def test_damaged_numbers_are_refused(path, array):
    (file,) = files_of(path, array)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(StoreError, match=f'damaged: {array}: .*checksum'):
        CapabilityMap.load(path)


def test_missing_files_are_refused_also_those_of_nothing_but_zeros(tmp_path):
    path = tmp_path / 'm.zarr'
    made_map(GANTRY, (STEPS, STEPS, STEPS), np.full(27, -1)).save(path)
    for array in ARRAYS:
        (file,) = files_of(path, array)
        content = file.read_bytes()
        file.unlink()
        text = f'damaged: {array}: the file {file.relative_to(path)} is missing'
        with pytest.raises(StoreError, match=text):
            CapabilityMap.load(path)
        file.mkdir()
        with pytest.raises(StoreError, match=f'{text}: a folder is in its place'):
            CapabilityMap.load(path)
        file.rmdir()
        file.write_bytes(content)


def test_each_of_several_files_is_looked_for(tmp_path):
    path = tmp_path / 'm.zarr'
    made_map(GANTRY, (STEPS[:2], STEPS[:2], STEPS[:2]), np.zeros(8), 200_000).save(path)
    assert len(files_of(path, 'reached')) == 2
    CapabilityMap.load(path)
    (path / 'reached' / 'c' / '1' / '0').unlink()
    with pytest.raises(StoreError, match='the file reached/c/1/0 is missing'):
        CapabilityMap.load(path)


def test_what_is_no_map_is_refused(tmp_path):
    (tmp_path / 'file').write_text(json.dumps({}))
    for path in (tmp_path, tmp_path / 'file', tmp_path / 'nothing'):
        with pytest.raises(StoreError, match='is no capability map'):
            CapabilityMap.load(path)
    with pytest.raises(ArgumentError, match='has to be the path of a folder, not None'):
        CapabilityMap.load(None)
