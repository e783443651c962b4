"""Comparison of two capability maps on the same grid."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from ik_service.exceptions import ArgumentError

if TYPE_CHECKING:
    from ik_service.extras.reach.capability import CapabilityMap

_OFF = 1e-3  # by how much of the spacing positions of two grids may differ


@dataclass(frozen=True)
class MapMeans:
    """
    Means of a map over some positions; NaN where there are none.

    :ivar share: share of the orientations that are free, 0 to 1.
    :ivar manipulability: as of the map.
    :ivar limit_distance: as of the map.
    """

    share: float
    manipulability: float
    limit_distance: float


@dataclass(frozen=True, eq=False)
class MapComparison:
    """
    Comparison of two maps; tuples hold the first map's value, then the second's.

    Positions count that are reached, without a collision where the maps were made with them.

    :ivar positions: (U, 3) the positions of both grids [m].
    :ivar free: 2 times (U,) bool, which of them count.
    :ivar share: 2 times (U,) share of the orientations that are free there, 0 to 1.
    :ivar spacing: of the grid [m].
    :ivar volumes: [m³]; 0 of flat grids.
    :ivar shared: volume that both reach [m³].
    :ivar means: over all positions of each.
    :ivar shared_means: over the positions that both reach.
    """

    positions: np.ndarray
    free: tuple[np.ndarray, np.ndarray]
    share: tuple[np.ndarray, np.ndarray]
    spacing: float
    volumes: tuple[float, float]
    shared: float
    means: tuple[MapMeans, MapMeans]
    shared_means: tuple[MapMeans, MapMeans]

    @property
    def overlap(self) -> float:
        """Share of what either reaches that both do, 0 to 1; NaN where neither does."""
        either = int((self.free[0] | self.free[1]).sum())
        return int((self.free[0] & self.free[1]).sum()) / either if either else math.nan


def compare(first: CapabilityMap, second: CapabilityMap) -> MapComparison:
    """
    Compare two maps.

    :param first: a map.
    :param second: one whose grid has the same spacing, and positions at the same places.
    :raises ArgumentError: the positions are no such grids.
    """
    spacing = _common_spacing(first, second)
    origin = first.positions[0]
    cells = [_cells(found.positions, origin, spacing) for found in (first, second)]
    union, places = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
    places = places.reshape(-1)
    rows = places[: len(cells[0])], places[len(cells[0]) :]
    free, share = [], []
    for found, at in zip((first, second), rows, strict=True):
        free.append(_placed(found.position_free, at, len(union)))
        share.append(_placed(found.free.mean(axis=1), at, len(union)))
    both = free[0] & free[1]
    return MapComparison(
        positions=origin + union * spacing,
        free=(free[0], free[1]),
        share=(share[0], share[1]),
        spacing=spacing,
        volumes=(first.volume, second.volume),
        shared=float(both.sum()) * min(first.cell, second.cell),
        means=(_means(first, first.position_free), _means(second, second.position_free)),
        shared_means=(_means(first, both[rows[0]]), _means(second, both[rows[1]])),
    )


def _common_spacing(first: CapabilityMap, second: CapabilityMap) -> float:
    spacings = first.spacing, second.spacing
    if not all(map(math.isfinite, spacings)):
        raise ArgumentError('maps', 'have to be of grids, to be compared')
    if abs(spacings[0] - spacings[1]) > _OFF * spacings[0]:
        raise ArgumentError(
            'maps', f'have to be of one spacing, and not of {spacings[0]} m and {spacings[1]} m'
        )
    return spacings[0]


def _cells(positions: np.ndarray, origin: np.ndarray, spacing: float) -> np.ndarray:
    """Return the numbers of positions along x, y and z of the grid, (P, 3)."""
    steps = (positions - origin) / spacing
    cells = np.rint(steps)
    if np.abs(steps - cells).max() > _OFF:
        raise ArgumentError('maps', 'have grids that lie beside each other, and not on each other')
    return cells


def _placed(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    everywhere = np.zeros(count, values.dtype)
    everywhere[places] = values
    return everywhere


def _means(found: CapabilityMap, chosen: np.ndarray) -> MapMeans:
    if not chosen.any():
        return MapMeans(math.nan, math.nan, math.nan)
    return MapMeans(
        float(found.free[chosen].mean()),
        float(found.manipulability[chosen].mean()),
        float(found.limit_distance[chosen].mean()),
    )
