"""
Closed forms of arms of six revolute joints, as kernels.

The axes and the pose of the tip are those at q = 0, so that the tip's motion from there is a
product of exponentials, G = e₁ e₂ … e₆, one turn about a fixed axis each: R. W. Brockett,
"Robotic manipulators and the product of exponentials formula", 1984. Where the structure for a
closed form is at the other end, the inverse of G is taken, whose axes come in the other order.

Axes 4 to 6 pass through one point c, so G c = e₁ e₂ e₃ c holds the first three angles alone: D.
Pieper, "The kinematics of manipulators under computer control", 1968. Points that the second axis
can carry to where the first can bring them to the wrist lie on two circles; that they meet is an
equation of first or second degree in the cosine and sine of the third angle.

Axes 2 to 4 are parallel in the arms of Universal Robots and the like. The motion of G along them
leaves their angles out and holds the first, the fifth and the sixth; the rest is an arm in the
plane.

In the kernels ``arm`` is a :class:`ClosedForm`, with G in its scratch; ``k1`` is how far the wrist
lies along the first axis [m], and ``square`` its squared distance from that one's point [m²].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.all_solutions.angles import first_degree_roots, second_degree_roots
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
    turned_by,
    vector_at,
)

NO_FORM, SPHERICAL_WRIST, THREE_PARALLEL, GENERAL = range(4)
# The first two axes of an arm with a spherical wrist.
SKEW, INTERSECTING, PARALLEL = range(3)
MOST_STARTS = 16  # number of solutions of any arm of six revolute joints, at most


class ClosedForm(NamedTuple):
    """
    Arm of six revolute joints, as the closed forms take it.

    :ivar kind: ``SPHERICAL_WRIST``, ``THREE_PARALLEL``, ``GENERAL`` for six revolute joints
        without a closed form, or ``NO_FORM`` for any other arm.
    :ivar first_axes: ``SKEW``, ``INTERSECTING`` or ``PARALLEL``: those of a spherical wrist's arm.
    :ivar inverted: 1 where the axes are listed from tip to base, for the inverse of G; else 0.
    :ivar axes: (6, 6) direction and a point of each axis at q = 0, in the base frame; of the first
        two the points next to each other.
    :ivar center: (3,) the point c.
    :ivar home: (4, 4) inverse of T_base_tip at q = 0.
    :ivar size: the arm's size, a power of two [m].
    :ivar scratch: (24,) G in twelve numbers, then the roots of three equations.
    """

    kind: int
    first_axes: int
    inverted: int
    axes: np.ndarray
    center: np.ndarray
    home: np.ndarray
    size: float
    scratch: np.ndarray


# How far axes may miss each other, in units of the arm's size, and the sine of the angle between
# them that counts as parallel. Two solutions that are so near each other that these make a
# complex pair of them are one.
_NEAR = 1e-9
_PARALLEL = 1e-9
# Shortest lever that counts as one, in units of the arm's size.
_SHORT = 1e-3


def closed_form_of(chain: KinematicChain) -> ClosedForm:
    """Return the data of an arm's closed form; ``GENERAL`` or ``NO_FORM`` when none fits."""
    axes = axes_of(chain)
    home = inverse_transform(chain.forward(np.zeros(chain.n)))
    if axes is None:
        return _form(NO_FORM, SKEW, np.zeros((6, 6)), np.zeros(3), 0, home, 1.0)
    size = _size_of(axes)
    axes[:, 3:] /= size
    for inverted, ordered in enumerate((axes, axes[::-1])):
        found = _spherical_wrist(ordered) or _three_parallel(ordered)
        if found:
            return _form(*found, inverted, home, size)
    return _form(GENERAL, SKEW, np.zeros((6, 6)), np.zeros(3), 0, home, size)


def _size_of(axes: np.ndarray) -> float:
    """Return the distance of the axes from the point between them, to a power of two [m]."""
    parallel = np.linalg.matrix_rank(axes[:, :3], tol=_SHORT) < 2
    size = 0.0 if parallel else _meeting_point(axes)[1]
    return 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0


