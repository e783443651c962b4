"""Maps that are kept as Zarr groups: written as a whole, read with an error for what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import os
from pathlib import Path
import shutil
from typing import Any, ClassVar, Self

import numpy as np

from ik_service.exceptions import StoreError
from ik_service.extras.scale.group_files import (
    disk_errors,
    group_folder,
    load_zarr,
    missing_fault,
    opening_fault,
    ZARR_REMEDY,
)

_CHUNK = 1_000_000  # rows of a chunk, divided by the width of a row
_MAKER = 'of ik_service'

Reader = Callable[[str], np.ndarray]  # returns the numbers of an array, by its name


class StoredMap:
    """
    Map whose arrays can be kept as a Zarr group.

    :cvar UNITS: units of its arrays by their names.
    """

    KIND: ClassVar[str]
    FORMAT: ClassVar[int]
    UNITS: ClassVar[Mapping[str, str]]

    def __post_init__(self) -> None:
        for name in self.UNITS:
            getattr(self, name).setflags(write=False)

    def _attributes(self) -> dict[str, object]:
        """Return what is written beside the arrays."""
        raise NotImplementedError

    @classmethod
    def _read(cls, numbers: Reader, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of a map; whatever is raised means that the group is damaged."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write the map as a Zarr group; one of this kind that is there is replaced.

        Each file has a checksum, and chunks of nothing but zeros have files too, so that damaged
        and missing ones are noticed.

        :param path: its folder.
        :raises ArgumentError: the path is none.
        :raises StoreError: something else is there, or the disk refuses.
        :raises MissingExtraError: zarr is not installed.
        """
        zarr, folder = load_zarr(), group_folder(path)
        self.check_place(folder)
        with disk_errors(folder):
            made = folder.with_name(f'{folder.name}.new-{os.getpid()}')
            group = zarr.open_group(made, mode='w')
            for name, unit in self.UNITS.items():
                values = getattr(self, name)
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
            kind = {'kind': f'{self.KIND} {_MAKER}', 'format': self.FORMAT}
            group.attrs.update({**kind, **self._attributes()})
            if folder.exists():
                shutil.rmtree(folder)
            made.rename(folder)

    @classmethod
    def check_place(cls, path: str | os.PathLike[str]) -> None:
        """Check, before the work, that a map can be written somewhere; StoreError if not."""
        folder = group_folder(path)
        with disk_errors(folder):
            if folder.exists():
                cls._attributes_in(folder)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """
        Read a map that :meth:`save` has written.

        :param path: its folder.
        :raises ArgumentError: the path is none.
        :raises StoreError: there is none, it is of another version, or damaged.
        :raises MissingExtraError: zarr is not installed.
        """
        zarr, folder = load_zarr(), group_folder(path)
        with disk_errors(folder):
            attributes = cls._attributes_in(folder)
            found = attributes.get('format')
            if found != cls.FORMAT:
                raise StoreError(folder, f'has layout {found}, which is not {cls.FORMAT}')
            try:
                group = zarr.open_group(folder, mode='r')
                read = cls._read(lambda name: _numbers(folder, group, name), attributes)
                return cls(**read)
            except OSError:
                raise
            except Exception as error:  # the exception depends on the damaged part
                raise StoreError(folder, f'is damaged: {error}; {ZARR_REMEDY}') from error

    @classmethod
    def _attributes_in(cls, folder: Path) -> dict[str, Any]:
        zarr = load_zarr()
        try:
            found = dict(zarr.open_group(folder, mode='r').attrs)
        except Exception as error:  # as above
            raise StoreError(folder, opening_fault(folder, cls.KIND, error)) from error
        if found.get('kind') != f'{cls.KIND} {_MAKER}':
            raise StoreError(folder, f'holds something else than the {cls.KIND} of an arm')
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
