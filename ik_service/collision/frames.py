"""Frames as the kernels have them: the x, y and z axes, then the origin."""

from __future__ import annotations

import numpy as np


def frame_of(T: np.ndarray) -> np.ndarray:
    """
    Return a transform as 12 numbers.

    :param T: (4, 4).
    """
    return T[:3].T.reshape(12)


def matrix_of(frame: np.ndarray) -> np.ndarray:
    """
    Return a frame as a transform.

    :param frame: (12,).
    :returns: (4, 4).
    """
    T = np.eye(4)
    T[:3] = frame.reshape(4, 3).T
    return T
