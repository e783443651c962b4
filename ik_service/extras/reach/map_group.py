"""Zarr groups of maps: written as a whole, and read with an error for all that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import os
from pathlib import Path
import shutil
from typing import Any, TypeVar

import numpy as np

from ik_service.exceptions import StoreError
from ik_service.extras.scale.group_files import (
    disk_errors,
    load_zarr,
    missing_fault,
    opening_fault,
    ZARR_REMEDY,
)

_CHUNK = 1_000_000  # rows of a chunk, divided by the width of a row
_MAKER = 'of ik_service'

Content = TypeVar('Content')
Reader = Callable[[str], np.ndarray]  # returns the numbers of an array, by its name


def write_group(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    arrays: Mapping[str, tuple[np.ndarray, str]],
    attributes: Mapping[str, object],
) -> None:
    """
    Write a group; an existing one of its kind is replaced once the new one is whole.

    Each file has a checksum, and chunks of nothing but zeros have files too, so that damaged and
    missing ones are noticed.

    :param kind: its kind, such as 'capability map'.
    :param attributes: of the group, besides kind and version.
    :raises StoreError: something else is there, or the disk refuses.
    :raises MissingExtraError: zarr is not installed.
    """
    zarr, folder = load_zarr(), Path(path)
    check_place(folder, kind)
    with disk_errors(folder):
        made = folder.with_name(f'{folder.name}.new-{os.getpid()}')
        group = zarr.open_group(made, mode='w')
        for name, (values, unit) in arrays.items():
            rows = max(1, _CHUNK // max(values[:1].size, 1))
            array = group.create_array(
                name,
                shape=values.shape,
                chunks=(rows, *values.shape[1:]),
                dtype=values.dtype,
                compressors=[zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()],
                config={'write_empty_chunks': True},
            )
            array[:] = values
            array.attrs['unit'] = unit
        group.attrs.update({'kind': f'{kind} {_MAKER}', 'format': version, **attributes})
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


def check_place(path: str | os.PathLike[str], kind: str) -> None:
    """Check that nothing is in the place of a group but one of its kind; StoreError otherwise."""
    folder = Path(path)
    with disk_errors(folder):
        if folder.exists():
            _attributes(folder, kind)


def read_group(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    interpret: Callable[[Reader, dict[str, Any]], Content],
) -> Content:
    """
    Read a group.

    :param version: of the layout.
    :param interpret: returns the content of a group, from a reader of its arrays and its
        attributes; whatever it raises means that these are damaged.
    :raises StoreError: there is none, it is of another version, or damaged.
    :raises MissingExtraError: zarr is not installed.
    """
    zarr, folder = load_zarr(), Path(path)
    with disk_errors(folder):
        attributes = _attributes(folder, kind)
        if attributes.get('format') != version:
            raise StoreError(
                folder, f'has layout {attributes.get("format")}, which is not {version}'
            )
        try:
            group = zarr.open_group(folder, mode='r')
            return interpret(lambda name: _numbers(folder, group, name), attributes)
        except OSError:
            raise
        except Exception as error:  # the exception depends on the damaged part
            raise StoreError(folder, f'is damaged: {error}; {ZARR_REMEDY}') from error


def _attributes(folder: Path, kind: str) -> dict[str, Any]:
    try:
        found = dict(load_zarr().open_group(folder, mode='r').attrs)
    except Exception as error:  # as above
        raise StoreError(folder, opening_fault(folder, kind, error)) from error
    if found.get('kind') != f'{kind} {_MAKER}':
        raise StoreError(folder, f'holds something else than the {kind} of an arm')
    return found


def _numbers(folder: Path, group: Any, name: str) -> np.ndarray:  # noqa: ANN401 - zarr's group
    """Return the numbers of an array, all files of which have to be there."""
    try:
        array = group.get(name)
        if array is None:
            raise ValueError('the array is missing')
        for place in np.ndindex(*map(math.ceil, np.divide(array.shape, array.chunks))):
            file = folder / name / array.metadata.encode_chunk_key(place)
            if not file.is_file():
                raise ValueError(missing_fault(file, folder))
        return np.asarray(array[:])
    except OSError:  # of the disk
        raise
    except Exception as error:  # as above
        raise ValueError(f'{name}: {error}') from error
