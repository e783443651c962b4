"""Positions of a map that are drawn, and their colours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

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
    """Drawn part of a map; the plane's offset is in the frame of the base [m]."""

    quantity: int = 0
    least: float = 0.0
    cut: Cut = Cut.NONE
    offset: float = 0.0


def chosen(points: np.ndarray, spacing: float, look: Look) -> np.ndarray:
    """Which points (N, 3) [m] the plane leaves, (N,) bool; spacing 0 is no grid."""
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
    """Points (k, 3) float32 [m] that are reached and known, and their colours (k, 3), 0 to 255."""
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
