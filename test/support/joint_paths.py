"""Poses along lines."""

import numpy as np


def line(T, way, points):
    """Poses (N, 4, 4) from T straight along a way (3,) [m]."""
    targets = np.tile(T, (points, 1, 1))
    targets[:, :3, 3] += np.linspace(0, 1, points)[:, None] * way
    return targets
