"""Store of the answers of a large batch, in Zarr, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TYPE_CHECKING
import uuid

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.scale.chain_spec import ChainSpec, digest_of
from ik_service.extras.scale.group_files import (
    disk_errors,
    FAULTS,
    has_content,
    load_zarr,
    only_writer,
    opening_fault,
    remove_remains,
    ZARR_REMEDY,
)
from ik_service.extras.scale.solving import Answers, NO_POSE, transform_digests, UNSOLVED
from ik_service.extras.scale.store_chunks import checked_arrays, make_store, StoreChunks

if TYPE_CHECKING:
    from zarr import Array, Group


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

    :param path: folder of the group.
    :param group: the group.
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
        folder = _folder(path)
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
            self._chunks.grow(last)
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
