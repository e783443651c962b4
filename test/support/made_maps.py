"""Capability maps that no survey has made."""

from __future__ import annotations

from dataclasses import replace
import json

import numpy as np

from ik_service.extras.reach import CapabilityMap
from ik_service.extras.reach.capability import Check
from ik_service.extras.reach.grid import even_orientations, grid_positions
from ik_service.extras.scale import ChainSpec


def made_map(urdf, axes, free_counts, orientations=4, **changes):
    """
    Return a map of a grid.

    :param free_counts: with how many orientations each position is reached, −1 where it is not.
    """
    counts = np.asarray(free_counts).ravel()
    free = np.arange(orientations) < counts[:, None]
    seen = counts >= 0
    spec = ChainSpec.of(urdf)
    chain = spec.build().chain
    found = CapabilityMap(
        spec=spec,
        base_link=chain.base_link,
        tip_link=chain.tip_link,
        positions=grid_positions(axes),
        rotations=even_orientations(orientations),
        reached=free,
        free=free.copy(),
        position_reached=seen,
        position_free=seen.copy(),
        manipulability=np.where(seen, 0.1 * counts, np.nan),
        limit_distance=np.where(seen, 0.25, np.nan),
        missed_positions=Check(3, 1, 9),
        missed_poses=Check(0, 0, 0),
        searches=20,
    )
    return replace(found, **changes)


def as_layout_1(path):
    """Turn the file of a map into one of layout 1, which has no digests."""
    settings = path / 'zarr.json'
    content = json.loads(settings.read_text())
    content['attributes']['format'] = 1
    for name in ('digests', 'array_digests'):
        del content['attributes'][name]
    settings.write_text(json.dumps(content))
