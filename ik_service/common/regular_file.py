"""Reading of files with untrusted names: only regular ones of bounded size are opened."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: 'a folder',
    stat.S_IFIFO: 'a pipe',
    stat.S_IFSOCK: 'a socket',
    stat.S_IFCHR: 'a device',
    stat.S_IFBLK: 'a device',
}


def open_regular(path: str | os.PathLike[str], limit: int) -> BinaryIO:
    """
    Open a file to be read.

    A pipe would be waited for, a device may never end, or do something when it is opened.

    :param path: the file, or a link to it.
    :param limit: its greatest length [byte].
    :raises OSError: it is missing, no regular file, too long, or must not be read; ``strerror``
        says which.
    """
    try:
        _check(os.stat(path), limit)
        file = open(path, 'rb', opener=_open_at_once)  # noqa: SIM115 (it is returned)
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error)) from error
    try:
        _check(os.fstat(file.fileno()), limit)  # it may be another one by now
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: str | os.PathLike[str], limit: int) -> bytes:
    """Read a whole file of up to a limit [byte]; raises OSError as :func:`open_regular`."""
    with open_regular(path, limit) as file:
        data = file.read(limit + 1)
    if len(data) > limit:  # it has grown, or reported no length, as files under /proc do
        raise _too_long(limit)
    return data


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _check(status: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), 'something else')
        raise OSError(errno.EINVAL, f'it is {kind}, and a regular file is needed')
    if status.st_size > limit:
        raise _too_long(limit)


def _too_long(limit: int) -> OSError:
    return OSError(errno.EFBIG, f'it is longer than {limit / 2**20:g} MiB')
