"""Empty stores of answers: their arrays, made as a whole."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import shutil
from typing import Any

import numpy as np

from ik_service.scale.solving import UNSOLVED
from ik_service.scale.store_files import has_content, load_zarr, new_name, sync_file


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
        for name, kind, width, fill in _layout(n):
            group.create_array(
                name,
                shape=(count, *width),
                chunks=(chunk, *width),
                dtype=kind,
                fill_value=fill,
                # Joint vectors hardly get smaller, and compression takes as long as solving does.
                compressors=zarr.codecs.Crc32cCodec(),
            )
        group.attrs.update(details)
        for file in made.rglob('zarr.json'):
            sync_file(file)
        made.rename(folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not has_content(folder):  # else another process was faster
            raise


def _layout(n: int) -> list[tuple[str, str, tuple[int, ...], float]]:
    """Return name, type, width and value of unsolved rows of each array."""
    return [
        ('q', 'float64', (n,), np.nan),
        ('position_error', 'float64', (), np.nan),
        ('orientation_error', 'float64', (), np.nan),
        ('iterations', 'int32', (), 0),
        ('searches', 'int32', (), 0),
        ('target_digest', 'uint32', (), 0),
        ('status', 'uint8', (), UNSOLVED),
    ]