def _form(
    kind: int,
    first_axes: int,
    axes: np.ndarray,
    center: np.ndarray,
    inverted: int,
    home: np.ndarray,
    size: float,
) -> ClosedForm:
    axes = np.hstack([axes[:, :3], size * axes[:, 3:]])
    return ClosedForm(kind, first_axes, inverted, axes, size * center, home, size, np.zeros(24))


def axes_of(chain: KinematicChain) -> np.ndarray | None:
    """Return direction and a point of six axes at q = 0, (6, 6); None for any other arm."""
    if chain.n != 6 or len(chain.arrays.variables) != 6:
        return None
    J, T = chain.jacobian(np.zeros(6)), chain.forward(np.zeros(6))
    directions, linear = J[3:].T, J[:3].T
    if not np.allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-9):
        return None
    points = T[:3, 3] + np.cross(directions, linear)
    return np.hstack([directions, points])


def _spherical_wrist(axes: np.ndarray) -> tuple[int, int, np.ndarray, np.ndarray] | None:
    """Return kind, first axes, axes and wrist centre of an arm with a spherical wrist."""
    if _are_parallel(axes[3], axes[4]) or _are_parallel(axes[4], axes[5]):
        return None
    center, miss = _meeting_point(axes[3:])
    if miss > _NEAR:
        return None
    axes = axes.copy()
    first_axes = _place_first_points(axes)
    gap = np.linalg.norm(axes[1, 3:] - axes[0, 3:])
    lever = _across(axes[2, :3], center - axes[2, 3:])
    u = center - lever - axes[1, 3:]
    if np.linalg.norm(lever) < _SHORT:
        return None
    if first_axes == PARALLEL and (gap < _SHORT or _are_parallel(axes[1], axes[2])):
        return None
    if first_axes == INTERSECTING and np.linalg.norm(_across(axes[2, :3], u)) < _SHORT:
        return None
    return SPHERICAL_WRIST, first_axes, axes, center


def _three_parallel(axes: np.ndarray) -> tuple[int, int, np.ndarray, np.ndarray] | None:
    """Return kind, first axes, axes and the point of axes 5 and 6 of an arm like a UR."""
    if not (_are_parallel(axes[1], axes[2]) and _are_parallel(axes[2], axes[3])):
        return None
    apart = (axes[0], axes[1]), (axes[3], axes[4]), (axes[4], axes[5])
    if any(_are_parallel(*pair) for pair in apart):
        return None
    center, miss = _meeting_point(axes[4:])
    links = np.diff(axes[1:4, 3:], axis=0)
    if miss > _NEAR or any(np.linalg.norm(_across(axes[1, :3], link)) < _SHORT for link in links):
        return None
    return THREE_PARALLEL, SKEW, axes, center


def _place_first_points(axes: np.ndarray) -> int:
    """Move the points of the first two axes next to each other; says how these axes lie."""
    (h1, o1), (h2, o2) = ((axis[:3], axis[3:].copy()) for axis in axes[:2])
    gap = o2 - o1
    if _are_parallel(axes[0], axes[1]):
        axes[1, 3:] = o1 + _across(h1, gap)
        return PARALLEL
    matrix = np.array([[1.0, -h1 @ h2], [h1 @ h2, -1.0]])
    first, second = np.linalg.solve(matrix, [h1 @ gap, h2 @ gap])
    axes[0, 3:], axes[1, 3:] = o1 + first * h1, o2 + second * h2
    if np.linalg.norm(axes[1, 3:] - axes[0, 3:]) > _NEAR:
        return SKEW
    axes[1, 3:] = axes[0, 3:]
    return INTERSECTING


