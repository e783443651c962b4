"""Frames as the kernels have them: the x, y and z axes, then the origin."""

from __future__ import annotations

import numpy as np


def frame_of(T: np.ndarray) -> np.ndarray:
    """
    Return a transform as 12 numbers.

    :param T: (4, 4).
    """
    return T[:3].T.reshape(12)
