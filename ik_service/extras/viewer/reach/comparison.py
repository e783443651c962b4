"""Comparison of two maps: which arm reaches which place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.reach.reach_map import ReachMap
from ik_service.extras.viewer.reach.selection import chosen, Look

COLORS = np.array([(25, 113, 194), (232, 89, 12), (134, 142, 150)], dtype=np.uint8)
"""Colours of places that only the first arm, only the second, or both reach."""

_FAR = 2.0**31  # cells from the base, beyond which they cannot be numbered


@dataclass(frozen=True)
class Comparison:
    """
    Places that at least one of two arms reaches, both bases at the same place.

    :ivar names: what is shown of each of the arms.
    :ivar points: (N, 3) float32, the middle of each place [m].
    :ivar shares: (2, N) share of the orientations that each arm reaches there [%].
    :ivar is_reached: (2, N) bool, whether the tip of each gets there.
    :ivar spacing: side of a place [m].
    """

    names: tuple[str, str]
    points: np.ndarray
    shares: np.ndarray
    is_reached: np.ndarray
    spacing: float

    def drawn(self, look: Look) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the places that are drawn and their colours; see :data:`COLORS`.

        An arm reaches a place with at least ``look.least`` per cent of the orientations.

        :param look: what is drawn.
        :returns: (k, 3) float32 [m], and (k, 3) red, green and blue, 0 to 255.
        """
        kinds = self._kinds(look.least)
        mask = (kinds >= 0) & chosen(self.points, self.spacing, look)
        return self.points[mask], COLORS[kinds[mask]]

    def volumes(self, least: float) -> tuple[float, float, float]:
        """
        Return the volumes that only the first arm, only the second, and both reach [m³].

        :param least: share of the orientations from which on a place counts as reached [%].
        """
        kinds = self._kinds(least)
        one, other, both = (float((kinds == kind).sum()) * self.spacing**3 for kind in range(3))
        return one, other, both

    def _kinds(self, least: float) -> np.ndarray:
        """Return (N,) the row of :data:`COLORS` of each place; -1 for no colour."""
        first, second = self.is_reached & (self.shares >= least)
        return np.select([first & second, first, second], [2, 0, 1], -1)


def compare(one: ReachMap, other: ReachMap) -> Comparison:
    """
    Put two maps side by side, in cubes as large as the coarser grid's.

    :param one: a map.
    :param other: another one.
    :raises ArgumentError: one of them is no grid.
    """
    for found in (one, other):
        if found.spacing <= 0.0:
            raise ArgumentError(str(found.path), 'is no grid, and cannot be compared')
    spacing = max(one.spacing, other.spacing)
    cells, rows = _cells(np.concatenate([one.points, other.points]), spacing)
    split = len(one.points)
    shares, is_reached = np.zeros((2, len(cells))), np.zeros((2, len(cells)), dtype=bool)
    for arm, found, numbers in ((0, one, rows[:split]), (1, other, rows[split:])):
        reached = found.is_reached
        np.maximum.at(shares[arm], numbers[reached], found.quantities[0].values[reached])
        is_reached[arm, numbers[reached]] = True
    points = (cells * spacing).astype(np.float32)
    return Comparison(_names(one, other), points, shares, is_reached, spacing)


def _cells(points: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells (M, 3) that points are in, and the number (N,) of that of each point."""
    places = points.astype(float) / spacing
    if np.abs(places).max() > _FAR:
        raise ArgumentError('map', f'is too large for places of {spacing:g} m')
    # Away from the borders of cells, where a grid that begins at half a spacing would alternate.
    whole = np.rint(places - (places[0] - np.rint(places[0]))).astype(np.int64)
    cells, rows = np.unique(whole, axis=0, return_inverse=True)
    offset = places[0] - np.rint(places[0])
    return cells + offset, rows.reshape(-1)


def _names(one: ReachMap, other: ReachMap) -> tuple[str, str]:
    if one.path.stem != other.path.stem:
        return one.path.stem, other.path.stem
    return f'{one.path.stem} (1)', f'{other.path.stem} (2)'
