"""Colour map of the reachability study, without Matplotlib."""

from __future__ import annotations

import numpy as np

# Every sixteenth colour of the map "viridis" (Stéfan van der Walt and Nathaniel Smith, 2015, CC0).
_VIRIDIS = (
    '440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c '
    '1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725'
)
_COLORS = np.array([list(bytes.fromhex(color)) for color in _VIRIDIS.split()], dtype=float)


def viridis(values: np.ndarray) -> np.ndarray:
    """
    Return the colours of values, dark where they are small.

    :param values: (N,) 0 to 1.
    :returns: (N, 3) red, green and blue, 0 to 255.
    """
    knots = np.linspace(0.0, 1.0, len(_COLORS))
    colors = [np.interp(values, knots, channel) for channel in _COLORS.T]
    return np.stack(colors, axis=-1).round().astype(np.uint8)
