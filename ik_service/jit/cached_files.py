"""
Files in the user's cache, which are whole or are thrown away.

Every file carries a digest of all that follows it, and nothing is used that the digest does not
fit. Files are written atomically, so several processes may write the same one. The folder lies in
the user's cache, so a read-only installation is cached as well; set ``NUMBA_CACHE_DIR`` to move
it.
"""

from __future__ import annotations

from contextlib import suppress
import functools
import hashlib
import os
from pathlib import Path
import time
import uuid

import numba

from ik_service.common.files import read_regular

_MAGIC = b'ik_service kernel 1\n'
_DIGEST_SIZE = 32  # [byte]
_LONGEST = 64 * 2**20  # of a file [byte]
_STALE = 3600.0  # age of a half-written file that nobody can still be writing [s]


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of all that is kept; None where it cannot be written."""
    try:
        user = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
        root = getattr(numba.config, 'CACHE_DIR', '') or Path(user) / 'ik_service'
        folder = Path(root) / 'kernels'
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def uncached_reason() -> str:
    """Return why compiled code is not kept, as a part of a sentence; empty where it is."""
    return '' if cache_folder() else 'as the cache cannot be written (see NUMBA_CACHE_DIR)'


def read_checked(path: Path) -> bytes | None:
    """Return what :func:`write_checked` wrote, None where damaged; raises OSError."""
    content = read_regular(path, _LONGEST)
    body = len(_MAGIC) + _DIGEST_SIZE
    payload = content[body:]
    return payload if content[:body] == _MAGIC + _digest(payload) else None


def write_checked(path: Path, payload: bytes) -> None:
    """Write a file atomically with a digest; after an OSError, nothing is left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)  # it may have been deleted since
    _remove_half_written(path.parent)
    temporary = path.with_name(f'{path.name}.{uuid.uuid4().hex[:8]}.tmp')
    try:
        temporary.write_bytes(_MAGIC + _digest(payload) + payload)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_SIZE).digest()


def _remove_half_written(folder: Path) -> None:
    """Remove half-written files of processes that have ended."""
    for path in folder.glob('*.tmp'):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE:
                path.unlink()
