"""
Files that are written whole; reading of those with untrusted names, faults in plain words.

Only regular files of bounded size are opened. A fault names its place, also in a text in YAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import errno
import os
from pathlib import Path
import re
import stat
from typing import BinaryIO

from ik_service.common.quoting import truncate

_KINDS = {
    stat.S_IFDIR: 'a folder',
    stat.S_IFIFO: 'a pipe',
    stat.S_IFSOCK: 'a socket',
    stat.S_IFCHR: 'a device',
    stat.S_IFBLK: 'a device',
}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """
    Write a file whole or not at all: yield the path of another one, which replaces it at the end.

    :raises OSError: it cannot be written; it names the file.
    """
    whole = path.resolve()  # a link stays one
    part = whole.with_name(f'.{whole.stem}.{os.getpid()}{whole.suffix}')
    try:
        if whole.exists() and not whole.is_file():  # it would no longer be what it is
            raise OSError(errno.EINVAL, 'it is no regular file')
        if whole.exists() and not os.access(whole, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        yield part
        part.replace(whole)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()


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


_PLAIN_WORDS = {  # of the faults that PyYAML tells
    "expected <block end>, but found '<scalar>'": 'text follows the end of a value',
    'expected <block end>.*': 'it is indented otherwise than the lines around it',
    "'<(stream|document) end>'": 'the end',
    'mapping values are not allowed here': "':' stands here where no key is; quote the text",
    r"could not determine a constructor for the tag ('[^']*')": r'the tag \1 is not known',
    'but found another document': 'a second document begins',
    'found unhashable key': 'a list or a section cannot be a key',
    'special characters are not allowed': 'it holds control characters',
    'that cannot start any token': 'that can begin nothing here',
    '<([a-z ]+)>': r'\1',
}


def removed_folder(error: BaseException) -> str:
    """Return that the current folder was removed, where an error says so; else empty."""
    gone = isinstance(error, FileNotFoundError) and error.filename is None
    return 'the current folder was removed; change to another one' if gone else ''


def file_fault(error: Exception) -> str:
    """
    Return in plain words why a file cannot be read, and where it is not what it has to be.

    :param error: an OSError, or one of Python or PyYAML about its content, a text in YAML.
    """
    if isinstance(error, OSError):
        return f'cannot be read: {error.strerror or error}'
    if isinstance(error, UnicodeDecodeError):
        return f'not UTF-8 text (byte {error.start})'
    mark = getattr(error, 'problem_mark', None)
    place = '' if mark is None else f' in line {mark.line + 1}, column {mark.column + 1}'
    reason = getattr(error, 'problem', None) or getattr(error, 'reason', None) or str(error)
    if isinstance(error, RecursionError):
        reason = 'it is nested too deeply'
    for theirs, ours in _PLAIN_WORDS.items():
        reason = re.sub(theirs, ours, reason)
    return f'no YAML{place}: {truncate(reason)}'
