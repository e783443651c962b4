"""Targets of large batches, block by block: arrays of any kind, grids, and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
import hashlib
import mmap
import os
from pathlib import Path
import sys
from typing import cast, Protocol

import numpy as np
from numpy.lib.format import write_array_header_1_0
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.jit.compile import kernel
from ik_service.kinematics.pose_error import check_transforms

_SAMPLE = 64  # rows
_SAVED = 100_000  # rows that are written at a time

_POSITION_BYTES = 24  # bytes of three numbers


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
        """Return the targets (k, 4, 4) from one number to another."""
        return _numbers(self._array[first:last])

    @property
    def digest(self) -> str:
        """Identity of these targets: their number."""
        return f'array {len(self)}'

    @property
    def is_held(self) -> bool:
        """Whether the numbers are in an array of this process."""
        return isinstance(self._array, np.ndarray)

    def save(self, path: Path) -> FileTargets:
        """Write the numbers to a ``.npy`` file, and return the targets in it; OSError as usual."""
        shape = len(self), 4, 4
        with open(path, 'wb') as file:  # np.save does not say why it could not
            write_array_header_1_0(file, {'descr': '<f8', 'fortran_order': False, 'shape': shape})
            for first in range(0, len(self), _SAVED):
                file.write(self.block(first, first + _SAVED).data)
        mapped: np.memmap = np.load(path, mmap_mode='r')
        return FileTargets(str(path), mapped.dtype, mapped.shape, mapped.offset)


class FileTargets:
    """
    Targets in a file, which is read block by block.

    It is not mapped: pages of a map count as memory of the process, and a file that gets shorter
    would end it. A file that is removed meanwhile can still be read to the end. Another process
    opens the file of that path anew, which need not be the same: :attr:`is_original` tells.

    :param dtype: type of the numbers.
    :param shape: (N, 4, 4).
    :param offset: where they begin [byte].
    :param original: stamp of the file that was opened at first; None for this one.
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
        self._path, self.dtype, self.shape, self._offset = file, dtype, shape, offset
        _check(self)
        try:
            self._file = open(file, 'rb', buffering=0)  # noqa: SIM115  # as long as this
        except OSError as error:
            raise ArgumentError(
                'targets', f'in {file} cannot be read: {error.strerror}'
            ) from error
        self._original = original or self._stamp()

    def _stamp(self) -> tuple[int, ...]:
        """Return a stamp that other files do not have, nor the same one after a write."""
        found = os.fstat(self._file.fileno())
        return found.st_ino, found.st_size, found.st_mtime_ns

    @property
    def is_original(self) -> bool:
        """Whether this is the file that was opened at first, and unchanged since."""
        return self._stamp() == self._original

    def __len__(self) -> int:
        """Return the number of targets."""
        return self.shape[0]

    def block(self, first: int, last: int) -> np.ndarray:
        """Return the targets (k, 4, 4); ArgumentError when the file is cut or cannot be read."""
        rows = np.empty((last - first, 4, 4), self.dtype)
        self._read(first, rows)
        return np.asarray(rows, dtype=np.float64)

    def fill(self, first: int, rows: np.ndarray) -> None:
        """Write targets from a number on to an array (k, 4, 4); raises as :meth:`block`."""
        if self.dtype == rows.dtype:
            self._read(first, rows)
        else:
            rows[:] = self.block(first, first + len(rows))

    def _read(self, first: int, rows: np.ndarray) -> None:
        wanted = memoryview(rows.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        place, done = self._offset + 16 * self.dtype.itemsize * first, 0
        while done < len(wanted):
            with _read_errors(self._path):
                got = os.preadv(self._file.fileno(), [wanted[done:]], place + done)
            if got == 0:
                last = first + len(rows)
                raise ArgumentError(
                    'targets', f'in {self._path} end before row {last}: it was cut'
                )
            done += got

    @property
    def digest(self) -> str:
        """Identity of these targets: their number."""
        return f'array {len(self)}'

    def __reduce__(self) -> tuple[object, ...]:
        place = self._path, self.dtype, self.shape, self._offset
        return type(self), (*place, self._original)


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
    """Return whether a map is one of the file that its path refers to now, by some of its rows."""
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


class BlockTargets(Protocol):
    """Targets that can be read in any order; may be pickled and read in another process."""

    def __len__(self) -> int:
        """Return the number of targets."""

    def block(self, first: int, last: int) -> np.ndarray:
        """Return the targets (k, 4, 4) from one number to another; rows may be no poses."""

    @property
    def digest(self) -> str:
        """Identity of these targets; for arrays the number, as rows may be mended."""


@dataclass(frozen=True, eq=False)
class PoseGrid:
    """
    Every orientation at every position; the orientations of one position come together.

    The positions and the orientations are held, 24 bytes a position, and not the poses: a grid of
    10⁶ positions with 10⁶ orientations has 10¹² poses, and takes about 220 MB. Grids are equal
    when all their numbers are; their arrays are read-only.

    :ivar positions: (P, 3) in the frame of the base link [m].
    :ivar rotations: (K, 3, 3) rotation matrices R_base_tip.
    :raises ArgumentError: a part has another shape, or is no position or rotation.
    """

    positions: np.ndarray
    rotations: np.ndarray

    def __post_init__(self) -> None:
        positions = real_array(self.positions, 'positions')
        if positions.ndim != 2 or positions.shape[1] != 3:
            raise ArgumentError('positions', f'have shape {positions.shape}, have to be (P, 3)')
        rotations = real_array(self.rotations, 'rotations')
        if rotations.ndim != 3 or rotations.shape[1:] != (3, 3):
            raise ArgumentError('rotations', f'have shape {rotations.shape}, have to be (K, 3, 3)')
        for array in (positions, rotations):
            array.setflags(write=False)
        object.__setattr__(self, 'positions', positions)
        object.__setattr__(self, 'rotations', rotations)
        check_transforms(self._turned, 'rotations')

    @classmethod
    def over(cls, axes: tuple[ArrayLike, ArrayLike, ArrayLike], rotations: ArrayLike) -> PoseGrid:
        """
        Return the poses over a box.

        :param axes: coordinates along x, y and z of the base frame [m]; z varies fastest.
        :param rotations: (K, 3, 3) rotation matrices R_base_tip.
        :raises ArgumentError: as the constructor; the axes are not three, or their positions do
            not fit into memory.
        """
        x, y, z = _three_axes(axes)
        turns = real_array(rotations, 'rotations')
        count = len(x) * len(y) * len(z)
        try:
            if _POSITION_BYTES * count > sys.maxsize:  # NumPy raises another error then
                raise MemoryError
            mesh = np.meshgrid(x, y, z, indexing='ij', copy=False)
            return cls(np.stack(mesh, axis=-1).reshape(-1, 3), turns)
        except MemoryError as error:
            raise ArgumentError(
                'axes',
                f'make {count:,} positions, {_POSITION_BYTES * count / 1e9:,.0f} GB, which do '
                'not fit into memory: take parts of them, one after the other',
            ) from error

    def __eq__(self, other: object) -> bool:
        """Return whether another grid has the same numbers."""
        return isinstance(other, PoseGrid) and self.digest == other.digest

    def __hash__(self) -> int:
        """Return a hash of the numbers."""
        return hash(self.digest)

    def __len__(self) -> int:
        """Return the number of poses."""
        return len(self.positions) * len(self.rotations)

    def block(self, first: int, last: int) -> np.ndarray:
        """Return the poses (k, 4, 4) from one number to another."""
        poses = np.empty((last - first, 4, 4))
        self.fill(first, poses)
        return poses

    def fill(self, first: int, poses: np.ndarray) -> None:
        """Write poses from a number on to an array (k, 4, 4)."""
        if first < 0 or first + len(poses) > len(self):
            last = first + len(poses)
            raise IndexError(f'there are {len(self)} poses, and not {first} to {last}')
        write_grid_poses(self.positions, self._turned, first, poses)

    @cached_property
    def _turned(self) -> np.ndarray:
        """The poses (K, 4, 4) at the origin."""
        poses = np.zeros((len(self.rotations), 4, 4))
        poses[:, :3, :3] = self.rotations
        poses[:, 3, 3] = 1.0
        return poses

    @property
    def digest(self) -> str:
        """Digest of the parts."""
        digest = hashlib.sha256(b'grid')
        for part in (self.positions, self.rotations):
            digest.update(repr(part.shape).encode())
            digest.update(part.tobytes())
        return digest.hexdigest()


def _three_axes(axes: object) -> list[np.ndarray]:
    given = list(axes) if isinstance(axes, Iterable) else []
    arrays = [np.atleast_1d(real_array(axis, 'axes')) for axis in given]
    if len(arrays) != 3 or any(array.ndim != 1 for array in arrays):
        shapes = ', '.join(str(array.shape) for array in arrays)
        raise ArgumentError(
            'axes', f'have to be coordinates along x, y and z, not of shapes {shapes or "()"}'
        )
    return arrays


def block_targets(targets: object) -> BlockTargets | None:
    """Return targets that can be read in any order; None for an iterator."""
    if hasattr(targets, 'block') and hasattr(targets, 'digest'):
        return targets  # type: ignore[return-value]  # these are the protocol's
    if hasattr(targets, 'shape'):
        return array_targets(cast('SlicedArray', targets))
    if isinstance(targets, (list, tuple)):
        return ArrayTargets(real_array(targets, 'targets'))
    if isinstance(targets, Iterable):
        return None
    raise ArgumentError(
        'targets', f'have to be an array, a PoseGrid or an iterator, not {safe_repr(targets)}'
    )


def reader_of(targets: BlockTargets, first: int, last: int) -> Callable[[], np.ndarray] | None:
    """Return a reader of a block, to compare it; None where the digest has compared all."""
    return None if isinstance(targets, PoseGrid) else partial(targets.block, first, last)


def block_reader(targets: BlockTargets, size: int) -> Callable[[int, int], np.ndarray]:
    """Return a reader of blocks of some size, each into the same array where that can be done."""
    fill = getattr(targets, 'fill', None)
    if fill is None:
        return targets.block
    room = np.empty((size, 4, 4))

    def read(first: int, last: int) -> np.ndarray:
        fill(first, room[: last - first])
        return room[: last - first]

    return read


def blocks_of(stream: Iterable[ArrayLike], size: int) -> Iterator[np.ndarray]:
    """Yield poses (4, 4) or (k, 4, 4) of a stream in blocks of a size; the last may be smaller."""
    waiting, count = np.empty((size, 4, 4)), 0
    for number, piece in enumerate(stream):
        array = real_array(piece, f'targets: piece {number} of the stream')
        if array.shape[-2:] != (4, 4) or array.ndim not in (2, 3):
            raise ArgumentError(
                'targets',
                f'piece {number} of the stream has shape {array.shape}, has to be (k, 4, 4)',
            )
        array = array.reshape(-1, 4, 4)
        while len(array):
            taken = array[: size - count]
            waiting[count : count + len(taken)] = taken
            array, count = array[len(taken) :], count + len(taken)
            if count == size:
                yield waiting
                waiting, count = np.empty((size, 4, 4)), 0
    if count:
        yield waiting[:count]


@kernel
def write_grid_poses(
    positions: np.ndarray, turned: np.ndarray, first: int, poses: np.ndarray
) -> None:
    """Write poses (k, 4, 4) from ``first`` on of positions (P, 3), each with all of ``turned``."""
    place, turn = first // max(turned.shape[0], 1), first % max(turned.shape[0], 1)
    for row in range(poses.shape[0]):
        for i in range(4):
            for j in range(4):
                poses[row, i, j] = turned[turn, i, j]
        for i in range(3):
            poses[row, i, 3] = positions[place, i]
        turn += 1
        if turn == turned.shape[0]:
            place, turn = place + 1, 0
