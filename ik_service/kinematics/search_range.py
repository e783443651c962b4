"""
Limits of joints as ranges to search: which of them mean that there is none.

Converters of robot descriptions write ±999999, ±1e16 or the largest number there is for a joint
without limits. Postures drawn from such a range start searches uselessly far away, its middle
means nothing, and the numbers in it are as coarse as the tolerance of a solution. Such a limit
counts as none wherever postures are drawn or a range is measured; whether a posture is within the
limits is judged by the limits as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ik_service.jit.compile import inner_kernel

FARTHEST_LIMIT = 200.0
"""
Limit beyond which there is none [rad] or [m]: no rail that carries an arm is longer, and nothing
is reached by 32 turns that one does not reach. An arm on a rail of this length needs 1.5 times the
searches that it needs on one of 3 m, and on one of ten times the length 2.5 times.
"""
SPREAD = np.pi
"""Distance from 0 to which postures of joints without limits are drawn [rad] or [m]."""


@inner_kernel
def has_lower(limit: float) -> bool:
    """
    Return whether a lower limit bounds the range to search.

    :param limit: [rad] or [m].
    """
    return limit >= -FARTHEST_LIMIT


@inner_kernel
def has_upper(limit: float) -> bool:
    """
    Return whether an upper limit bounds the range to search.

    :param limit: [rad] or [m].
    """
    return limit <= FARTHEST_LIMIT


def search_limits(lower: ArrayLike, upper: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """
    Return limits as the ends of ranges.

    :param lower: (n,) lower limits [rad] or [m].
    :param upper: (n,) upper limits.
    :returns: (n,) lower and (n,) upper ends; −inf and inf where there is none.
    """
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    return (
        np.where(low >= -FARTHEST_LIMIT, low, -np.inf),
        np.where(high <= FARTHEST_LIMIT, high, np.inf),
    )


def sampling_bounds(
    lower: ArrayLike, upper: ArrayLike, spread: ArrayLike = SPREAD
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return finite bounds from which postures can be drawn.

    :param lower: (n,) lower limits [rad] or [m].
    :param upper: (n,) upper limits.
    :param spread: distance of the bounds from 0 where there is no limit, or from the limit where 0
        lies beyond it; a number, or (n,).
    :returns: (n,) lower and (n,) upper bounds, within the limits.
    """
    low, high = search_limits(lower, upper)
    return (
        np.maximum(lower, np.where(np.isfinite(low), low, np.minimum(high, 0.0) - spread)),
        np.minimum(upper, np.where(np.isfinite(high), high, np.maximum(low, 0.0) + spread)),
    )
