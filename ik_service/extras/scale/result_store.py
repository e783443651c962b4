"""Store of the answers of a large batch, in Zarr, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import sys
from types import MappingProxyType
from typing import Any, NamedTuple, TYPE_CHECKING
import uuid

import numpy as np

from ik_service.common.arguments import whole_number
from ik_service.common.quoting import safe_repr
from ik_service.common.resources import extra_module
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.scale.chain_spec import ChainSpec, digest_of
from ik_service.extras.scale.group_files import (
    disk_errors,
    FAULTS,
    group_folder,
    has_content,
    load_zarr,
    missing_fault,
    only_writer,
    opening_fault,
    remove_remains,
    sync_file,
    ZARR_REMEDY,
)
from ik_service.extras.scale.solving import Answers, NO_POSE, transform_digests, UNSOLVED

if TYPE_CHECKING:
    from zarr import Array, Group


_LAST = 'status'  # the array whose file of a chunk is written last
_CRC = np.dtype('<u4')


class ArrayLayout(NamedTuple):
    """Layout of an array of a store."""

    name: str
    type: str
    width: tuple[int, ...]
    fill: float


def layout(n: int) -> tuple[ArrayLayout, ...]:
    """Return the arrays of a store."""
    return (
        ArrayLayout('q', 'float64', (n,), np.nan),
        ArrayLayout('position_error', 'float64', (), np.nan),
        ArrayLayout('orientation_error', 'float64', (), np.nan),
        ArrayLayout('iterations', 'int32', (), 0),
        ArrayLayout('searches', 'int32', (), 0),
        ArrayLayout('target_digest', 'uint32', (), 0),
        ArrayLayout(_LAST, 'uint8', (), UNSOLVED),
    )


def make_store(folder: Path, details: Mapping[str, Any], count: int) -> None:
    """Make a store in an empty folder, under another name until whole, unless one is there."""
    zarr = load_zarr()
    folder = Path(os.path.realpath(folder))  # a link to an empty folder stays one
    made = folder.with_name(f'{folder.name}.new-{details["id"]}')
    try:
        group = zarr.open_group(made, mode='w')
        for array in layout(len(details['joint_names'])):
            group.create_array(
                array.name,
                shape=(count, *array.width),
                chunks=(details['chunk'], *array.width),
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
    """Return the arrays of a store by name; StoreError if one is missing, or another one."""
    arrays: dict[str, Any] = {}
    for name, kind, width, _ in layout(n):
        try:
            array: Any = group.get(name)
        except FAULTS as error:
            fault = f'is damaged: the array {name} cannot be opened: {error}; {ZARR_REMEDY}'
            raise StoreError(path, fault) from error
        found = tuple(getattr(array, part, None) for part in ('dtype', 'chunks'))
        if found != (np.dtype(kind), (chunk, *width)) or array.shape[1:] != width:
            fault = 'is missing' if array is None else 'is another one than was written'
            raise StoreError(path, f'is damaged: the array {name} {fault}; {ZARR_REMEDY}')
        arrays[name] = array
    return arrays


class StoreChunks:
    """
    Chunks of the arrays of a store, by their numbers.

    Their files are those that Zarr's codecs ``bytes`` and ``crc32c`` make. Zarr is left out where
    they are read and written: for 50,000 answers to a Panda, which take 150 ms of a core, it takes
    12 ms instead of 5 to write them, and 9 instead of 1 to read them (Zarr 3.1).
    """

    def __init__(self, path: Path, arrays: Mapping[str, Array]) -> None:
        self._path = path
        self._arrays = arrays

    def is_complete(self, number: int) -> bool:
        """Return whether all files of a chunk are there."""
        return all(self._file(name, number).is_file() for name in reversed([*self._arrays]))

    def read(self, name: str, number: int) -> np.ndarray:
        """Rows of a chunk, fill values where none is; ValueError for damaged files."""
        array, file = self._arrays[name], self._file(name, number)
        whole = self._file(_LAST, number).is_file()
        if file.is_file():
            return _read_file(file, array.dtype, array.chunks)
        if whole:
            raise ValueError(missing_fault(file, self._path))
        return np.full(array.chunks, array.fill_value, array.dtype)

    def write(self, number: int, rows: Mapping[str, np.ndarray]) -> None:
        """Write a chunk of each array, by name; the status comes last, and is not there before."""
        self.discard(number)
        for name, array in self._arrays.items():
            chunk = np.ascontiguousarray(rows[name], array.dtype)
            if len(chunk) < array.chunks[0]:  # filled up
                chunk = np.full(array.chunks, array.fill_value, array.dtype)
                chunk[: len(rows[name])] = rows[name]
            _write_file(self._file(name, number), chunk.reshape(-1).view(np.uint8))

    def discard(self, number: int) -> None:
        """Remove the status of a chunk, so that it counts as unsolved."""
        self._file(_LAST, number).unlink(missing_ok=True)

    def _file(self, name: str, number: int) -> Path:
        array = self._arrays[name]
        place = (number, *(0 for _ in array.shape[1:]))
        return self._path / name / array.metadata.encode_chunk_key(place)


def _write_file(file: Path, content: np.ndarray) -> None:
    """Write bytes and their checksum, under another name until the file is whole."""
    partial = file.with_name(f'{file.name}.{uuid.uuid4().hex}.partial')
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(partial, 'wb') as stream:
            stream.write(content.data)
            stream.write(np.array(_checksum(content), _CRC).tobytes())
        partial.replace(file)
    except Exception:
        partial.unlink(missing_ok=True)
        raise


def _read_file(file: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return the rows of a chunk; ValueError for damage."""
    content = np.frombuffer(file.read_bytes(), np.uint8)
    size = int(np.prod(shape)) * dtype.itemsize
    if len(content) != size + _CRC.itemsize:
        raise ValueError(f'the file has {len(content)} bytes, not {size + _CRC.itemsize}: {file}')
    if _checksum(content[:size]) != int(content[size:].view(_CRC)[0]):
        raise ValueError(f'its content and its checksum do not go together: {file}')
    return content[:size].view(dtype).reshape(shape)


