"""Zarr groups on disk: maps written as a whole and read; errors, lock of the writer, remains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import errno
import fcntl
import math
import os
from pathlib import Path
import re
import shutil
import socket
from types import ModuleType
from typing import Any, TypeVar
import uuid

import numpy as np

from ik_service.exceptions import MissingExtraError, StoreError

FAULTS = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError, OverflowError,
)  # fmt: skip
"""Errors of Zarr about malformed files."""

ZARR_REMEDY = 'restore its files zarr.json, or take another folder'
"""Remedy for a group of which several files may be wrong."""

_LOCK = '.ik_service.lock'
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_PARTIAL = re.compile(r'.*\.[0-9a-f]{32}\.partial')  # files of Zarr before they get their name
_TARGETS = re.compile(r'\.targets-[0-9a-f]{32}\.npy')


def opening_fault(folder: Path, kind: str, error: Exception) -> str:
    """Return why a folder cannot be opened as a kind of group, as the rest of a sentence."""
    if not folder.exists():
        return f'is no {kind}: there is no such folder'
    if not folder.is_dir():
        return f'is no {kind} but a file: take another folder'
    if not (folder / 'zarr.json').exists():
        return f'is no {kind}: it has no file zarr.json; {ZARR_REMEDY}'
    return f'is damaged, or no {kind}: {error}; {ZARR_REMEDY}'


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk into :class:`~ik_service.exceptions.StoreError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        file = error.filename2 or error.filename  # the name that it shall get comes first
        if isinstance(file, (str, bytes, os.PathLike)) and Path(os.fsdecode(file)) != path:
            reason = f'{os.fsdecode(file)}: {reason}'
        raise StoreError(path, f'cannot be used: {reason}; what it holds is kept') from error


@contextmanager
def only_writer(path: Path) -> Iterator[bool]:
    """Keep other writers away, as far as locks exist; yields whether. StoreError names another."""
    with disk_errors(path):
        handle = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        locked = _lock(handle, path)
        with disk_errors(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f'process {os.getpid()} on {socket.gethostname()}'.encode(), 0)
        yield locked
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError as error:
        writer = os.pread(handle, 200, 0).decode(errors='replace') or 'another process'
        raise StoreError(path, f'is being written by {writer}: wait, or end that') from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            reason = error.strerror or str(error)
            raise StoreError(path, f'cannot be locked: {reason}') from error
        return False


def has_content(folder: Path) -> bool:
    """Return whether something is there that is no empty folder."""
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def targets_name(path: Path) -> Path:
    """Return a new name within a store for targets that other processes shall read."""
    return path / f'.targets-{uuid.uuid4().hex}.npy'


def remove_remains(path: Path) -> None:
    """Remove unfinished files of a killed process within a store that nobody else writes."""
    for file in path.iterdir():
        if _TARGETS.fullmatch(file.name):
            file.unlink(missing_ok=True)
    for file in path.rglob('*.partial'):
        if _PARTIAL.fullmatch(file.name):
            file.unlink(missing_ok=True)


def missing_fault(file: Path, path: Path) -> str:
    """Return the fault of a missing file, naming a folder in its place."""
    instead = ': a folder is in its place, and has to go' if file.is_dir() else ''
    return f'the file {file.relative_to(path)} is missing{instead}'


def sync_file(file: Path) -> None:
    """Wait until a file, and its name, are on the disk."""
    for place in (file, file.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def load_zarr() -> ModuleType:
    """Import Zarr; MissingExtraError if it is not installed."""
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError('zarr', 'scale') from error
    return zarr


_CHUNK = 1_000_000  # rows of a chunk, divided by the width of a row
_MAKER = 'of ik_service'

Content = TypeVar('Content')
Reader = Callable[[str], np.ndarray]  # returns the numbers of an array, by its name


def write_group(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    arrays: Mapping[str, tuple[np.ndarray, str]],
    attributes: Mapping[str, object],
) -> None:
    """
    Write a group; an existing one of its kind is replaced once the new one is whole.

    Each file has a checksum, and chunks of nothing but zeros have files too, so that damaged and
    missing ones are noticed.

    :param kind: its kind, such as 'capability map'.
    :param attributes: of the group, besides kind and version.
    :raises StoreError: something else is there, or the disk refuses.
    :raises MissingExtraError: zarr is not installed.
    """
    zarr, folder = load_zarr(), Path(path)
    check_place(folder, kind)
    with disk_errors(folder):
        made = folder.with_name(f'{folder.name}.new-{os.getpid()}')
        group = zarr.open_group(made, mode='w')
        for name, (values, unit) in arrays.items():
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
        group.attrs.update({'kind': f'{kind} {_MAKER}', 'format': version, **attributes})
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


def check_place(path: str | os.PathLike[str], kind: str) -> None:
    """Check that nothing is in the place of a group but one of its kind; StoreError otherwise."""
    folder = Path(path)
    with disk_errors(folder):
        if folder.exists():
            _attributes(folder, kind)


def read_group(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    interpret: Callable[[Reader, dict[str, Any]], Content],
) -> Content:
    """
    Read a group.

    :param version: of the layout.
    :param interpret: returns the content of a group, from a reader of its arrays and its
        attributes; whatever it raises means that these are damaged.
    :raises StoreError: there is none, it is of another version, or damaged.
    :raises MissingExtraError: zarr is not installed.
    """
    zarr, folder = load_zarr(), Path(path)
    with disk_errors(folder):
        attributes = _attributes(folder, kind)
        if attributes.get('format') != version:
            raise StoreError(
                folder, f'has layout {attributes.get("format")}, which is not {version}'
            )
        try:
            group = zarr.open_group(folder, mode='r')
            return interpret(lambda name: _numbers(folder, group, name), attributes)
        except OSError:
            raise
        except Exception as error:  # the exception depends on the damaged part
            raise StoreError(folder, f'is damaged: {error}; {ZARR_REMEDY}') from error


def _attributes(folder: Path, kind: str) -> dict[str, Any]:
    try:
        found = dict(load_zarr().open_group(folder, mode='r').attrs)
    except Exception as error:  # as above
        raise StoreError(folder, opening_fault(folder, kind, error)) from error
    if found.get('kind') != f'{kind} {_MAKER}':
        raise StoreError(folder, f'holds something else than the {kind} of an arm')
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
