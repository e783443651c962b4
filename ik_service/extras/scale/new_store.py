"""Empty stores of answers: their arrays, made as a whole."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import shutil
from typing import Any, NamedTuple

import numpy as np

from ik_service.extras.scale.solving import UNSOLVED
from ik_service.extras.scale.store_files import has_content, load_zarr, new_name, sync_file

CODECS = ('bytes', 'crc32c')
"""Names of the codecs of each array."""

CHECKSUMS = 'checksums'
"""Name of the array with a row for each chunk: what tells its files from those of another one."""


class ArrayLayout(NamedTuple):
    """
    What an array of a store is.

    :ivar name: its name.
    :ivar type: of its numbers.
    :ivar width: shape of a row.
    :ivar fill: value of rows that are unsolved.
    :ivar of_chunks: whether it has a row for each chunk, rather than for each target.
    """

    name: str
    type: str
    width: tuple[int, ...]
    fill: float
    of_chunks: bool = False

    def rows(self, chunk: int) -> int:
        """
        Return the rows of a file.

        :param chunk: targets of a chunk.
        """
        return 1 if self.of_chunks else chunk


def make_store(folder: Path, details: Mapping[str, Any], count: int) -> None:
    """
    Make a store, under another name until it is whole, so that no half of one is found.

    :param folder: its folder, which is empty or not there; a store that somebody else has made
        meanwhile is left as it is.
    :param details: attributes of the group, among them ``id``, ``chunk`` and ``joint_names``.
    :param count: number of targets.
    :raises OSError: the disk refuses.
    """
    zarr = load_zarr()
    folder = Path(os.path.realpath(folder))  # a link to an empty folder stays one
    made = new_name(folder, details['id'])
    chunk, n = details['chunk'], len(details['joint_names'])
    try:
        group = zarr.open_group(made, mode='w')
        for array in (*layout(n), CHECKSUM_LAYOUT):
            rows = array.rows(chunk)
            group.create_array(
                array.name,
                shape=(-(-count // (chunk // rows)), *array.width),
                chunks=(rows, *array.width),
                dtype=array.type,
                fill_value=array.fill,
                # Joint vectors hardly get smaller, and compression takes as long as solving does.
                compressors=zarr.codecs.Crc32cCodec(),
            )
        group.update_attributes(dict(details))
        for file in made.rglob('zarr.json'):
            sync_file(file)
        made.rename(folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not has_content(folder):  # else another process was faster
            raise


def layout(n: int) -> tuple[ArrayLayout, ...]:
    """
    Return the arrays of the answers.

    :param n: number of joints.
    """
    return (
        ArrayLayout('q', 'float64', (n,), np.nan),
        ArrayLayout('position_error', 'float64', (), np.nan),
        ArrayLayout('orientation_error', 'float64', (), np.nan),
        ArrayLayout('iterations', 'int32', (), 0),
        ArrayLayout('searches', 'int32', (), 0),
        ArrayLayout('target_digest', 'uint32', (), 0),
        ArrayLayout('status', 'uint8', (), UNSOLVED),
    )


CHECKSUM_LAYOUT = ArrayLayout(CHECKSUMS, 'uint32', (len(layout(0)),), 0, of_chunks=True)
"""The array :data:`CHECKSUMS`, with a number for each file of a chunk."""