def _checksum(content: np.ndarray) -> int:
    crc32c = extra_module('google_crc32c', 'scale', 'google-crc32c')
    return int(crc32c.extend(0, content))


FORMAT = 3  # version of the layout
KIND = 'answers of ik_service.extras.scale'  # content that a group declares

_TEXTS = ('spec', 'targets', 'chain', 'id')
_DETAILS = (*_TEXTS, 'joint_names', 'chunk')


class Comparison(NamedTuple):
    """Rows with an answer, changed targets, those of them that were poses, and rows without."""

    rows: int = 0
    changed: int = 0
    replaced: int = 0
    missing: int = 0

    def __add__(self, other: tuple[object, ...]) -> Comparison:
        """Return the numbers of the rows of both."""
        return Comparison(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]

    @property
    def is_answered(self) -> bool:
        """Whether nothing is to be solved."""
        return not self.missing and not self.changed

    @property
    def is_of_others(self) -> bool:
        """Whether these are other targets, rather than the same of which some were changed."""
        return 2 * self.replaced > self.rows


def _check_attributes(path: Path, attributes: Mapping[str, object]) -> None:
    """Refuse a group that is no store of this version, or whose attributes are wrong."""
    if attributes.get('kind') != KIND:
        fault = 'holds something else than answers: take another folder'
    elif attributes.get('format') != FORMAT:
        found = safe_repr(attributes.get('format'))
        fault = f'has layout {found}, which is not {FORMAT}: take another folder'
    elif missing := [name for name in _DETAILS if name not in attributes]:
        fault = f'is damaged: it lacks the attributes {", ".join(missing)}; {ZARR_REMEDY}'
    elif wrong := [name for name in _DETAILS if not _is_possible(name, attributes[name])]:
        name = wrong[0]
        fault = f'is damaged: its attribute {name} is {safe_repr(attributes[name])}; {ZARR_REMEDY}'
    elif digest_of(str(attributes['chain'])) != attributes['spec']:
        fault = f'is damaged: its attribute chain is not that of its attribute spec; {ZARR_REMEDY}'
    else:
        return
    raise StoreError(path, fault)


def _is_possible(name: str, value: object) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name == 'chunk':
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return isinstance(value, list) and all(isinstance(joint, str) for joint in value)


