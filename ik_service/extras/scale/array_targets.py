"""Targets in arrays: in memory, in a file that is mapped, or in Zarr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import mmap
import os
from pathlib import Path
from typing import Protocol, TYPE_CHECKING

import numpy as np
from numpy.lib.format import header_data_from_array_1_0, write_array_header_1_0

from ik_service.exceptions import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_SAMPLE = 64  # rows


class SlicedArray(Protocol):
    """Array that can be sliced, wherever its numbers are."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""

    @property
    def dtype(self) -> np.dtype:
        """Return the type of the numbers."""

    def __getitem__(self, rows: slice) -> ArrayLike:
        """Return some rows."""


class ArrayTargets:
    """
    Targets in an array: NumPy's, or one of Zarr or h5py.

    :param array: (N, 4, 4) T_base_tip; rows that are no poses are found when their turn comes, and
        those with masked elements are none.
    :raises ArgumentError: the array has another shape or type.
    """

    def __init__(self, array: SlicedArray) -> None:
        _check(array)
        self._array = array

    def __len__(self) -> int:
        """Return the number of targets."""
        return int(self._array.shape[0])

    def block(self, first: int, last: int) -> np.ndarray:
        """
        Return some of the targets.

        :param first: number of the first.
        :param last: number after the last.
        :returns: (last − first, 4, 4).
        """
        return _numbers(self._array[first:last])

    @property
    def digest(self) -> str:
        """Identity of these targets: their number."""
        return f'array {len(self)}'

    @property
    def is_held(self) -> bool:
        """Whether the numbers are in the memory of this process."""
        return isinstance(self._array, np.ndarray)

    def save(self, path: Path) -> FileTargets:
        """
        Write the numbers to a file, and return the targets in it.

        :param path: the file, whose name ends with ``.npy``.
        :raises OSError: the disk refuses.
        """
        array = _numbers(self._array[:])
        with open(path, 'wb') as file:
            write_array_header_1_0(file, header_data_from_array_1_0(array))
            file.write(array.data)  # np.save does not say why it could not
        mapped: np.memmap = np.load(path, mmap_mode='r')
        return FileTargets(str(path), mapped.dtype, mapped.shape, mapped.offset)


class FileTargets:
    """
    Targets in a file, which is read block by block.

    It is not mapped: pages of a map count as memory of the process, and a file that gets shorter
    would end it. A file that is removed meanwhile can still be read to the end. Another process
    opens the file of that path anew, which need not be the same: :attr:`is_original` tells.

    :param file: its path.
    :param dtype: type of the numbers.
    :param shape: (N, 4, 4).
    :param offset: where they begin [byte].
    :param original: what tells the file that was opened at first from others.
    :raises ArgumentError: the file cannot be read, or it holds another shape or type.
    """

    def __init__(
        self,
        file: str,
        dtype: np.dtype,
        shape: tuple[int, ...],
        offset: int,
        original: tuple[int, ...] | None = None,
    ) -> None:
        self._place = file, dtype, shape, offset
        _check(self)
        try:
            self._file = open(file, 'rb', buffering=0)  # noqa: SIM115  # as long as this
        except OSError as error:
            raise ArgumentError(
                'targets', f'in {file} cannot be read: {error.strerror}'
            ) from error
        self._original = original or self._stamp()

    def _stamp(self) -> tuple[int, ...]:
        """Return what other files do not have, nor the same one after it was written to."""
        found = os.fstat(self._file.fileno())
        return found.st_ino, found.st_size, found.st_mtime_ns

    @property
    def is_original(self) -> bool:
        """Whether this is the file that was opened at first, and unchanged since."""
        return self._stamp() == self._original

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self._place[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (N, 4, 4)."""
        return self._place[2]

    def __len__(self) -> int:
        """Return the number of targets."""
        return self.shape[0]

    def block(self, first: int, last: int) -> np.ndarray:
        """
        Return some of the targets.

        :param first: number of the first.
        :param last: number after the last.
        :returns: (last − first, 4, 4).
        :raises ArgumentError: the file has got shorter, or cannot be read.
        """
        rows = np.empty((last - first, 4, 4), self.dtype)
        self._read(first, rows)
        return np.asarray(rows, dtype=np.float64)

    def fill(self, first: int, rows: np.ndarray) -> None:
        """
        Write some of the targets to an array.

        :param first: number of the first.
        :param rows: (k, 4, 4) of floats, changed.
        :raises ArgumentError: as :meth:`block`.
        """
        if self.dtype == rows.dtype:
            self._read(first, rows)
        else:
            rows[:] = self.block(first, first + len(rows))

    def _read(self, first: int, rows: np.ndarray) -> None:
        """Read rows of the type of the file."""
        file, dtype, _, offset = self._place
        wanted = memoryview(rows.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        place, done = offset + 16 * dtype.itemsize * first, 0
        while done < len(wanted):
            with _read_errors(file):
                got = os.preadv(self._file.fileno(), [wanted[done:]], place + done)
            if got == 0:
                last = first + len(rows)
                raise ArgumentError('targets', f'in {file} end before row {last}: it was cut')
            done += got

    @property
    def digest(self) -> str:
        """Identity of these targets: their number."""
        return f'array {len(self)}'

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (*self._place, self._original)


def array_targets(array: SlicedArray) -> ArrayTargets | FileTargets:
    """
    Return the targets of an array.

    :param array: (N, 4, 4) T_base_tip, of NumPy, a memory map, or of Zarr or h5py.
    :raises ArgumentError: the array has another shape or type.
    """
    pages = getattr(array, '_mmap', None)
    if (
        not isinstance(array, np.memmap)
        or array.mode not in ('r', 'r+', 'w+')
        or pages is None
        or array.filename is None
        or not array.flags.c_contiguous
    ):
        return ArrayTargets(array)
    array.flush()
    # The offset of a part of a map is given as that of the whole.
    began = np.frombuffer(pages, np.uint8).ctypes.data
    offset = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + array.ctypes.data - began
    found = FileTargets(str(array.filename), array.dtype, array.shape, offset)
    return found if _is_mapped(found, array) else ArrayTargets(array)


def sampled_rows(count: int) -> list[int]:
    """Return numbers of some rows all over so many."""
    return np.unique(np.linspace(0, count - 1, min(_SAMPLE, count)).astype(int)).tolist()


def _is_mapped(found: FileTargets, array: np.memmap) -> bool:
    """Return whether a map is one of the file that its path leads to now, by some of its rows."""
    try:
        return all(
            found.block(row, row + 1).tobytes() == _numbers(array[row : row + 1]).tobytes()
            for row in sampled_rows(len(found))
        )
    except ArgumentError:  # shorter than the one that is mapped
        return False


def _numbers(rows: ArrayLike) -> np.ndarray:
    """Return numbers as a plain array, with NaN for those that are masked."""
    if isinstance(rows, np.ma.MaskedArray):
        rows = np.ma.filled(rows.astype(np.float64), np.nan)
    return np.ascontiguousarray(rows, dtype=np.float64)


@contextmanager
def _read_errors(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArgumentError('targets', f'in {file} cannot be read: {error.strerror}') from error


def _check(array: SlicedArray | FileTargets) -> None:
    shape = tuple(getattr(array, 'shape', ()))
    if len(shape) != 3 or shape[1:] != (4, 4):
        raise ArgumentError('targets', f'have shape {shape}, have to be (N, 4, 4)')
    if np.dtype(array.dtype).kind not in 'fiu':
        raise ArgumentError('targets', f'have type {array.dtype}, have to be real numbers')
