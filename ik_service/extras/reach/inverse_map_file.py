"""Files of inverse reachability maps, in Zarr."""

from __future__ import annotations

import os
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.map_group import read_group, Reader, write_group
from ik_service.extras.scale.chain_spec import ChainSpec

if TYPE_CHECKING:
    from ik_service.extras.reach.inverse_map import InverseMap

KIND = 'inverse map'
FORMAT = 2
"""Version of the layout; 1 had no digests of the attributes."""

_UNITS = {'origin': 'm', 'rotations': '1', 'quality': '1'}


def write_inverse_map(found: InverseMap, path: str | os.PathLike[str]) -> None:
    """
    Write a map; an existing one is replaced once the new one is whole.

    :param found: the map.
    :param path: folder of the group.
    :raises StoreError: something else is there, or the disk refuses.
    :raises MissingExtraError: zarr is not installed.
    """
    arrays = {name: (getattr(found, name), unit) for name, unit in _UNITS.items()}
    attributes = {'chain': found.spec.to_json(), 'spacing': found.spacing}
    write_group(path, KIND, FORMAT, arrays, attributes)


def read_inverse_map(path: str | os.PathLike[str]) -> dict[str, Any]:
    """
    Return the attributes of a map.

    :param path: folder of the group.
    :raises StoreError: there is none, it is of another version, or damaged.
    :raises MissingExtraError: zarr is not installed.
    """
    return read_group(path, KIND, FORMAT, _read)


def _read(numbers: Reader, attributes: dict[str, Any]) -> dict[str, Any]:
    arrays = {name: numbers(name) for name in _UNITS}
    quality, spacing = arrays['quality'], float(attributes['spacing'])
    if quality.ndim != 4 or quality.dtype != np.float32:
        raise ArgumentError('quality', f'has shape {quality.shape} and type {quality.dtype}')
    for name, shape in (('origin', (3,)), ('rotations', (quality.shape[3], 3, 3))):
        if arrays[name].shape != shape or arrays[name].dtype != np.float64:
            raise ArgumentError(name, f'has shape {arrays[name].shape}, has to be {shape}')
    if not 0.0 < spacing < np.inf:
        raise ArgumentError('spacing', f'is {spacing}')
    return {'spec': ChainSpec.from_json(attributes['chain']), 'spacing': spacing, **arrays}
