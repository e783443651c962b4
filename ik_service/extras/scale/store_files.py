"""Files of a store: errors of the disk, its writer's lock, what a crash leaves; Zarr itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import errno
import fcntl
import os
from pathlib import Path
import re
import shutil
import socket
from types import ModuleType
import uuid

from ik_service.exceptions import MissingExtraError, StoreError
from ik_service.extras.scale.settings_files import SETTINGS

_LOCK = '.ik_service.lock'
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_NEW = '.new-'
_PARTIAL = re.compile(r'.*\.[0-9a-f]{32}\.partial')  # what Zarr writes before it gets its name
_TARGETS = re.compile(r'\.targets-[0-9a-f]{32}\.npy')


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
        file = error.filename2 or error.filename  # the name that it shall get comes first
        if isinstance(file, (str, bytes, os.PathLike)) and Path(os.fsdecode(file)) != path:
            reason = f'{os.fsdecode(file)}: {reason}'
        raise StoreError(path, f'cannot be used: {reason}; what it holds is kept') from error


@contextmanager
def only_writer(path: Path) -> Iterator[bool]:
    """
    Keep other writers away for the time of a ``with`` block.

    A lock ends with its process. A file system that has no locks keeps nobody away; then writers
    of the same answers do the work twice, and nothing worse.

    :param path: the store.
    :returns: whether there is a lock, so that nobody else can be writing.
    :raises StoreError: somebody else writes, whom the message names.
    """
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


def new_name(path: Path, identity: str) -> Path:
    """Return the name that a store has until it is whole."""
    return path.with_name(f'{path.name}{_NEW}{identity}')


def targets_name(path: Path) -> Path:
    """
    Return a name within a store for targets that other processes shall read; never used before.

    :param path: the store.
    """
    return path / f'.targets-{uuid.uuid4().hex}.npy'


def remove_remains(path: Path) -> None:
    """
    Remove what was never finished, which somebody left who was killed.

    Files within the store go by their names. A folder beside it is another store that was being
    made, and goes only if nothing is in it that its maker has not written.

    :param path: the store, of which this process is the only writer.
    """
    for file in path.iterdir():
        if _TARGETS.fullmatch(file.name):
            file.unlink(missing_ok=True)
    for file in path.rglob('*.partial'):
        if _PARTIAL.fullmatch(file.name):
            file.unlink(missing_ok=True)
    place = Path(os.path.realpath(path))
    new = re.compile(rf'{re.escape(place.name + _NEW)}[0-9a-f]{{32}}')
    for folder in place.parent.iterdir():
        if new.fullmatch(folder.name) and _is_half_made(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_half_made(folder: Path) -> bool:
    """Return whether a folder holds at most the settings of a group and of its arrays."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(
        len(entry.relative_to(folder).parts) == 1
        if entry.is_dir() and not entry.is_symlink()
        else entry.name == SETTINGS or _PARTIAL.fullmatch(entry.name)
        for entry in folder.rglob('*')
    )


def missing_fault(file: Path, path: Path) -> str:
    """
    Return that a file is missing, and what is in its place.

    :param file: the file.
    :param path: the store that it belongs to.
    """
    instead = ': a folder is in its place, and has to go' if file.is_dir() else ''
    return f'the file {file.relative_to(path)} is missing{instead}'


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
