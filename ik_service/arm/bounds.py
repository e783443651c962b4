"""Bounds of the joints that move independently, so that their mimic joints stay inside too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.model.joint import JointLimits

Mimic = tuple[int, int, float, float]
"""Indices of a mimic joint and of the joint that it follows, multiplier and offset."""


def independent_bounds(
    limits: Sequence[JointLimits], mimics: Sequence[Mimic], locked: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the bounds of the joints that move independently.

    They are narrowed so that their mimic joints stay inside too, where the limits of both have
    positions in common; mimic and locked joints have no bounds of their own.

    :param limits: limits of the m joints [rad] or [m].
    :param mimics: the mimic joints among them.
    :param locked: indices of the locked joints.
    :returns: (m,) lower and (m,) upper bounds; ±inf where there are none.
    """
    lower = np.array([limit.lower for limit in limits])
    upper = np.array([limit.upper for limit in limits])
    for i, source, multiplier, offset in mimics:
        if multiplier:
            with np.errstate(over='ignore'):
                bounds = (np.array([limits[i].lower, limits[i].upper]) - offset) / multiplier
            low, high = max(lower[source], bounds.min()), min(upper[source], bounds.max())
            if low <= high:
                lower[source], upper[source] = low, high
    for i in (*(i for i, *_ in mimics), *locked):
        lower[i], upper[i] = -np.inf, np.inf
    return lower, upper
