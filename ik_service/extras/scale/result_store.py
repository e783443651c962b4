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

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.scale.chain_spec import ChainSpec, digest_of
from ik_service.extras.scale.chunk_files import checksum, decode_chunk, encode_chunk, EncodedChunk
from ik_service.extras.scale.settings_files import (
    changed_attribute,
    DIGESTS,
    digests_of,
    opening_fault,
    settings_fault,
)
from ik_service.extras.scale.solving import Answers, NO_POSE, UNSOLVED
from ik_service.extras.scale.store_files import (
    disk_errors,
    has_content,
    load_zarr,
    missing_fault,
    new_name,
    only_writer,
    remove_remains,
    sync_file,
)
from ik_service.extras.scale.target_comparison import Comparison
from ik_service.kinematics.pose_error import transform_digests

if TYPE_CHECKING:
    from zarr import Array, Group


CODECS = ('bytes', 'crc32c')
"""Names of the codecs of each array."""

CHECKSUMS = 'checksums'
"""Name of the array with a row for each chunk: what tells its files from those of another one."""


class ArrayLayout(NamedTuple):
    """
    What an array of a store is.

    :ivar name: its name.
    :ivar type: of its numbers.
    :ivar width: shape of a row.
    :ivar fill: value of rows that are unsolved.
    :ivar of_chunks: whether it has a row for each chunk, rather than for each target.
    """

    name: str
    type: str
    width: tuple[int, ...]
    fill: float
    of_chunks: bool = False

    def rows(self, chunk: int) -> int:
        """
        Return the rows of a file.

        :param chunk: targets of a chunk.
        """
        return 1 if self.of_chunks else chunk


