"""Files of capability maps, in Zarr."""

from __future__ import annotations

from dataclasses import asdict
import os
from pathlib import Path
import shutil
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.reach.check import Check
from ik_service.scale.chain_spec import ChainSpec
from ik_service.scale.result_store import disk_errors, load_zarr

if TYPE_CHECKING:
    from ik_service.reach.capability import CapabilityMap

KIND = 'capability map of ik_service'
FORMAT = 1
"""Version of the layout."""

_UNITS = {
    'positions': 'm',
    'rotations': '1',
    'reached': '1',
    'free': '1',
    'position_reached': '1',
    'position_free': '1',
    'manipulability': 'm, rad',
    'limit_distance': '1',
}
_BOOLEAN = ('reached', 'free', 'position_reached', 'position_free')
_CHUNK = 1_000_000  # rows of a chunk, divided by the width of a row


def write_map(found: CapabilityMap, path: str | os.PathLike[str]) -> None:
    """
    Write a map; an existing one is replaced once the new one is whole.

    :param found: the map.
    :param path: folder of the group.
    :raises StoreError: something else is there, or the disk refuses.
    :raises MissingExtraError: zarr is not installed.
    """
    zarr, folder = load_zarr(), Path(path)
    with disk_errors(folder):
        if folder.exists():
            _check_kind(folder, _attributes(folder))
        made = folder.with_name(f'{folder.name}.new-{os.getpid()}')
        group = zarr.open_group(made, mode='w')
        for name, unit in _UNITS.items():
            values = getattr(found, name)
            rows = max(1, _CHUNK // max(values[:1].size, 1))
            array = group.create_array(
                name, shape=values.shape, chunks=(rows, *values.shape[1:]), dtype=values.dtype
            )
            array[:] = values
            array.attrs['unit'] = unit
        group.attrs.update(
            {
                'kind': KIND,
                'format': FORMAT,
                'chain': found.spec.to_json(),
                'base_link': found.base_link,
                'tip_link': found.tip_link,
                'spacing': None if np.isnan(found.spacing) else found.spacing,
                'searches': found.searches,
                'missed_positions': asdict(found.missed_positions),
                'missed_poses': asdict(found.missed_poses),
            }
        )
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


def read_map(path: str | os.PathLike[str]) -> dict[str, Any]:
    """
    Return the attributes of a map.

    :param path: folder of the group.
    :raises StoreError: there is none, it is of another version, or damaged.
    :raises MissingExtraError: zarr is not installed.
    """
    folder = Path(path)
    load_zarr()
    with disk_errors(folder):
        attributes = _attributes(folder)
        _check_kind(folder, attributes)
        if attributes.get('format') != FORMAT:
            raise StoreError(
                folder, f'has layout {attributes.get("format")}, which is not {FORMAT}'
            )
        try:
            values = _read(folder, attributes)
            _check(values)
            return values
        except (OSError, StoreError):
            raise
        except Exception as error:  # what a damaged file raises depends on where the damage is
            raise StoreError(folder, f'is damaged: {error}') from error


def _attributes(folder: Path) -> dict[str, Any]:
    try:
        return dict(load_zarr().open_group(folder, mode='r').attrs)
    except Exception as error:  # as above
        raise StoreError(folder, f'is no capability map: {error}') from error


def _check_kind(folder: Path, attributes: dict[str, Any]) -> None:
    if attributes.get('kind') != KIND:
        raise StoreError(folder, 'holds something else than a capability map')


def _read(folder: Path, attributes: dict[str, Any]) -> dict[str, Any]:
    group = load_zarr().open_group(folder, mode='r')
    return {
        'spec': ChainSpec.from_json(attributes['chain']),
        'base_link': attributes['base_link'],
        'tip_link': attributes['tip_link'],
        'missed_positions': Check(**attributes['missed_positions']),
        'missed_poses': Check(**attributes['missed_poses']),
        'searches': int(attributes['searches']),
        **{name: np.asarray(group[name][:]) for name in _UNITS},
    }


def _check(values: dict[str, Any]) -> None:
    """Check the shapes and types of what was read."""
    for name in ('base_link', 'tip_link'):
        if not isinstance(values[name], str):
            raise ArgumentError(name, f'has to be a name, not {safe_repr(values[name])}')
    positions, rotations = len(values['positions']), len(values['rotations'])
    shapes = {
        'positions': (positions, 3),
        'rotations': (rotations, 3, 3),
        'reached': (positions, rotations),
        'free': (positions, rotations),
    }
    for name in _UNITS:
        array, shape = values[name], shapes.get(name, (positions,))
        if array.shape != shape:
            raise ArgumentError(name, f'has shape {array.shape}, has to be {shape}')
        kind = np.dtype(bool if name in _BOOLEAN else float)
        if array.dtype != kind:
            raise ArgumentError(name, f'has type {array.dtype}, has to be {kind}')
