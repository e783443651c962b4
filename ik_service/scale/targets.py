"""Targets of large batches, block by block: arrays of any kind, grids, and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
import hashlib
import mmap
import os
from pathlib import Path
from typing import cast, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import check_transforms


class BlockTargets(Protocol):
    """Targets that can be read in any order; may be pickled and read in another process."""

    def __len__(self) -> int:
        """Return the number of targets."""

    def block(self, first: int, last: int) -> np.ndarray:
        """
        Return some of the targets, (last − first, 4, 4); rows may be no poses.

        :param first: number of the first.
        :param last: number after the last.
        """

    @property
    def digest(self) -> str:
        """What tells these targets from others; for arrays the number and a sample of rows."""


@dataclass(frozen=True)
class PoseGrid:
    """
    Every orientation at every position; the orientations of one position come together.

    Nothing is held but the parts, so that a grid may have 10¹² poses.

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
        check_transforms(_poses(np.zeros((1, 3)), rotations), 'rotations')
        object.__setattr__(self, 'positions', positions)
        object.__setattr__(self, 'rotations', rotations)

    @classmethod
    def over(cls, axes: tuple[ArrayLike, ArrayLike, ArrayLike], rotations: ArrayLike) -> PoseGrid:
        """
        Return the poses over a box.

        :param axes: coordinates along x, y and z of the base frame [m]; z varies fastest.
        :param rotations: (K, 3, 3) rotation matrices R_base_tip.
        :raises ArgumentError: as the constructor.
        """
        mesh = np.meshgrid(*[real_array(axis, 'axes') for axis in axes], indexing='ij')
        return cls(np.stack(mesh, axis=-1).reshape(-1, 3), real_array(rotations, 'rotations'))

    def __len__(self) -> int:
        """Return the number of poses."""
        return len(self.positions) * len(self.rotations)

    def block(self, first: int, last: int) -> np.ndarray:
        """
        Return some of the poses.

        :param first: number of the first.
        :param last: number after the last.
        :returns: (last − first, 4, 4).
        """
        place, turn = np.divmod(np.arange(first, last), max(len(self.rotations), 1))
        poses = np.zeros((last - first, 4, 4))
        poses[:, :3, :3] = self.rotations[turn]
        poses[:, :3, 3] = self.positions[place]
        poses[:, 3, 3] = 1.0
        return poses

    @property
    def digest(self) -> str:
        """Digest of the parts."""
        return _digest('grid', self.positions, self.rotations)


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
    Targets in an array: NumPy's, a memory map, or one of Zarr or h5py.

    :param array: (N, 4, 4) T_base_tip; rows that are no poses are found when their turn comes.
    :raises ArgumentError: the array has another shape or type.
    """

    _SAMPLE = 64

    def __init__(self, array: SlicedArray) -> None:
        shape = tuple(getattr(array, 'shape', ()))
        if len(shape) != 3 or shape[1:] != (4, 4):
            raise ArgumentError('targets', f'have shape {shape}, have to be (N, 4, 4)')
        if np.dtype(array.dtype).kind not in 'fiu':
            raise ArgumentError('targets', f'have type {array.dtype}, have to be real numbers')
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
        return np.ascontiguousarray(self._array[first:last], dtype=np.float64)

    def __reduce__(self) -> tuple[object, ...]:
        place = _place_in_file(self._array)
        return (type(self), (self._array,)) if place is None else (_mapped, place)

    @property
    def is_held(self) -> bool:
        """Whether the numbers are in memory, and not in a file."""
        return isinstance(self._array, np.ndarray) and _place_in_file(self._array) is None

    def save(self, path: Path) -> ArrayTargets:
        """
        Write the numbers to a file, and return the targets in it.

        :param path: the file; who still reads an older one keeps that.
        """
        written = path.with_name(f'{path.stem}.{os.getpid()}.npy')
        np.save(written, np.asarray(self._array, dtype=np.float64))
        written.replace(path)
        return ArrayTargets(np.load(path, mmap_mode='r'))

    @property
    def digest(self) -> str:
        """Digest of the number of targets and of rows all over them."""
        count = len(self)
        rows = np.unique(np.linspace(0, count - 1, min(self._SAMPLE, count)).astype(int))
        sample = [self.block(row, row + 1) for row in rows.tolist()]
        return _digest(f'array {count}', *sample)


def _place_in_file(array: SlicedArray) -> tuple[str, np.dtype, tuple[int, ...], int] | None:
    """Return file, type, shape and offset of a memory map, or of some of its rows; else None."""
    if not isinstance(array, np.memmap) or array.mode not in ('r', 'r+', 'w+'):
        return None
    pages = getattr(array, '_mmap', None)
    if pages is None or array.filename is None or not array.flags.c_contiguous:
        return None
    array.flush()
    # The offset of a part is that of the whole.
    began = np.frombuffer(pages, np.uint8).ctypes.data
    offset = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + array.ctypes.data - began
    return str(array.filename), array.dtype, array.shape, offset


def _mapped(file: str, dtype: np.dtype, shape: tuple[int, ...], offset: int) -> ArrayTargets:
    return ArrayTargets(np.memmap(file, dtype, 'r', offset, shape))


def block_targets(targets: object) -> BlockTargets | None:
    """
    Return targets that can be read in any order; None for a stream.

    :param targets: targets of such a kind, an array, or an iterator.
    :raises ArgumentError: these are no targets.
    """
    if hasattr(targets, 'block') and hasattr(targets, 'digest'):
        return targets  # type: ignore[return-value]  # these are the protocol's
    if hasattr(targets, 'shape'):
        return ArrayTargets(cast('SlicedArray', targets))
    if isinstance(targets, (list, tuple)):
        return ArrayTargets(real_array(targets, 'targets'))
    if isinstance(targets, Iterable):
        return None
    raise ArgumentError(
        'targets', f'have to be an array, a PoseGrid or an iterator, not {safe_repr(targets)}'
    )


def blocks_of(stream: Iterable[ArrayLike], size: int) -> Iterator[np.ndarray]:
    """
    Yield what comes in a stream, in blocks of one size; the last may be smaller.

    :param stream: (4, 4) or (k, 4, 4) each, T_base_tip.
    :param size: of a block.
    :raises ArgumentError: something in the stream has another shape; names its number.
    """
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


def _poses(positions: np.ndarray, rotations: np.ndarray) -> np.ndarray:
    poses = np.zeros((len(rotations), 4, 4))
    poses[:, :3, :3] = rotations
    poses[:, :3, 3] = positions
    poses[:, 3, 3] = 1.0
    return poses


def _digest(kind: str, *arrays: np.ndarray) -> str:
    digest = hashlib.sha256(kind.encode())
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
