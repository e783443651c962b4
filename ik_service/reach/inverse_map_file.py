"""Files of inverse reachability maps, in Zarr."""

from __future__ import annotations

import os
from pathlib import Path
import shutil

import numpy as np

from ik_service.exceptions import StoreError
from ik_service.reach.inverse_map import InverseMap
from ik_service.scale.chain_spec import ChainSpec
from ik_service.scale.result_store import disk_errors, load_zarr

KIND = 'inverse reachability map of ik_service'
FORMAT = 1
"""Version of the layout."""

_DIMENSIONS = {'origin': 1, 'rotations': 3, 'quality': 4}
_CHUNK = 1_000_000  # numbers of a chunk


def save_inverse_map(found: InverseMap, path: str | os.PathLike[str]) -> None:
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
            _attributes(folder)
        made = folder.with_name(f'{folder.name}.new-{os.getpid()}')
        group = zarr.open_group(made, mode='w')
        for name in _DIMENSIONS:
            values = getattr(found, name)
            rows = min(len(values), max(1, _CHUNK // max(values[:1].size, 1)))
            chunks = (max(rows, 1), *values.shape[1:])
            array = group.create_array(name, shape=values.shape, chunks=chunks, dtype=values.dtype)
            array[...] = values
        group.attrs.update(
            {
                'kind': KIND,
                'format': FORMAT,
                'chain': found.spec.to_json(),
                'spacing': found.spacing,
                'units': {'origin': 'm', 'spacing': 'm', 'rotations': '1', 'quality': '1'},
            }
        )
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


def load_inverse_map(path: str | os.PathLike[str]) -> InverseMap:
    """
    Read a map.

    :param path: folder of the group.
    :raises StoreError: there is none, it is of another version, or damaged.
    :raises MissingExtraError: zarr is not installed.
    """
    folder, zarr = Path(path), load_zarr()
    with disk_errors(folder):
        attributes = _attributes(folder)
        if attributes.get('format') != FORMAT:
            raise StoreError(
                folder, f'has layout {attributes.get("format")}, which is not {FORMAT}'
            )
        try:
            group = zarr.open_group(folder, mode='r')
            arrays = {name: np.asarray(group[name][...]) for name in _DIMENSIONS}
            spec = ChainSpec.from_json(str(attributes['chain']))
            found = InverseMap(spec, spacing=float(str(attributes['spacing'])), **arrays)
        except OSError:
            raise
        except Exception as error:  # what a damaged file raises depends on where the damage is
            raise StoreError(folder, f'is damaged: {error}') from error
        _check(folder, found)
        return found


def _attributes(folder: Path) -> dict[str, object]:
    try:
        found = dict(load_zarr().open_group(folder, mode='r').attrs)
    except Exception as error:  # as above
        raise StoreError(folder, f'is no inverse reachability map: {error}') from error
    if found.get('kind') != KIND:
        raise StoreError(folder, 'holds something else than an inverse reachability map')
    return found


def _check(folder: Path, found: InverseMap) -> None:
    """Check the shapes of what was read."""
    shapes = {'origin': (3,), 'rotations': (found.quality.shape[-1], 3, 3)}
    wrong = [name for name, shape in shapes.items() if getattr(found, name).shape != shape]
    wrong += [name for name, count in _DIMENSIONS.items() if getattr(found, name).ndim != count]
    if wrong or not 0.0 < found.spacing < np.inf:
        raise StoreError(folder, f'is damaged: {wrong[0] if wrong else "spacing"} cannot be')