def make_store(folder: Path, details: Mapping[str, Any], count: int) -> None:
    """
    Make a store, under another name until it is whole, so that no half of one is found.

    :param folder: its folder, which is empty or not there; a store that somebody else has made
        meanwhile is left as it is.
    :param details: attributes of the group, among them ``id``, ``chunk`` and ``joint_names``.
    :param count: number of targets.
    :raises OSError: the disk refuses.
    """
    zarr = load_zarr()
    folder = Path(os.path.realpath(folder))  # a link to an empty folder stays one
    made = new_name(folder, details['id'])
    chunk, n = details['chunk'], len(details['joint_names'])
    try:
        group = zarr.open_group(made, mode='w')
        for array in (*layout(n), CHECKSUM_LAYOUT):
            rows = array.rows(chunk)
            group.create_array(
                array.name,
                shape=(-(-count // (chunk // rows)), *array.width),
                chunks=(rows, *array.width),
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


def layout(n: int) -> tuple[ArrayLayout, ...]:
    """
    Return the arrays of the answers.

    :param n: number of joints.
    """
    return (
        ArrayLayout('q', 'float64', (n,), np.nan),
        ArrayLayout('position_error', 'float64', (), np.nan),
        ArrayLayout('orientation_error', 'float64', (), np.nan),
        ArrayLayout('iterations', 'int32', (), 0),
        ArrayLayout('searches', 'int32', (), 0),
        ArrayLayout('target_digest', 'uint32', (), 0),
        ArrayLayout('status', 'uint8', (), UNSOLVED),
    )


CHECKSUM_LAYOUT = ArrayLayout(CHECKSUMS, 'uint32', (len(layout(0)),), 0, of_chunks=True)
"""The array :data:`CHECKSUMS`, with a number for each file of a chunk."""


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


FORMAT = 3
"""Version of the layout."""

BEFORE = 2
"""Version that is read and gone on with as it is, without checksums of chunks and attributes."""

KIND = 'answers of ik_service.extras.scale'
"""Content that a group declares."""

FAULTS = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError, OverflowError,
)  # fmt: skip
"""Errors of Zarr about malformed files."""

_TEXTS = ('spec', 'targets', 'chain', 'id')
_DETAILS = (*_TEXTS, 'joint_names', 'chunk')
_REMEDY = 'restore its files zarr.json, or take another folder'


def check_attributes(path: Path, attributes: Mapping[str, object]) -> None:
    """
    Check that a group is a store of answers, and that its attributes can be used.

    :param path: its folder.
    :param attributes: of the group.
    :raises StoreError: it is something else, of another version, or damaged.
    """
    if attributes.get('kind') != KIND:
        fault = 'holds something else than answers: take another folder'
    elif attributes.get('format') not in (FORMAT, BEFORE):
        found = safe_repr(attributes.get('format'))
        fault = f'has layout {found}, which is not {FORMAT}: take another folder'
    elif missing := [name for name in _details(attributes) if name not in attributes]:
        fault = f'is damaged: it lacks the attributes {", ".join(missing)}; {_REMEDY}'
    elif wrong := [name for name in _DETAILS if not _is_possible(name, attributes[name])]:
        name = wrong[0]
        fault = f'is damaged: its attribute {name} is {safe_repr(attributes[name])}; {_REMEDY}'
    elif digest_of(str(attributes['chain'])) != attributes['spec']:
        fault = f'is damaged: its attribute chain is not that of its attribute spec; {_REMEDY}'
    elif name := changed_attribute(attributes):
        fault = f'is damaged: its attribute {name} is not what was written; {_REMEDY}'
    else:
        return
    raise StoreError(path, fault)


def _details(attributes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the attributes that a store of its version has."""
    return _DETAILS if attributes['format'] == BEFORE else (*_DETAILS, DIGESTS)


def _is_possible(name: str, value: object) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name == 'chunk':
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return isinstance(value, list) and all(isinstance(joint, str) for joint in value)


def checked_arrays(path: Path, group: Group, version: int, chunk: int, n: int) -> dict[str, Array]:
    """
    Return the arrays of a store, which are what they were made as but for the number of rows.

    :param path: its folder.
    :param group: the group.
    :param version: of its layout.
    :param chunk: rows of a chunk.
    :param n: number of joints.
    :raises StoreError: an array is missing or another one.
    """
    wanted = layout(n) if version == BEFORE else (*layout(n), CHECKSUM_LAYOUT)
    arrays: dict[str, Any] = {array.name: _opened(path, group, array.name) for array in wanted}
    missing = [name for name, array in arrays.items() if array is None]
    if missing:
        raise StoreError(path, f'is damaged: it lacks the arrays {", ".join(missing)}; {_REMEDY}')
    for expected in wanted:
        fault = _array_fault(arrays[expected.name], expected, chunk)
        if fault:
            raise StoreError(path, f'is damaged: the array {expected.name} {fault}; {_REMEDY}')
    return arrays


def _opened(path: Path, group: Group, name: str) -> object:
    try:
        return group.get(name)
    except FAULTS as error:
        fault = f'is damaged: the array {name} cannot be opened: {error}; {_REMEDY}'
        raise StoreError(path, settings_fault(path) or fault) from error


def _array_fault(array: Any, expected: ArrayLayout, chunk: int) -> str:  # noqa: ANN401 - or a group
    """Return in what an array differs; empty when in nothing."""
    if not hasattr(array, 'shape'):
        return 'is a group'
    rows = expected.rows(chunk)
    wanted = np.dtype(expected.type), expected.width, (rows, *expected.width)
    found = array.dtype, tuple(array.shape[1:]), tuple(array.chunks)
    for what, value, right in zip(('type', 'rows of shape', 'chunks of shape'), found, wanted,
                                  strict=True):  # fmt: skip
        if value != right:
            return f'has {what} {value}, not {right}'
    if repr(float(array.fill_value)) != repr(float(expected.fill)):  # also of NaN
        return f'has {array.fill_value} for what is missing, not {expected.fill}'
    if _codecs(array) != list(CODECS):
        return f'is coded by {", ".join(_codecs(array))}, not {", ".join(CODECS)}'
    return ''


def _codecs(array: Array) -> list[str]:
    """Return the names of the codecs; bytes in the other order have another one."""
    names = []
    for codec in getattr(array.metadata, 'codecs', ()):  # Zarr 2 has none
        described: dict[str, Any] = codec.to_dict()
        order = described.get('configuration', {}).get('endian', sys.byteorder)
        names.append(described['name'] + ('' if order == sys.byteorder else f' ({order} endian)'))
    return names


_NO_FOLDER = (FileNotFoundError, FileExistsError, NotADirectoryError)


class ResultStore:
    """
    Arrays of the answers in a Zarr group on disk.

    ``q`` (N, n) [rad] or [m], ``status`` (N,), ``position_error`` (N,) [m],
    ``orientation_error`` (N,) [rad], ``iterations`` and ``searches`` (N,), and ``target_digest``
    (N,), by which targets are compared with those that were answered. A chunk is whole once its
    part of ``status`` is there, which is written last; a number of
    :data:`~ik_service.extras.scale.UNSOLVED` means that the row has not been solved yet. Each file
    has a checksum, so that one which a crash of the machine has left half written is found; and
    ``checksums`` tells the files of a chunk from those of others.

    :param path: folder of the group.
    :param group: the group.
    :ivar attributes: what is noted beside the arrays; read-only.
    :ivar chunk: rows of a chunk.
    :ivar arrays: the arrays by name, to be read; read-only.
    :raises StoreError: the group holds something else.
    """

    def __init__(self, path: Path, group: Group) -> None:
        self.path = path
        self.attributes: Mapping[str, Any] = MappingProxyType(dict(group.attrs))
        check_attributes(path, self.attributes)
        self.chunk = int(self.attributes['chunk'])
        n, version = len(self.attributes['joint_names']), self.attributes['format']
        arrays = checked_arrays(path, group, version, self.chunk, n)
        self._chunks = StoreChunks(path, arrays, self.attributes['id'])
        arrays = {name: array for name, array in arrays.items() if name != CHECKSUMS}
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
        :param spec: what is solved; a store of another one is refused.
        :param joint_names: names of the n joints, which are written beside the answers.
        :param targets: what tells the targets from others; likewise refused when it is another.
        :param count: number of targets; 0 for a stream, with which the arrays grow.
        :param chunk: rows of a chunk; a store that is there keeps its own.
        :raises StoreError: the store is of something else or of another version, or the disk
            refuses; the message names what.
        """
        folder = _folder(path)
        with disk_errors(folder):
            if not has_content(folder):
                details = {
                    'kind': KIND, 'format': FORMAT, 'id': uuid.uuid4().hex, 'chunk': chunk,
                    'spec': spec.digest, 'targets': targets, 'joint_names': list(joint_names),
                    'chain': spec.to_json(),
                }  # fmt: skip
                make_store(folder, {**details, DIGESTS: digests_of(details)}, count)
        store = cls.existing(folder, writable=True)
        given = {'spec': spec.digest, 'targets': targets, 'joint_names': list(joint_names)}
        others = ('chains, solvers or options', 'targets', 'joints')
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
        folder = _folder(path)
        zarr = load_zarr()
        with disk_errors(folder):
            try:
                group = zarr.open_group(folder, mode='r+' if writable else 'r')
                return cls(folder, group)
            except (*_NO_FOLDER, *FAULTS) as error:
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
        """
        Return whether a chunk is there, and undamaged: all of its files are read.

        :param first: number of its first row, a multiple of ``chunk``.
        :param last: number after its last row.
        """
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
        """
        Refuse targets of which most are others than those that were answered.

        :param found: what comparing them has shown.
        :raises StoreError: most are others.
        """
        if found.is_of_others:
            raise StoreError(
                self.path,
                f'holds answers for other targets: {found.replaced} of the {found.rows} that are '
                'answered are others now; take another folder',
            )

    def check_count(self, count: int) -> None:
        """
        Refuse an iterator that has given fewer targets than are answered.

        :param count: number of targets that it has given.
        :raises StoreError: there were fewer.
        """
        if count < self.size:
            raise StoreError(
                self.path,
                f'holds answers for {self.size} targets, of which the iterator has given {count}: '
                'it has to give all of them again; what the store holds is kept',
            )

    def discard(self, first: int) -> None:
        """
        Call a chunk unsolved again.

        :param first: number of its first row, a multiple of ``chunk``.
        :raises StoreError: the disk refuses.
        """
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
            self._chunks.grow(last, self.chunk)
            self._chunks.write(first // self.chunk, answers._asdict())
        return last - first

    def read(self, name: str, first: int = 0, last: int | None = None) -> np.ndarray:
        """
        Return rows of an array; also while rows are still unsolved.

        :param name: its name.
        :param first: number of the first row.
        :param last: number after the last; all when left out.
        :raises ArgumentError: there is no such array.
        :raises StoreError: a file is damaged or missing, or cannot be read.
        """
        if name not in self.arrays:
            raise ArgumentError(
                'name', f'has to be one of {", ".join(self.arrays)}, not {safe_repr(name)}'
            )
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


def _folder(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ArgumentError('store', f'has to be the path of a folder, not {safe_repr(path)}')
    if '\0' in str(path):
        raise ArgumentError('store', f'has a zero byte in its path: {safe_repr(path)}')
    return Path(path).absolute()
