"""Store of the answers of a large batch, in Zarr, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import os
from pathlib import Path
from types import ModuleType
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.exceptions import MissingExtraError, StoreError
from ik_service.scale.chain_spec import ChainSpec
from ik_service.scale.solving import Answers, UNSOLVED

if TYPE_CHECKING:
    from zarr import Group

FORMAT = 1
"""Version of the layout."""

_KIND = 'answers of ik_service.scale'
_LOCK = '.ik_service.lock'


class ResultStore:
    """
    Arrays of the answers in a Zarr group on disk.

    ``q`` (N, n) [rad] or [m], ``status`` (N,), ``position_error`` (N,) [m],
    ``orientation_error`` (N,) [rad], ``iterations`` and ``searches`` (N,). A chunk is whole once
    its part of ``status`` is there, which is written last; a number of
    :data:`~ik_service.scale.solving.UNSOLVED` means that the row has not been solved yet.

    :param path: folder of the group.
    :param group: the group.
    :ivar chunk: rows of a chunk.
    """

    def __init__(self, path: Path, group: Group) -> None:
        self.path = path
        self._group = group
        self.chunk = int(group.attrs['chunk'])

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
        :param targets: digest of the targets, likewise refused when it is another.
        :param count: number of targets; 0 for a stream, with which the arrays grow.
        :param chunk: rows of a chunk; a store that is there keeps its own.
        :raises StoreError: the store is of something else or of another version, or the disk
            refuses; the message names what.
        """
        folder = Path(path)
        given = {
            'kind': _KIND, 'format': FORMAT, 'spec': spec.digest, 'targets': targets,
        }  # fmt: skip
        with disk_errors(folder):
            if _has_content(folder):
                return cls._reopened(folder, given)
            # Under another name until it is whole, so that no half of one is ever found.
            made = folder.with_name(f'{folder.name}.new-{os.getpid()}')
            group = load_zarr().open_group(made, mode='w')
            n = len(joint_names)
            for name, kind, width, fill in _layout(n):
                shape, chunks = ((count, *width), (chunk, *width))
                group.create_array(name, shape=shape, chunks=chunks, dtype=kind, fill_value=fill)
            details = {'chunk': chunk, 'joint_names': list(joint_names), 'chain': spec.to_json()}
            group.attrs.update(given | details)
            made.rename(folder)
            return cls.existing(folder)

    @classmethod
    def _reopened(cls, folder: Path, given: dict[str, object]) -> ResultStore:
        store = cls.existing(folder)
        found = store.attributes
        if found['format'] != FORMAT:
            raise StoreError(
                folder, f'has layout {found["format"]}, which is not {FORMAT}: take another folder'
            )
        for name, what in (('spec', 'chains, solvers or options'), ('targets', 'targets')):
            if found[name] != given[name]:
                raise StoreError(folder, f'holds answers for other {what}: take another folder')
        return store

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> ResultStore:
        """
        Open a store that is there.

        :param path: its folder.
        :raises StoreError: there is none, or it holds something else.
        """
        folder = Path(path)
        with disk_errors(folder):
            try:
                group = load_zarr().open_group(folder, mode='r+')
            except (FileNotFoundError, ValueError, KeyError) as error:
                raise StoreError(folder, f'is no store of answers: {error}') from error
            if group.attrs.get('kind') != _KIND or 'chunk' not in group.attrs:
                raise StoreError(folder, 'holds something else than answers: take another folder')
            return cls(folder, group)

    @property
    def attributes(self) -> dict[str, Any]:
        """What is noted beside the arrays."""
        return dict(self._group.attrs)

    @property
    def size(self) -> int:
        """Rows of the arrays."""
        return int(self._group['status'].shape[0])

    def grow(self, count: int) -> None:
        """
        Make room for rows.

        :param count: rows that the arrays have then, at least.
        """
        if count > self.size:
            with disk_errors(self.path):
                for name in ('q', *Answers._fields[1:]):
                    array = self._group[name]
                    array.resize((count, *array.shape[1:]))

    def is_solved(self, first: int) -> bool:
        """
        Return whether the chunk that begins at a row is there.

        :param first: number of its first row.
        """
        return first < self.size and int(self._group['status'][first]) != UNSOLVED

    def write(self, first: int, answers: Answers) -> None:
        """
        Write a chunk; the status comes last, and marks it as whole.

        :param first: number of its first row, a multiple of ``chunk``.
        :param answers: its answers.
        :raises StoreError: the disk refuses; chunks written before stay as they are.
        """
        last = first + len(answers.status)
        with disk_errors(self.path):
            for name in (*(name for name in answers._fields if name != 'status'), 'status'):
                self._group[name][first:last] = getattr(answers, name)

    def read(self, name: str, first: int = 0, last: int | None = None) -> np.ndarray:
        """
        Return rows of an array.

        :param name: its name.
        :param first: number of the first row.
        :param last: number after the last; all when left out.
        """
        return np.asarray(self._group[name][first:last])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """
        Keep other writers away for the time of a ``with`` block.

        :raises StoreError: somebody else writes; that ends when their process does, however.
        """
        with disk_errors(self.path):
            handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise StoreError(self.path, 'is being written by another process') from error
            yield
        finally:
            os.close(handle)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """
    Turn errors of the disk into :class:`~ik_service.exceptions.StoreError`.

    :param path: the store.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(path, f'cannot be used: {reason}; what it holds is kept') from error


def _has_content(folder: Path) -> bool:
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def _layout(n: int) -> list[tuple[str, str, tuple[int, ...], float]]:
    """Return name, type, width and value of unsolved rows of each array."""
    return [
        ('q', 'float64', (n,), np.nan),
        ('position_error', 'float64', (), np.nan),
        ('orientation_error', 'float64', (), np.nan),
        ('iterations', 'int32', (), 0),
        ('searches', 'int32', (), 0),
        ('status', 'uint8', (), UNSOLVED),
    ]


def load_zarr() -> ModuleType:
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError('zarr', 'scale') from error
    return zarr
