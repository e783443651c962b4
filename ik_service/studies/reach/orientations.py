"""Orientations that are spread evenly over all there are."""

from __future__ import annotations

import math

import numpy as np

from ik_service.common.transforms import rotation_from_quaternion_xyzw

# M. Alexa, "Super-Fibonacci spirals: fast, low-discrepancy sampling of SO(3)", CVPR 2022: φ is the
# square root of 2, ψ the positive root of ψ⁴ = ψ + 4.
_PHI = math.sqrt(2.0)
_PSI = 1.533751168755204288118041


def even_orientations(count: int) -> np.ndarray:
    """
    Return orientations with no two close together and none far from all of them.

    They are the points of a super-Fibonacci spiral on the sphere of unit quaternions (Alexa 2022,
    algorithm 1).

    :param count: how many.
    :returns: (count, 3, 3) rotation matrices; the same ones at every call.
    """
    s = np.arange(count) + 0.5
    inner, outer = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    alpha, beta = 2.0 * math.pi * s / _PHI, 2.0 * math.pi * s / _PSI
    x, y = inner * np.sin(alpha), inner * np.cos(alpha)
    z, w = outer * np.sin(beta), outer * np.cos(beta)
    return rotation_from_quaternion_xyzw(x, y, z, w)
