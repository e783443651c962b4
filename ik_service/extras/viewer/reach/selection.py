"""Positions of one map or of two that are drawn, and their colours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.reach.reach_map import Quantity, ReachMap

# Every sixteenth colour of the map "viridis" (Stéfan van der Walt and Nathaniel Smith, 2015, CC0).
_VIRIDIS = (
    '440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c '
    '1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725'
)
_COLORS = np.array([list(bytes.fromhex(color)) for color in _VIRIDIS.split()], dtype=float)


def viridis(values: np.ndarray) -> np.ndarray:
    """Return the colours (N, 3), 0 to 255, of values (N,), 0 to 1, dark where they are small."""
    knots = np.linspace(0.0, 1.0, len(_COLORS))
    colors = [np.interp(values, knots, channel) for channel in _COLORS.T]
    return np.stack(colors, axis=-1).round().astype(np.uint8)


_NO_GRID = 0.02  # thickness of a layer where there is no grid [m]


class Cut(Enum):
    """Part of a map on one side of a plane."""

    NONE = 'everything'
    LAYER_X = 'layer at x'
    LAYER_Y = 'layer at y'
    LAYER_Z = 'layer at z'
    BELOW_X = 'x up to'
    BELOW_Y = 'y up to'
    BELOW_Z = 'z up to'
    ABOVE_X = 'x from'
    ABOVE_Y = 'y from'
    ABOVE_Z = 'z from'

    @property
    def axis(self) -> int | None:
        """Axis across the plane, 0 to 2; None without a plane."""
        return None if self is Cut.NONE else (list(Cut).index(self) - 1) % 3


@dataclass(frozen=True)
class Look:
    """
    Drawn part of a map.

    :ivar offset: coordinate of the plane in the frame of the base [m].
    """

    quantity: int = 0
    least: float = 0.0
    cut: Cut = Cut.NONE
    offset: float = 0.0


def chosen(points: np.ndarray, spacing: float, look: Look) -> np.ndarray:
    """
    Return which points the plane leaves.

    :param points: (N, 3) [m].
    :param spacing: of the grid [m]; 0 without one.
    :returns: (N,) bool.
    """
    cut, axis = look.cut, look.cut.axis
    if axis is None:
        return np.ones(len(points), dtype=bool)
    along = points[:, axis] - np.float32(look.offset)
    half = 0.5 * (spacing or _NO_GRID)  # so that the layer in the plane belongs to both sides
    mask = np.ones(len(points), dtype=bool)
    if cut not in (Cut.ABOVE_X, Cut.ABOVE_Y, Cut.ABOVE_Z):
        mask &= along <= half
    if cut not in (Cut.BELOW_X, Cut.BELOW_Y, Cut.BELOW_Z):
        mask &= along > -half
    return mask


def drawn(found: ReachMap, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the points that are drawn and their colours.

    Those that are not reached, or where the quantity is not known, are never drawn.

    :returns: (k, 3) float32 [m], and (k, 3) red, green and blue, 0 to 255.
    """
    quantity = found.quantities[look.quantity]
    with np.errstate(invalid='ignore'):
        mask = found.is_reached & (quantity.values >= look.least)
    mask &= chosen(found.points, found.spacing, look)
    return found.points[mask], viridis(np.clip(quantity.values[mask] / quantity.highest, 0.0, 1.0))


def nearest(found: ReachMap, position: np.ndarray) -> int | None:
    """Return the number of the position nearest to one (3,) [m]; None where nothing is near."""
    apart = np.square(found.points - position.astype(np.float32)).sum(axis=1)
    number = int(np.argmin(apart))
    # Half the diagonal of a cell, and a little for the roundings.
    reach = 0.51 * np.sqrt(3.0) * (found.spacing or _NO_GRID)
    return number if apart[number] <= reach**2 else None


def place_text(found: ReachMap, position: np.ndarray) -> str:
    """Return the values of a map at a position (3,) of the base frame [m], as a sentence."""
    number = nearest(found, position)
    if number is None:
        return 'the map has no position here'
    if not found.is_reached[number]:
        return 'not reached'
    return ', '.join(_value_text(quantity, number) for quantity in found.quantities)


def _value_text(quantity: Quantity, number: int) -> str:
    value = float(quantity.values[number])
    return f'{quantity.name} {"not known" if np.isnan(value) else quantity.text(value)}'


COLORS = np.array([(25, 113, 194), (232, 89, 12), (134, 142, 150)], dtype=np.uint8)
"""Colours of places that only the first arm, only the second, or both reach."""

_FAR = 2.0**31  # cells from the base, beyond which they cannot be numbered


@dataclass(frozen=True)
class Comparison:
    """
    Places that at least one of two arms reaches, both bases at the same place.

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
