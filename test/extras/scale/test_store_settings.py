"""Stores whose settings were changed or damaged: that is told, and the chunks are kept."""

from __future__ import annotations

import json

import pytest
from support.stores import assert_same

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

from ik_service.exceptions import StoreError
from ik_service.extras.scale import ResultStore


@pytest.fixture(scope='module')
def targets(targets):
    return targets[:1000]


def files_of(path):
    return {file: file.read_bytes() for file in path.rglob('*') if file.is_file()}


@pytest.mark.parametrize(
    ('array', 'changes', 'text'),
    [
        ('q', {'data_type': 'float32'}, 'array q has type float32, not float64'),
        ('status', {'data_type': 'int8'}, 'array status cannot be opened: .*int8'),
        ('status', {'data_type': 'int8', 'fill_value': -1}, 'array status has type int8'),
        ('status', {'fill_value': 0}, 'array status has 0 for what is missing, not 255'),
        ('q', {'shape': [1000, 6]}, r'array q has rows of shape \(6,\), not \(7,\)'),
        ('q', {'chunk_grid': {'name': 'regular', 'configuration': {'chunk_shape': [99, 7]}}},
         r'array q has chunks of shape \(99, 7\), not \(100, 7\)'),
        ('searches', {'codecs': [{'name': 'bytes', 'configuration': {'endian': 'little'}}]},
         'array searches is coded by bytes, not bytes, crc32c'),
        ('searches', {'codecs': [{'name': 'bytes', 'configuration': {'endian': 'big'}},
                                 {'name': 'crc32c'}]},
         r'array searches is coded by bytes \(big'),
    ],
)  # fmt: skip
def test_changed_arrays_are_named(solve, expected, tmp_path, array, changes, text):
    solve()
    settings = tmp_path / 's' / array / 'zarr.json'
    right = settings.read_text()
    settings.write_text(json.dumps(json.loads(right) | changes))
    before = files_of(tmp_path / 's')
    with pytest.raises(StoreError, match=f'is damaged: the {text}'):
        solve()
    assert files_of(tmp_path / 's') == before
    settings.write_text(right)
    report = solve()
    assert report.solved_before == 1000
    assert_same(report.store, expected)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('chunk', 0), ('chunk', 'a'), ('chunk', None), ('chunk', True), ('chunk', 99),
        ('joint_names', 3), ('joint_names', [1]), ('joint_names', ['a']), ('spec', None),
        ('targets', 3), ('id', 5), ('chain', None), ('id', '0' * 32), ('targets', 'array 999'),
        ('joint_names', list('abcdefg')), ('format', 2), ('digests', None),
        ('digests', {'a': 'b'}),
    ],
)  # fmt: skip
def test_changed_attributes_are_named(solve, tmp_path, name, value):
    solve()
    settings = tmp_path / 's' / 'zarr.json'
    content = json.loads(settings.read_text())
    content['attributes'][name] = value
    settings.write_text(json.dumps(content))
    before = files_of(tmp_path / 's')
    with pytest.raises(StoreError, match=r'is damaged: .*another folder'):
        solve()
    assert files_of(tmp_path / 's') == before


def test_attributes_of_others_stay(solve, tmp_path):
    solve()
    settings = tmp_path / 's' / 'zarr.json'
    content = json.loads(settings.read_text())
    content['attributes'] |= {'operator': 'Ada'}
    settings.write_text(json.dumps(content))
    assert solve().solved_before == 1000
    assert ResultStore.existing(tmp_path / 's').attributes['operator'] == 'Ada'


def test_array_in_the_place_of_a_group_is_told(solve, tmp_path):
    solve()
    settings = tmp_path / 's' / 'zarr.json'
    settings.write_text((tmp_path / 's' / 'q' / 'zarr.json').read_text())
    with pytest.raises(StoreError, match='is no store of answers but an array of Zarr'):
        solve()
    settings.unlink()
    with pytest.raises(StoreError, match=r'is no store of answers: it has no file zarr\.json'):
        solve()


@pytest.mark.parametrize('array', ['q', 'status'])
def test_folder_in_the_place_of_a_file_is_named(solve, tmp_path, array):
    solve()
    file = tmp_path / 's' / array / 'c' / ('3/0' if array == 'q' else '3')
    file.unlink()
    file.mkdir()
    if array == 'q':
        text = 'the file q/c/3/0 is missing: a folder is in its place'
        with pytest.raises(StoreError, match=text):
            ResultStore.existing(tmp_path / 's').read('q')
    with pytest.raises(StoreError, match=f'cannot be used: {file}: Is a directory'):
        solve()


@pytest.mark.parametrize('content', ['', '{', '[]', '{"zarr_format": 3, "node_type": "gr'])
@pytest.mark.parametrize('place', ['', 'status'])
def test_settings_that_are_half_written_are_told(solve, tmp_path, content, place):
    solve()
    (tmp_path / 's' / place / 'zarr.json').write_text(content)
    name = f'{place}/zarr.json' if place else 'zarr.json'
    with pytest.raises(StoreError, match=f'damaged: its file {name} .*another folder'):
        solve()
    with pytest.raises(StoreError, match=f'damaged: its file {name} .*another folder'):
        ResultStore.existing(tmp_path / 's')


def test_missing_parts_are_named(solve, tmp_path):
    solve()
    settings = tmp_path / 's' / 'zarr.json'
    details = json.loads(settings.read_text())
    del details['attributes']['joint_names']
    settings.write_text(json.dumps(details))
    with pytest.raises(StoreError, match='joint_names'):
        solve()


def test_changed_chain_is_told_also_by_those_who_only_read(solve, tmp_path):
    solve()
    settings = tmp_path / 's' / 'zarr.json'
    whole = settings.read_text()
    content = json.loads(whole)
    chain = json.loads(content['attributes']['chain'])
    chain['options']['position_tolerance'] *= 2.0
    for changed in (json.dumps(chain), '{', 'null', '[' * 10_000):
        content['attributes']['chain'] = changed
        settings.write_text(json.dumps(content))
        with pytest.raises(StoreError, match='attribute chain is not that of its attribute spec'):
            ResultStore.existing(tmp_path / 's')
    settings.write_text(whole)
    assert (
        ResultStore.existing(tmp_path / 's').chain_spec.digest == solve().store.chain_spec.digest
    )
