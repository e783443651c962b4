"""Files of chunks, as Zarr's codecs ``bytes`` and ``crc32c`` have them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
import uuid

import numpy as np

from ik_service.exceptions import MissingExtraError

_CHECKSUM = np.dtype('<u4')


class EncodedChunk(NamedTuple):
    """
    Bytes of a chunk, and their checksum, which stands behind them in the file.

    :ivar content: (bytes,) of the rows.
    :ivar checksum: CRC-32C of them.
    """

    content: np.ndarray
    checksum: int

    def write(self, file: Path) -> None:
        """
        Write the file, under another name until it is whole.

        :param file: its path.
        :raises OSError: the disk refuses.
        """
        partial = file.with_name(f'{file.name}.{uuid.uuid4().hex}.partial')
        try:
            try:
                stream = open(partial, 'wb')  # noqa: SIM115 - closed below
            except FileNotFoundError:
                partial.parent.mkdir(parents=True, exist_ok=True)
                stream = open(partial, 'wb')  # noqa: SIM115
            with stream:
                stream.write(self.content.data)
                stream.write(np.array(self.checksum, _CHECKSUM).tobytes())
            partial.replace(file)
        except Exception:
            partial.unlink(missing_ok=True)
            raise


def encode_chunk(rows: np.ndarray, dtype: np.dtype, size: int, fill: float) -> EncodedChunk:
    """
    Return the bytes of a chunk.

    :param rows: (k, ...) at most ``size`` rows.
    :param dtype: type that they shall have.
    :param size: rows of a chunk.
    :param fill: value of the rows that are lacking.
    """
    whole = np.ascontiguousarray(rows, dtype)
    if len(rows) < size:
        whole = np.full((size, *rows.shape[1:]), fill, dtype)
        whole[: len(rows)] = rows
    content = whole.reshape(-1).view(np.uint8)
    return EncodedChunk(content, checksum(content))


def decode_chunk(file: Path, dtype: np.dtype, shape: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """
    Return the rows of a chunk, and the checksum of their bytes.

    :param file: its file.
    :param dtype: type of the numbers.
    :param shape: of the chunk.
    :raises ValueError: the file is damaged.
    :raises OSError: it cannot be read.
    """
    content = np.frombuffer(file.read_bytes(), np.uint8)
    size = int(np.prod(shape)) * dtype.itemsize
    if len(content) != size + _CHECKSUM.itemsize:
        raise ValueError(
            f'the file has {len(content)} bytes, not {size + _CHECKSUM.itemsize}: {file}'
        )
    stored = int(content[size:].view(_CHECKSUM)[0])
    if checksum(content[:size]) != stored:
        raise ValueError(f'its content and its checksum do not go together: {file}')
    return content[:size].view(dtype).reshape(shape), stored


def checksum(content: np.ndarray | bytes, before: int = 0) -> int:
    """
    Return the CRC-32C of bytes.

    :param content: the bytes.
    :param before: CRC-32C of those before them.
    :raises MissingExtraError: google-crc32c is not installed.
    """
    try:
        import google_crc32c
    except ImportError as error:
        raise MissingExtraError('google-crc32c', 'scale') from error
    return int(google_crc32c.extend(before, content))
