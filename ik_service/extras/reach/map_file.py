"""Files of capability maps, in Zarr."""

from __future__ import annotations

from dataclasses import asdict
import os
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.check import Check
from ik_service.extras.reach.map_group import check_place, read_group, Reader, write_group
from ik_service.extras.scale.chain_spec import ChainSpec

if TYPE_CHECKING:
    from ik_service.extras.reach.capability import CapabilityMap

KIND = 'capability map'
FORMAT = 2
"""Version of the layout; 1 had no digests of the attributes."""

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


def check_map_place(path: str | os.PathLike[str]) -> None:
    """
    Check that a map can be written somewhere, before the work for it is done.

    :param path: folder of the group.
    :raises StoreError: something else is there, or the disk refuses.
    :raises MissingExtraError: zarr is not installed.
    """
    check_place(path, KIND)


def write_map(found: CapabilityMap, path: str | os.PathLike[str]) -> None:
    """
    Write a map; an existing one is replaced once the new one is whole.

    :param found: the map.
    :param path: folder of the group.
    :raises StoreError: something else is there, or the disk refuses.
    :raises MissingExtraError: zarr is not installed.
    """
    arrays = {name: (getattr(found, name), unit) for name, unit in _UNITS.items()}
    write_group(path, KIND, FORMAT, arrays, {
        'chain': found.spec.to_json(),
        'base_link': found.base_link,
        'tip_link': found.tip_link,
        'spacing': None if np.isnan(found.spacing) else found.spacing,
        'searches': found.searches,
        'missed_positions': asdict(found.missed_positions),
        'missed_poses': asdict(found.missed_poses),
    })  # fmt: skip


def read_map(path: str | os.PathLike[str]) -> dict[str, Any]:
    """
    Return the attributes of a map.

    :param path: folder of the group.
    :raises StoreError: there is none, it is of another version, or damaged.
    :raises MissingExtraError: zarr is not installed.
    """
    return read_group(path, KIND, FORMAT, _read)


def _read(numbers: Reader, attributes: dict[str, Any]) -> dict[str, Any]:
    values = {
        'spec': ChainSpec.from_json(attributes['chain']),
        'base_link': attributes['base_link'],
        'tip_link': attributes['tip_link'],
        'missed_positions': Check(**attributes['missed_positions']),
        'missed_poses': Check(**attributes['missed_poses']),
        'searches': int(attributes['searches']),
        **{name: numbers(name) for name in _UNITS},
    }
    _check(values)
    return values


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
