"""
Closed form of arms whose axes 2 to 4 are parallel and 5 and 6 meet, as kernels.

These are the arms of Universal Robots and their like. What G does along the parallel axes leaves
their angles out and holds the first, the fifth and the sixth; the rest is an arm in the plane.
"""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inner_kernel
from ik_service.solvers.all_solutions.trigonometric import first_degree_roots
from ik_service.solvers.all_solutions.vectors import (
    angle_about,
    cross,
    dot,
    perpendicular,
    plus,
    rotated,
    rotated_back,
    turned,
    turned_about,
    vector_at,
)

# Squared sine of the angle between second and sixth axis at which that of the sixth is free.
_FREE = 1e-8


@inner_kernel
def parallel_starts(arm, starts):
    """
    Write the solutions of an arm whose second to fourth axes are parallel.

    :param arm: :class:`~ik_service.solvers.all_solutions.arm_geometry.ClosedForm`.
    :param starts: (k, 6) out [rad].
    :returns: their number, and whether these are all. Where the sixth axis is parallel to the
        second its angle is free, and the others can be solved for at some of its angles only.
    """
    axes, G = arm.axes, arm.scratch
    h1, h = vector_at(axes[0], 0), vector_at(axes[1], 0)
    h5, h6 = vector_at(axes[4], 0), vector_at(axes[5], 0)
    o1, center = vector_at(axes[0], 3), vector_at(arm.center, 0)
    to_wrist = plus(plus(vector_at(G, 9), 1.0, rotated(G, center)), -1.0, o1)
    along = dot(h1, to_wrist)
    side = dot(h, plus(to_wrist, -along, h1))
    # h · (o1 + to_wrist turned back by θ₁) = h · c
    wanted = dot(h, plus(center, -1.0, o1)) - along * dot(h, h1)
    first = arm.scratch[12:16]
    fifth = arm.scratch[16:20]
    count, complete = 0, True
    for r in range(first_degree_roots(side, -dot(h, cross(h1, to_wrist)), wanted, first)):
        ahead = dot(h5, h6)
        made = first_degree_roots(
            dot(h, h6) - ahead * dot(h, h5),
            dot(h, cross(h5, h6)),
            dot(h, turned(rotated(G, h6), h1, -first[r])) - ahead * dot(h, h5),
            fifth,
        )
        for k in range(made):
            if count + 2 > starts.shape[0]:
                break
            start = starts[count]
            start[0], start[4] = first[r], fifth[k]
            back = rotated_back(G, turned(h, h1, first[r]))
            across = cross(h6, back)
            complete &= dot(across, across) > _FREE
            start[5] = angle_about(h6, back, turned(h, h5, -fifth[k]))
            count += _planar_angles(arm, starts, count)
    return count, complete


@inner_kernel
def _planar_angles(arm, starts, count):
    """Complete a start by the angles of the parallel axes, and a second one likewise."""
    axes, G, start = arm.axes, arm.scratch, starts[count]
    h = vector_at(axes[1], 0)
    o2, o3, o4 = vector_at(axes[1], 3), vector_at(axes[2], 3), vector_at(axes[3], 3)
    # Where e₂ e₃ e₄ = e₁⁻¹ G e₆⁻¹ e₅⁻¹ carries the fourth axis, which e₄ leaves where it is.
    p = _between(axes, G, start, o4, True)
    elbow, reach = plus(o4, -1.0, o3), plus(p, -1.0, o2)
    upper = plus(o3, -1.0, o2)
    elbow = plus(elbow, -dot(h, elbow), h)
    reach = plus(reach, -dot(h, reach), h)
    upper = plus(upper, -dot(h, upper), h)
    # |upper + elbow turned by θ₃| = |reach|, about the second axis' direction
    made, roots = _elbow_roots(
        2.0 * dot(upper, elbow),
        2.0 * dot(upper, cross(h, elbow)),
        dot(reach, reach) - dot(upper, upper) - dot(elbow, elbow),
    )
    side = perpendicular(h)
    whole = angle_about(h, side, _between(axes, G, start, side, False))
    for k in range(made):
        other = starts[count + k]
        other[0], other[4], other[5] = start[0], start[4], start[5]
        third = roots[k]
        second = angle_about(h, plus(upper, 1.0, turned(elbow, h, third)), reach)
        other[1] = second
        other[2] = third * _same_way(axes, 2)
        other[3] = (whole - second - third) * _same_way(axes, 3)
    return made


@inner_kernel
def _elbow_roots(a, b, d):
    """Return the number of angles with a cos θ + b sin θ = d, and the angles."""
    length = math.hypot(a, b)
    if not abs(d) <= length * 1.001:
        return 0, (0.0, 0.0)
    middle = math.atan2(b, a)
    half = math.acos(min(max(d / length, -1.0), 1.0)) if length > 0.0 else 0.0
    return 2, (middle + half, middle - half)


@inner_kernel
def _same_way(axes, k):
    """Return 1 where an axis points as the second does, −1 where it points the other way."""
    return math.copysign(1.0, dot(vector_at(axes[1], 0), vector_at(axes[k], 0)))


@inner_kernel
def _between(axes, G, start, v, point):
    """Return e₁⁻¹ G e₆⁻¹ e₅⁻¹ of a point, or of a direction."""
    for i in (4, 5):
        h, o = vector_at(axes[i], 0), vector_at(axes[i], 3)
        v = turned_about(v, o, h, -start[i]) if point else turned(v, h, -start[i])
    v = rotated(G, v)
    h, o = vector_at(axes[0], 0), vector_at(axes[0], 3)
    if not point:
        return turned(v, h, -start[0])
    return turned_about(plus(v, 1.0, vector_at(G, 9)), o, h, -start[0])