class ResultStore:
    """
    Arrays of the answers in a Zarr group on disk.

    ``q`` (N, n) [rad] or [m], ``status`` (N,), ``position_error`` (N,) [m],
    ``orientation_error`` (N,) [rad], ``iterations`` and ``searches`` (N,), and ``target_digest``
    (N,), by which targets are compared with those that were answered. A chunk is whole once its
    part of ``status`` is there, which is written last; a number of
    :data:`~ik_service.extras.scale.UNSOLVED` means that the row has not been solved yet. Each file
    has a checksum, so that one which a crash of the machine has left half written is found.

    :ivar attributes: metadata beside the arrays; read-only.
    :ivar chunk: rows of a chunk.
    :ivar arrays: the arrays by name, to be read; read-only.
    :raises StoreError: the group holds something else.
    """

    def __init__(self, path: Path, group: Group) -> None:
        self.path = path
        self.attributes: Mapping[str, Any] = MappingProxyType(dict(group.attrs))
        _check_attributes(path, self.attributes)
        self.chunk = int(self.attributes['chunk'])
        n = len(self.attributes['joint_names'])
        arrays = checked_arrays(path, group, self.chunk, n)
        self._chunks = StoreChunks(path, arrays)
        self.arrays: Mapping[str, Array] = MappingProxyType(arrays)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        spec: ChainSpec,
        joint_names: tuple[str, ...],
        targets: str,
        count: int,
        chunk: int,
    ) -> ResultStore:
        """
        Open a store to go on with it, or make one.

        :param path: its folder.
        :param spec: chain, solver and options; a store of others is refused.
        :param joint_names: names of the n joints, which are written beside the answers.
        :param targets: digest of the targets; likewise refused when it is another.
        :param count: number of targets; 0 for a stream, with which the arrays grow.
        :param chunk: rows of a chunk; a store that is there keeps its own.
        :raises StoreError: the store is of something else or of another version, or the disk
            refuses; the message names the difference.
        """
        folder = group_folder(path)
        with disk_errors(folder):
            if not has_content(folder):
                details = {
                    'kind': KIND, 'format': FORMAT, 'id': uuid.uuid4().hex, 'chunk': chunk,
                    'spec': spec.digest, 'targets': targets, 'joint_names': list(joint_names),
                    'chain': spec.to_json(),
                }  # fmt: skip
                make_store(folder, details, count)
        store = cls.existing(folder, writable=True)
        given = {'spec': spec.digest, 'targets': targets, 'joint_names': list(joint_names)}
        number = f', {store.size:,} and not {count:,}' if count not in (0, store.size) else ''
        others = ('chains, solvers or options', f'targets{number}', 'joints')
        for name, what in zip(given, others, strict=True):
            if store.attributes[name] != given[name]:
                raise StoreError(folder, f'holds answers for other {what}: take another folder')
        return store

    @classmethod
    def existing(cls, path: str | os.PathLike[str], writable: bool = False) -> ResultStore:
        """
        Open a store that is there.

        :param path: its folder.
        :param writable: whether to write, too.
        :raises StoreError: there is none, it is of another version, or it holds something else.
        """
        folder = group_folder(path)
        zarr = load_zarr()
        with disk_errors(folder):
            try:
                group = zarr.open_group(folder, mode='r+' if writable else 'r')
                return cls(folder, group)
            except (FileNotFoundError, FileExistsError, NotADirectoryError, *FAULTS) as error:
                fault = opening_fault(folder, 'store of answers', error)
                raise StoreError(folder, fault) from error

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the columns of ``q``."""
        return tuple(self.attributes['joint_names'])

    @property
    def chain_spec(self) -> ChainSpec:
        """Subject of the answers."""
        return ChainSpec.from_json(self.attributes['chain'])

    @property
    def size(self) -> int:
        """Rows that all arrays have."""
        return min(int(array.shape[0]) for array in self.arrays.values())

    def is_whole(self, first: int, last: int) -> bool:
        """Return whether a chunk, of so many rows, is there and undamaged: all files are read."""
        return bool(self._whole(first, last))

    def _whole(self, first: int, last: int) -> dict[str, np.ndarray]:
        """Return the rows of all arrays of a chunk; none when it is not whole."""
        number = first // self.chunk
        if last > self.size or not self._chunks.is_complete(number):
            return {}
        rows = slice(0, last - first)
        with disk_errors(self.path):
            try:
                found = {name: self._chunks.read(name, number)[rows] for name in self.arrays}
            except FAULTS:
                return {}
        # A chunk that was the last one of a stream, and smaller, may have grown since.
        return {} if found['status'][-1] == UNSOLVED else found

    def compare(self, first: int, last: int, block: Callable[[], np.ndarray] | None) -> Comparison:
        """
        Compare the targets of a chunk with those that it answers; none when it is not whole.

        :param first: number of its first row, a multiple of ``chunk``.
        :param last: number after its last row.
        :param block: returns the targets (last − first, 4, 4); None when they are known to be
            the same.
        """
        whole = self._whole(first, last)
        if not whole:
            return Comparison(missing=last - first)
        if block is None:
            return Comparison(last - first)
        changed = whole['target_digest'] != transform_digests(block())
        replaced = changed & (whole['status'] != NO_POSE)
        return Comparison(last - first, int(changed.sum()), int(replaced.sum()))

    def check(self, found: Comparison) -> None:
        """Refuse targets of which most, as compared, are others than those that were answered."""
        if found.is_of_others:
            raise StoreError(
                self.path,
                f'holds answers for other targets: {found.replaced} of the {found.rows} that are '
                'answered are others now; take another folder',
            )

    def check_count(self, count: int) -> None:
        """Refuse an iterator that has given fewer targets than are answered."""
        if count < self.size:
            raise StoreError(
                self.path,
                f'holds answers for {self.size} targets, of which the iterator has given {count}: '
                'it has to give all of them again; what the store holds is kept',
            )

    def discard(self, first: int) -> None:
        """Call the chunk from a row on unsolved again."""
        with disk_errors(self.path):
            self._chunks.discard(first // self.chunk)

    def write(self, first: int, answers: Answers) -> int:
        """
        Write a chunk; arrays that are too short grow. The status comes last.

        :param first: number of its first row, a multiple of ``chunk``.
        :param answers: its answers.
        :returns: number of its rows.
        :raises StoreError: the disk refuses; chunks written before stay as they are.
        """
        last = first + len(answers.status)
        with disk_errors(self.path):
            for array in self.arrays.values():
                if array.shape[0] < last:
                    array.resize((last, *array.shape[1:]))
            self._chunks.write(first // self.chunk, answers._asdict())
        return last - first

    def read(self, name: str, first: int = 0, last: int | None = None) -> np.ndarray:
        """
        Return rows of an array; also while rows are still unsolved.

        :param name: its name.
        :param first: number of the first row.
        :param last: number after the last; all when left out.
        :raises ArgumentError: there is no such array, or a number is no whole one.
        :raises StoreError: a file is damaged or missing, or cannot be read.
        """
        if name not in self.arrays:
            raise ArgumentError(
                'name', f'has to be one of {", ".join(self.arrays)}, not {safe_repr(name)}'
            )
        for argument, number in (('first', first), ('last', last)):
            if number is not None:
                whole_number(number, argument, least=-sys.maxsize)
        array = self.arrays[name]
        rows = range(*slice(first, last).indices(int(array.shape[0])))
        found = np.empty((len(rows), *array.shape[1:]), array.dtype)
        with disk_errors(self.path), self._damage(name, first, last):
            for place in range(rows.start - rows.start % self.chunk, rows.stop, self.chunk):
                start, stop = max(rows.start, place), min(rows.stop, place + self.chunk)
                part = self._chunks.read(name, place // self.chunk)
                found[start - rows.start : stop - rows.start] = part[start - place : stop - place]
        return found

    @contextmanager
    def alone(self) -> Iterator[None]:
        """
        Keep other writers away for the time of a ``with`` block, and clear up after dead ones.

        Without locks nobody knows who is dead, and all is left as it is.

        :raises StoreError: somebody else writes.
        """
        with only_writer(self.path) as alone:
            if alone:
                with disk_errors(self.path):
                    remove_remains(self.path)
            yield

    @contextmanager
    def _damage(self, name: str, first: int, last: int | None) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            rows = f'rows {first} to {self.size if last is None else last}'
            raise StoreError(
                self.path, f'is damaged: {name}, {rows}: {error}; solve_to_store mends it'
            ) from error
