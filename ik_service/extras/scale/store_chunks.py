"""Chunks of a store: all files of one, and what tells them from those of another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.extras.scale.chunk_files import checksum, decode_chunk, encode_chunk, EncodedChunk
from ik_service.extras.scale.new_store import CHECKSUMS
from ik_service.extras.scale.store_files import missing_fault

if TYPE_CHECKING:
    from zarr import Array

_LAST = 'status'


class StoreChunks:
    """
    Chunks of the arrays of a store, by their numbers.

    Zarr is left out where rows are read and written: its way takes three times as long, of the
    time in which a chunk is solved a tenth.

    :param path: folder of the store.
    :param arrays: its arrays by name; those of the answers, and :data:`CHECKSUMS` if it has them.
    :param identity: of the store.
    """

    def __init__(self, path: Path, arrays: Mapping[str, Array], identity: str) -> None:
        self._path = path
        self._arrays = arrays
        self._identity = identity
        self._names = [name for name in arrays if name not in (CHECKSUMS, _LAST)] + [_LAST]

    def is_complete(self, number: int) -> bool:
        """Return whether all files of a chunk are there."""
        return all(self._file(name, number).is_file() for name in reversed([*self._arrays]))

    def read(self, name: str, number: int) -> np.ndarray:
        """
        Return the rows of a chunk of an array; its fill value where nothing was written yet.

        :param name: name of the array.
        :param number: of the chunk.
        :raises ValueError: the file is damaged, missing or of another chunk.
        :raises OSError: it cannot be read.
        """
        while True:
            written = self._written(number)
            try:
                return self._read(name, number, whole=written is not None)
            except ValueError:
                if written == self._written(number):  # else it was being written
                    raise

    def write(self, number: int, rows: Mapping[str, np.ndarray]) -> None:
        """
        Write a chunk; its status comes last, and is not there meanwhile.

        :param number: of the chunk.
        :param rows: of each array of the answers, by name.
        :raises OSError: the disk refuses.
        """
        self.discard(number)
        chunks = {name: self._encoded(name, rows[name]) for name in self._names}
        if CHECKSUMS in self._arrays:
            marks = [self._mark(name, number, chunks[name].checksum) for name in self._names]
            chunks = {CHECKSUMS: self._encoded(CHECKSUMS, np.array([marks])), **chunks}
        for name, chunk in chunks.items():
            chunk.write(self._file(name, number))

    def discard(self, number: int) -> None:
        """
        Remove the status of a chunk, so that it counts as unsolved.

        :param number: of the chunk.
        :raises OSError: the disk refuses.
        """
        self._file(_LAST, number).unlink(missing_ok=True)

    def grow(self, count: int, size: int) -> None:
        """
        Let arrays that are too short have as many rows as there are targets.

        :param count: number of targets.
        :param size: targets of a chunk.
        :raises OSError: the disk refuses.
        """
        for name, array in self._arrays.items():
            rows = -(-count // size) if name == CHECKSUMS else count
            if array.shape[0] < rows:
                array.resize((rows, *array.shape[1:]))

    def _read(self, name: str, number: int, whole: bool) -> np.ndarray:
        array, file = self._arrays[name], self._file(name, number)
        if not file.is_file():
            if whole:
                raise ValueError(missing_fault(file, self._path))
            return np.full(array.chunks, array.fill_value, array.dtype)
        rows, found = decode_chunk(file, array.dtype, array.chunks)
        if whole and name != CHECKSUMS and CHECKSUMS in self._arrays:
            mark = self._read(CHECKSUMS, number, whole)[0, self._names.index(name)]
            if mark != self._mark(name, number, found):
                raise ValueError(
                    f'the file {file.relative_to(self._path)} is not the one that was written '
                    f'with {self._file(CHECKSUMS, number).relative_to(self._path)}'
                )
        return rows

    def _encoded(self, name: str, rows: np.ndarray) -> EncodedChunk:
        array = self._arrays[name]
        return encode_chunk(rows, array.dtype, array.chunks[0], array.fill_value)

    def _mark(self, name: str, number: int, found: int) -> int:
        """Return a checksum of a file's checksum, the store, the array and the chunk."""
        return checksum(f'{self._identity} {name} {number} {found}'.encode())

    def _written(self, number: int) -> tuple[int, int] | None:
        """Return what tells one writing of a chunk from another; None when it is not whole."""
        try:
            found = self._file(_LAST, number).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _file(self, name: str, number: int) -> Path:
        array = self._arrays[name]
        place = (number, *(0 for _ in array.shape[1:]))
        return self._path / name / array.metadata.encode_chunk_key(place)
