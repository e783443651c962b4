"""Colours of drawn arms: paler for secondary postures, shaded for solids."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.drawing.arm_shape import Faces
from ik_service.drawing.figures import ACCENT, PALETTE

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

AXIS_COLORS = (PALETTE[3], PALETTE[2], PALETTE[0])
"""Colours of the x, y and z axis of a frame: red, green and blue for most, apart for all."""

RING: dict[str, Any] = {
    'color': ACCENT,
    'marker': 'o',
    'markersize': 13,
    'markerfacecolor': 'none',
    'markeredgewidth': 2.0,
    'linestyle': 'none',
    'zorder': 4,
}
"""Marker of a target position."""

_LAMP = np.radians([-35.0, 30.0])  # azimuth and elevation from where the eye is


def rgb(color: str) -> np.ndarray:
    """
    Return a colour as (3,) red, green and blue from 0 to 1.

    :param color: as Matplotlib names it.
    """
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))


def paler(color: np.ndarray, alpha: float) -> np.ndarray:
    """
    Return colours blended with white.

    :param color: (…, 3).
    :param alpha: 1 for the colours themselves, 0 for white.
    """
    return 1.0 - alpha * (1.0 - color)


def light_of(axes: Axes3D) -> np.ndarray:
    """
    Return the direction (3,) to a lamp above the eye, on its left.

    :param axes: 3-D axes with their view.
    """
    azimuth, elevation = np.radians([axes.azim, axes.elev]) + _LAMP
    level = np.cos(elevation)
    return np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])


def lit(faces: Faces, light: np.ndarray, color: np.ndarray, alpha: float) -> np.ndarray:
    """
    Return the colours (k, 3) of faces in the light of a lamp.

    :param faces: k of them.
    :param light: (3,) unit vector towards the lamp.
    :param color: (3,) of the material.
    :param alpha: 1 for full colours, less for paler ones.
    """
    brightness = 0.72 + 0.28 * faces.normals @ light
    glare = np.clip(brightness - 0.9, 0.0, None)[:, None]
    return paler(np.clip(brightness[:, None] * color + glare, 0.0, 1.0), alpha)
