"""Arrays of a store of answers in Zarr, whose chunks are read and written file by file."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import shutil
import sys
from typing import Any, NamedTuple, TYPE_CHECKING
import uuid

import numpy as np

from ik_service.exceptions import MissingExtraError, StoreError
from ik_service.extras.scale.group_files import (
    FAULTS,
    has_content,
    load_zarr,
    missing_fault,
    new_name,
    settings_fault,
    sync_file,
    ZARR_REMEDY,
)
from ik_service.extras.scale.solving import UNSOLVED

if TYPE_CHECKING:
    from zarr import Array, Group


CHECKSUMS = 'checksums'
"""Name of the array with a row for each chunk: checksums that identify its files."""

_CODECS = ['bytes', 'crc32c']
_LAST = 'status'  # the array whose file of a chunk is written last
_CRC = np.dtype('<u4')


class ArrayLayout(NamedTuple):
    """Layout of an array of a store."""

    name: str
    type: str
    width: tuple[int, ...]
    fill: float

    def chunk_shape(self, chunk: int) -> tuple[int, ...]:
        """Return the shape of a file; that of :data:`CHECKSUMS` has one row, for one chunk."""
        return (1 if self.name == CHECKSUMS else chunk, *self.width)

    def length(self, count: int, chunk: int) -> int:
        """Return the number of rows for so many targets."""
        return -(-count // chunk) if self.name == CHECKSUMS else count


def layout(n: int) -> tuple[ArrayLayout, ...]:
    """Return the arrays of a store."""
    answers = (
        ArrayLayout('q', 'float64', (n,), np.nan),
        ArrayLayout('position_error', 'float64', (), np.nan),
        ArrayLayout('orientation_error', 'float64', (), np.nan),
        ArrayLayout('iterations', 'int32', (), 0),
        ArrayLayout('searches', 'int32', (), 0),
        ArrayLayout('target_digest', 'uint32', (), 0),
        ArrayLayout(_LAST, 'uint8', (), UNSOLVED),
    )
    return (*answers, ArrayLayout(CHECKSUMS, 'uint32', (len(answers),), 0))


def make_store(folder: Path, details: Mapping[str, Any], count: int) -> None:
    """
    Make a store, under another name until it is whole, so that no half of one is found.

    :param folder: its folder, which is empty or not there; a store that somebody else has made
        meanwhile is left as it is.
    :param details: attributes of the group, among them ``id``, ``chunk`` and ``joint_names``.
    :raises OSError: the disk refuses.
    """
    zarr = load_zarr()
    folder = Path(os.path.realpath(folder))  # a link to an empty folder stays one
    made = new_name(folder, details['id'])
    chunk = details['chunk']
    try:
        group = zarr.open_group(made, mode='w')
        for array in layout(len(details['joint_names'])):
            group.create_array(
                array.name,
                shape=(array.length(count, chunk), *array.width),
                chunks=array.chunk_shape(chunk),
                dtype=array.type,
                fill_value=array.fill,
                # Joint vectors hardly get smaller, and compression takes as long as solving does.
                compressors=zarr.codecs.Crc32cCodec(),
            )
        group.update_attributes(dict(details))
        for file in made.rglob('zarr.json'):
            sync_file(file)
        made.rename(folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not has_content(folder):  # else another process was faster
            raise


def checked_arrays(path: Path, group: Group, chunk: int, n: int) -> dict[str, Array]:
    """
    Return the arrays of a store by name, which are as they were made but for the number of rows.

    :raises StoreError: an array is missing or another one.
    """
    wanted = layout(n)
    arrays: dict[str, Any] = {array.name: _opened(path, group, array.name) for array in wanted}
    missing = [name for name, array in arrays.items() if array is None]
    if missing:
        fault = f'is damaged: it lacks the arrays {", ".join(missing)}; {ZARR_REMEDY}'
        raise StoreError(path, fault)
    for expected in wanted:
        if fault := _array_fault(arrays[expected.name], expected, chunk):
            fault = f'is damaged: the array {expected.name} {fault}; {ZARR_REMEDY}'
            raise StoreError(path, fault)
    return arrays


def _opened(path: Path, group: Group, name: str) -> object:
    try:
        return group.get(name)
    except FAULTS as error:
        fault = f'is damaged: the array {name} cannot be opened: {error}; {ZARR_REMEDY}'
        raise StoreError(path, settings_fault(path) or fault) from error


def _array_fault(array: Any, expected: ArrayLayout, chunk: int) -> str:  # noqa: ANN401 - or a group
    """Return the difference of an array; empty for none."""
    if not hasattr(array, 'shape'):
        return 'is a group'
    for kind, found, right in (
        ('type', array.dtype, np.dtype(expected.type)),
        ('rows of shape', tuple(array.shape[1:]), expected.width),
        ('chunks of shape', tuple(array.chunks), expected.chunk_shape(chunk)),
    ):
        if found != right:
            return f'has {kind} {found}, not {right}'
    if repr(float(array.fill_value)) != repr(float(expected.fill)):  # also of NaN
        return f'has {array.fill_value} for what is missing, not {expected.fill}'
    codecs = _codecs(array)
    return (
        '' if codecs == _CODECS else f'is coded by {", ".join(codecs)}, not {", ".join(_CODECS)}'
    )


def _codecs(array: Array) -> list[str]:
    """Return the names of the codecs; bytes in the other order have another one."""
    names = []
    for codec in getattr(array.metadata, 'codecs', ()):  # Zarr 2 has none
        described: dict[str, Any] = codec.to_dict()
        order = described.get('configuration', {}).get('endian', sys.byteorder)
        names.append(described['name'] + ('' if order == sys.byteorder else f' ({order} endian)'))
    return names


class StoreChunks:
    """
    Chunks of the arrays of a store, by their numbers.

    Their files are those that Zarr's codecs ``bytes`` and ``crc32c`` make. Zarr is left out where
    they are read and written: for 50,000 answers to a Panda, which take 150 ms of a core, it takes
    12 ms instead of 5 to write them, and 9 instead of 1 to read them (Zarr 3.1).
    """

    def __init__(self, path: Path, arrays: Mapping[str, Array], identity: str) -> None:
        self._path = path
        self._arrays = arrays
        self._identity = identity
        self._names = [name for name in arrays if name != CHECKSUMS]  # the status is the last one

    def is_complete(self, number: int) -> bool:
        """Return whether all files of a chunk are there."""
        return all(self._file(name, number).is_file() for name in reversed([*self._arrays]))

    def read(self, name: str, number: int) -> np.ndarray:
        """
        Return the rows of a chunk of an array; its fill value where nothing was written yet.

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

        :param rows: of each array of the answers, by name.
        :raises OSError: the disk refuses.
        """
        self.discard(number)
        contents = {name: self._content(name, rows[name]) for name in self._names}
        sums = {name: checksum(content) for name, content in contents.items()}
        marks = np.array([[self._mark(name, number, sums[name]) for name in self._names]])
        content = self._content(CHECKSUMS, marks)
        self._write_file(self._file(CHECKSUMS, number), content, checksum(content))
        for name, content in contents.items():
            self._write_file(self._file(name, number), content, sums[name])

    def discard(self, number: int) -> None:
        """
        Remove the status of a chunk, so that it counts as unsolved.

        :raises OSError: the disk refuses.
        """
        self._file(_LAST, number).unlink(missing_ok=True)

    def grow(self, count: int, chunk: int) -> None:
        """
        Let arrays that are too short have as many rows as there are targets.

        :raises OSError: the disk refuses.
        """
        for name, array in self._arrays.items():
            rows = -(-count // chunk) if name == CHECKSUMS else count
            if array.shape[0] < rows:
                array.resize((rows, *array.shape[1:]))

    def _read(self, name: str, number: int, whole: bool) -> np.ndarray:
        array, file = self._arrays[name], self._file(name, number)
        if not file.is_file():
            if whole:
                raise ValueError(missing_fault(file, self._path))
            return np.full(array.chunks, array.fill_value, array.dtype)
        rows, found = _read_file(file, array.dtype, array.chunks)
        if whole and name != CHECKSUMS:
            mark = self._read(CHECKSUMS, number, whole)[0, self._names.index(name)]
            if mark != self._mark(name, number, found):
                raise ValueError(
                    f'the file {file.relative_to(self._path)} is not the one that was written '
                    f'with {self._file(CHECKSUMS, number).relative_to(self._path)}'
                )
        return rows

    def _content(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return the bytes of a chunk, filled up where it has fewer rows than others."""
        array = self._arrays[name]
        whole = np.ascontiguousarray(rows, array.dtype)
        if len(rows) < array.chunks[0]:
            whole = np.full(array.chunks, array.fill_value, array.dtype)
            whole[: len(rows)] = rows
        return whole.reshape(-1).view(np.uint8)

    def _write_file(self, file: Path, content: np.ndarray, crc: int) -> None:
        """Write a file, under another name until it is whole."""
        partial = file.with_name(f'{file.name}.{uuid.uuid4().hex}.partial')
        partial.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(partial, 'wb') as stream:
                stream.write(content.data)
                stream.write(np.array(crc, _CRC).tobytes())
            partial.replace(file)
        except Exception:
            partial.unlink(missing_ok=True)
            raise

    def _mark(self, name: str, number: int, found: int) -> int:
        """Return a checksum of a file's checksum, the store, the array and the chunk."""
        return checksum(f'{self._identity} {name} {number} {found}'.encode())

    def _written(self, number: int) -> tuple[int, int] | None:
        """Return an identifier of one writing of a chunk; None when it is not whole."""
        try:
            found = self._file(_LAST, number).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _file(self, name: str, number: int) -> Path:
        array = self._arrays[name]
        place = (number, *(0 for _ in array.shape[1:]))
        return self._path / name / array.metadata.encode_chunk_key(place)


def _read_file(file: Path, dtype: np.dtype, shape: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return the rows of a chunk, and the checksum of their bytes; ValueError for damage."""
    content = np.frombuffer(file.read_bytes(), np.uint8)
    size = int(np.prod(shape)) * dtype.itemsize
    if len(content) != size + _CRC.itemsize:
        raise ValueError(f'the file has {len(content)} bytes, not {size + _CRC.itemsize}: {file}')
    stored = int(content[size:].view(_CRC)[0])
    if checksum(content[:size]) != stored:
        raise ValueError(f'its content and its checksum do not go together: {file}')
    return content[:size].view(dtype).reshape(shape), stored


def checksum(content: np.ndarray | bytes) -> int:
    """
    Return the CRC-32C of bytes.

    :raises MissingExtraError: google-crc32c is not installed.
    """
    try:
        import google_crc32c
    except ImportError as error:
        raise MissingExtraError('google-crc32c', 'scale') from error
    return int(google_crc32c.extend(0, content))
