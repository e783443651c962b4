"""Files below a store: errors of the disk, its writer's lock, what a crash leaves; Zarr itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import errno
import fcntl
import os
from pathlib import Path
import shutil
import socket
from types import ModuleType

from ik_service.exceptions import MissingExtraError, StoreError

_LOCK = '.ik_service.lock'
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_PARTIAL = '*.partial'  # file that Zarr writes before it gets its name
_NEW = '.new-'


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


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """
    Keep other writers away for the time of a ``with`` block.

    A lock ends with its process. A file system that has no locks keeps nobody away; then writers
    of the same answers do the work twice, and nothing worse.

    :param path: the store.
    :raises StoreError: somebody else writes, whom the message names.
    """
    with disk_errors(path):
        handle = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(handle, path)
        with disk_errors(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f'process {os.getpid()} on {socket.gethostname()}'.encode(), 0)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        writer = os.pread(handle, 200, 0).decode(errors='replace') or 'another process'
        raise StoreError(path, f'is being written by {writer}: wait, or end that') from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            reason = error.strerror or str(error)
            raise StoreError(path, f'cannot be locked: {reason}') from error


def has_content(folder: Path) -> bool:
    """Return whether something is there that is no empty folder."""
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def new_name(path: Path, identity: str) -> Path:
    """Return the name that a store has until it is whole."""
    return path.with_name(f'{path.name}{_NEW}{identity}')


def remove_remains(path: Path) -> None:
    """
    Remove what was never finished, which somebody left who was killed.

    :param path: the store, of which this process is the only writer.
    """
    for file in path.rglob(_PARTIAL):
        file.unlink(missing_ok=True)
    path = Path(os.path.realpath(path))
    for folder in path.parent.iterdir():
        if folder.name.startswith(f'{path.name}{_NEW}'):
            shutil.rmtree(folder, ignore_errors=True)


def sync_file(file: Path) -> None:
    """
    Wait until a file, and its name, are on the disk.

    :param file: the file.
    """
    for place in (file, file.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def load_zarr() -> ModuleType:
    """
    Import Zarr.

    :raises MissingExtraError: it is not installed.
    """
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError('zarr', 'scale') from error
    return zarr
