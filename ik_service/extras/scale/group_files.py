"""Files of Zarr groups: their settings, errors of the disk, the lock of their writer, remains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import errno
import fcntl
from functools import partial
import os
from pathlib import Path
import re
import socket
import uuid

from ik_service.common.quoting import safe_repr
from ik_service.common.resources import extra_module
from ik_service.exceptions import ArgumentError, StoreError

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


def group_folder(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a group; raises ArgumentError where it is none."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ArgumentError('store', f'has to be the path of a folder, not {safe_repr(path)}')
    if '\0' in str(path):
        raise ArgumentError('store', f'has a zero byte in its path: {safe_repr(path)}')
    return Path(path).absolute()


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
    except NotADirectoryError as error:
        file = next((each for each in path.parents if each.is_file()), path)
        fault = f'cannot be used: {file} is a file and no folder; take another one'
        raise StoreError(path, fault) from error
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


load_zarr = partial(extra_module, 'zarr', 'scale')
"""Import Zarr; MissingExtraError if it is not installed."""
