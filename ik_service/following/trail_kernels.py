"""Compiled look along the trail of a target."""

from __future__ import annotations

from ik_service.kinematics.compile import short_inlined_kernel, short_kernel


@short_kernel
def farthest_straight_ahead(points, q, looks, nears):
    """
    Return the place of the farthest posture that may be gone to straight away.

    :param points: (k, n) the next postures [rad] or [m].
    :param q: (n,) where the joints are [rad] or [m].
    :param looks: (m,) places that are looked at, the farthest first.
    :param nears: (k,) distances of the postures from a straight line past them, at most [rad] or
        [m].
    """
    for look in looks:
        if look < len(points) and _is_straight(points, q, look, nears):
            return look
    return 0


@short_inlined_kernel
def _is_straight(points, q, end, nears):
    """Whether all postures lie near the straight line to one, up to its length."""
    size = 0.0
    for j in range(len(q)):
        size += (points[end, j] - q[j]) ** 2
    size = max(size, 1e-18)
    for i in range(end + 1):
        along = 0.0
        for j in range(len(q)):
            along += (points[i, j] - q[j]) * (points[end, j] - q[j])
        share = min(max(along / size, 0.0), 1.0)
        for j in range(len(q)):
            if abs(points[i, j] - q[j] - share * (points[end, j] - q[j])) > nears[i]:
                return False
    return True