def _meeting_point(axes: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the point nearest to all axes, and its distance from the farthest."""
    planes = [np.eye(3) - np.outer(axis[:3], axis[:3]) for axis in axes]
    sides = [plane @ axis[3:] for plane, axis in zip(planes, axes, strict=True)]
    point = np.linalg.solve(sum(planes, np.zeros((3, 3))), sum(sides, np.zeros(3)))
    misses = [np.linalg.norm(_across(axis[:3], point - axis[3:])) for axis in axes]
    return point, float(max(misses))


def _across(direction: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the part of a vector that is perpendicular to a direction."""
    return vector - (direction @ vector) * direction


def _are_parallel(axis: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.linalg.norm(np.cross(axis[:3], other[:3])) < _PARALLEL)


# Distance of c from where it shall be up to which a posture exists, in units of the arm's size.
_EXACT = 1e-10
# Squared sine of the angle between second and sixth axis at which that of the sixth is free.
_FREE = 1e-8


@inner_kernel
def parallel_starts(arm, starts):
    """
    Write the solutions of an arm whose second to fourth axes are parallel to ``starts`` (k, 6).

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
    roots = arm.scratch[20:24]
    made = first_degree_roots(
        2.0 * dot(upper, elbow),
        2.0 * dot(upper, cross(h, elbow)),
        dot(reach, reach) - dot(upper, upper) - dot(elbow, elbow),
        roots,
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
def _same_way(axes, k):
    """Return 1 where an axis points as the second does, −1 where it points oppositely."""
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


@inner_kernel
def wrist_starts(arm, starts):
    """Write the solutions of an arm with a spherical wrist (k, 6) [rad]; returns their number."""
    roots = arm.scratch[12:16]
    wrist, k1, square = wanted_wrist(arm)
    count = 0
    for r in range(_third_angles(arm, k1, square, roots)):
        for side in (1.0, -1.0):
            if count + 2 > starts.shape[0]:
                continue
            there, _ = _arm_angles(arm, wrist, k1, square, roots[r], side, starts[count])
            if there:
                count += _wrist_angles(arm, starts, count)
    return count


@inner_kernel
def third_angles(arm):
    """Write the third angles to the scratch; returns :func:`wanted_wrist`, and their number."""
    wrist, k1, square = wanted_wrist(arm)
    return wrist, k1, square, _third_angles(arm, k1, square, arm.scratch[12:16])


@inner_kernel
def write_pair(arm, thirds, lower, upper, slack, row, starts, within):
    """
    Write two of the eight postures of an arm with a spherical wrist, each always in the same row.

    The rows are numbered by the signs in the closed form, so that the posture in a row moves
    continuously with the displacement, where it is there.

    :param arm: one whose first two axes meet.
    :param thirds: see :func:`third_angles`.
    :param lower: (6,) lower limits of its joints [rad].
    :param upper: (6,) upper limits [rad].
    :param slack: how far beyond them a joint may be [rad].
    :param row: the first row, an even number.
    :param starts: (8, 6) out [rad].
    :param within: (8,) bool out: whether each exists within the limits; those that do are written.
    """
    wrist, k1, square, made = thirds
    third, side = row // 4, 1.0 - (row % 4)
    exists = third < made
    if exists:
        root = arm.scratch[12 + third]
        there, miss = _arm_angles(arm, wrist, k1, square, root, side, starts[row])
        exists = (
            there
            and miss < _EXACT * arm.size
            and _turn_inside(starts[row], lower, upper, slack, 0)
        )
        exists = exists and _wrist_angles(arm, starts, row) == 2
    for k in range(row, row + 2):
        within[k] = exists and _turn_inside(starts[k], lower, upper, slack, 3)


@inner_kernel
def _turn_inside(start, lower, upper, slack, first):
    """Turn three angles to between their limits; returns whether they are there."""
    for i in range(first, first + 3):
        middle = 0.5 * (lower[i] + upper[i]) if upper[i] - lower[i] < math.inf else 0.0
        start[i] -= 2.0 * math.pi * math.floor((start[i] - middle) / (2.0 * math.pi) + 0.5)
        if not lower[i] - slack <= start[i] <= upper[i] + slack:
            return False
    return True


@inner_kernel
def wanted_wrist(arm):
    """Return where G has the point c, how far along the first axis, and its distance squared."""
    G, o1 = arm.scratch, vector_at(arm.axes[0], 3)
    wrist = plus(vector_at(G, 9), 1.0, rotated(G, vector_at(arm.center, 0)))
    to_wrist = plus(wrist, -1.0, o1)
    return wrist, dot(vector_at(arm.axes[0], 0), to_wrist), dot(to_wrist, to_wrist)


@inner_kernel
def _arm_angles(arm, wrist, k1, square, third, side, start):
    """Write the first three angles; returns whether there are any, and how far c is off [m]."""
    axes = arm.axes
    h1, h2, h3 = vector_at(axes[0], 0), vector_at(axes[1], 0), vector_at(axes[2], 0)
    o1, o2, o3 = vector_at(axes[0], 3), vector_at(axes[1], 3), vector_at(axes[2], 3)
    moved = turned_about(vector_at(arm.center, 0), o3, h3, third)
    arm_2 = plus(moved, -1.0, o2)
    there, x = _second_point(arm, k1, square, dot(h2, arm_2), dot(arm_2, arm_2), side)
    if not there:
        return False, math.inf
    start[0] = angle_about(h1, plus(x, -1.0, o1), plus(wrist, -1.0, o1))
    start[1] = angle_about(h2, arm_2, plus(x, -1.0, o2))
    start[2] = third
    moved = turned_about(turned_about(moved, o2, h2, start[1]), o1, h1, start[0])
    miss = plus(moved, -1.0, wrist)
    return True, math.sqrt(dot(miss, miss))


@inner_kernel
def _third_angles(arm, k1, square, roots):
    """Write the third angles at which the second and the first axis can carry c to the wrist."""
    axes = arm.axes
    (k0, kc, ks), (d0, dc, ds) = elbow_terms(arm)
    between = dot(vector_at(axes[0], 0), vector_at(axes[1], 0))
    if arm.first_axes == INTERSECTING:
        return first_degree_roots(dc, ds, square - d0, roots)
    if arm.first_axes == PARALLEL:
        return first_degree_roots(kc, ks, between * k1 - k0, roots)
    # (k1² + k2² − 2 k1 k2 between) / sin² + γ² = square, with γ along the common perpendicular.
    gap = plus(vector_at(axes[1], 3), -1.0, vector_at(axes[0], 3))
    a = math.sqrt(dot(gap, gap))
    inverse = 1.0 / (1.0 - between * between)
    g0, gc, gs = (square - d0 + a * a) / (2.0 * a), -dc / (2.0 * a), -ds / (2.0 * a)
    e0 = k0 - k1 * between
    constant = k1 * k1 + inverse * e0 * e0 + g0 * g0 - square
    cc = inverse * kc * kc + gc * gc
    ss = inverse * ks * ks + gs * gs
    return second_degree_roots(
        constant + 0.5 * (cc + ss),
        2.0 * (inverse * e0 * kc + g0 * gc),
        2.0 * (inverse * e0 * ks + g0 * gs),
        0.5 * (cc - ss),
        inverse * kc * ks + gc * gs,
        roots,
    )


@inner_kernel
def elbow_circle(arm):
    """Return u, v and w: the third axis carries c to u + v cos θ₃ + w sin θ₃ from the second."""
    h3, o3 = vector_at(arm.axes[2], 0), vector_at(arm.axes[2], 3)
    lever = plus(vector_at(arm.center, 0), -1.0, o3)
    along = dot(h3, lever)
    u = plus(plus(o3, along, h3), -1.0, vector_at(arm.axes[1], 3))
    return u, plus(lever, -along, h3), cross(h3, lever)


@inner_kernel
def elbow_terms(arm):
    """
    Return how far c lies along the second axis, and its squared distance from that one's point.

    :returns: two triples: factors of 1, and of cosine and sine of the third angle.
    """
    h2 = vector_at(arm.axes[1], 0)
    u, v, w = elbow_circle(arm)
    return (
        (dot(h2, u), dot(h2, v), dot(h2, w)),
        (dot(u, u) + dot(v, v), 2.0 * dot(u, v), 2.0 * dot(u, w)),
    )


@inner_kernel
def _second_point(arm, k1, square, k2, distance, side):
    """
    Return whether there is a point on the circles about both first axes, and the point.

    :param k2: how far it lies along the second axis [m].
    :param distance: its squared distance from the second axis' point [m²].
    :param side: 1 or −1, which of two points; for skew axes there is one, on the side 1.
    """
    axes = arm.axes
    h1, h2 = vector_at(axes[0], 0), vector_at(axes[1], 0)
    o1 = vector_at(axes[0], 3)
    gap = plus(vector_at(axes[1], 3), -1.0, o1)
    a = math.sqrt(dot(gap, gap))
    between = dot(h1, h2)
    if arm.first_axes == PARALLEL:
        gamma = (square - distance + a * a) / (2.0 * a)
        rest = square - k1 * k1 - gamma * gamma
        x = plus(plus(o1, k1, h1), gamma / a, gap)
        return _sideways(x, rest, square, cross(h1, gap), 1.0 / a, side)
    inverse = 1.0 / (1.0 - between * between)
    alpha, beta = (k1 - k2 * between) * inverse, (k2 - k1 * between) * inverse
    x = plus(plus(o1, alpha, h1), beta, h2)
    if arm.first_axes == INTERSECTING:
        rest = square - alpha * k1 - beta * k2
        return _sideways(x, rest, square, cross(h1, h2), math.sqrt(inverse), side)
    gamma = (square - distance + a * a) / (2.0 * a)
    return side > 0.0, plus(x, gamma / a, gap)


@inner_kernel
def _sideways(x, rest, square, direction, per_length, side):
    """Return a point moved by ±√rest; one that misses by a rounding counts as in the middle."""
    step = side * math.sqrt(max(rest, 0.0)) * per_length
    return rest >= -1e-3 * square, plus(x, step, direction)


@inner_kernel
def _wrist_angles(arm, starts, count):
    """Complete a start by the angles of the wrist, and a second one by its other solution."""
    axes, G, roots = arm.axes, arm.scratch, arm.scratch[16:20]
    h4, h5, h6 = vector_at(axes[3], 0), vector_at(axes[4], 0), vector_at(axes[5], 0)
    side = perpendicular(h6)
    wanted, sideways = _before_wrist(axes, starts[count], rotated(G, h6), rotated(G, side))
    along = dot(h5, h6)
    made = first_degree_roots(
        dot(h4, h6) - along * dot(h4, h5),
        dot(h4, cross(h5, h6)),
        dot(h4, wanted) - along * dot(h4, h5),
        roots,
    )
    for k in range(made):
        start, c, s = starts[count + k], math.cos(roots[k]), math.sin(roots[k])
        for i in range(3):
            start[i] = starts[count, i]
        start[3] = angle_about(h4, turned_by(h6, h5, c, s), wanted)
        start[4] = roots[k]
        left = turned(sideways, h4, -start[3])
        start[5] = angle_about(h6, side, turned_by(left, h5, c, -s))
    return made


@inner_kernel
def _before_wrist(axes, start, v, w):
    """Return two vectors turned back by the first three axes."""
    for i in range(3):
        axis, c, s = vector_at(axes[i], 0), math.cos(start[i]), math.sin(start[i])
        v, w = turned_by(v, axis, c, -s), turned_by(w, axis, c, -s)
    return v, w


@inner_kernel
def closed_form_starts(arm, target, starts):
    """
    Write the solutions of the closed form.

    :param target: (4, 4) T_base_tip.
    :param starts: (``MOST_STARTS``, 6) out [rad].
    :returns: their number, and whether these are all isolated solutions.
    """
    complete = True
    if arm.kind != SPHERICAL_WRIST and arm.kind != THREE_PARALLEL:
        return 0, False
    displacement(arm, target, arm.scratch)
    if arm.kind == SPHERICAL_WRIST:
        count = wrist_starts(arm, starts)
    else:
        count, complete = parallel_starts(arm, starts)
    if arm.inverted != 0:
        for k in range(count):
            reverse_joints(starts[k])
    return count, complete


@inner_kernel
def reverse_joints(start):
    """Turn angles (6,) of the inverse of G into those of G, in place."""
    for i in range(3):
        start[i], start[5 - i] = -start[5 - i], -start[i]


@inner_kernel
def displacement(arm, target, G):
    """
    Write G = target · home, or its inverse, as twelve numbers.

    :param arm: an arm with ``home`` and ``inverted``.
    :param target: (4, 4) T_base_tip.
    :param G: (12,) out: columns of the rotation, then the translation.
    """
    for i in range(3):
        for j in range(4):
            value = target[i, 3] if j == 3 else 0.0
            for k in range(3):
                value += target[i, k] * arm.home[k, j]
            G[3 * j + i] = value
    if arm.inverted != 0:
        p = rotated_back(G, vector_at(G, 9))
        G[1], G[3] = G[3], G[1]
        G[2], G[6] = G[6], G[2]
        G[5], G[7] = G[7], G[5]
        G[9], G[10], G[11] = -p[0], -p[1], -p[2]
