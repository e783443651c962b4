"""Arms of six revolute joints: recognition of closed forms, and what these take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.kinematics.chain import KinematicChain

NO_FORM, SPHERICAL_WRIST, THREE_PARALLEL, GENERAL = range(4)
# The first two axes of an arm with a spherical wrist.
SKEW, INTERSECTING, PARALLEL = range(3)
MOST_STARTS = 16
"""Number of solutions of any arm of six revolute joints, at most."""


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
    :ivar scratch: (20,) G in twelve numbers, then the roots of two equations.
    """

    kind: int
    first_axes: int
    inverted: int
    axes: np.ndarray
    center: np.ndarray
    home: np.ndarray
    scratch: np.ndarray


# How far axes may miss each other [m], and the sine of the angle between them that counts as
# parallel. Descriptions are rounded; the angles of the closed form are improved afterwards.
_NEAR = 1e-4
_PARALLEL = 1e-4
# Shortest lever that counts as one [m].
_SHORT = 1e-3


def closed_form_of(chain: KinematicChain) -> ClosedForm:
    """
    Return what the closed form of an arm takes; ``GENERAL`` or ``NO_FORM`` when none fits.

    :param chain: the chain.
    """
    axes = axes_of(chain)
    home = inverse_transform(chain.forward(np.zeros(chain.n)))
    if axes is not None:
        for inverted, ordered in enumerate((axes, axes[::-1])):
            found = _spherical_wrist(ordered) or _three_parallel(ordered)
            if found:
                return _form(*found, inverted, home)
    kind = NO_FORM if axes is None else GENERAL
    return _form(kind, SKEW, np.zeros((6, 6)), np.zeros(3), 0, home)


def _form(
    kind: int,
    first_axes: int,
    axes: np.ndarray,
    center: np.ndarray,
    inverted: int,
    home: np.ndarray,
) -> ClosedForm:
    return ClosedForm(
        kind, first_axes, inverted, np.array(axes), np.array(center), home, np.zeros(20)
    )


def axes_of(chain: KinematicChain) -> np.ndarray | None:
    """
    Return direction and a point of six axes at q = 0, (6, 6); None for any other arm.

    :param chain: the chain.
    """
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
    center = _meeting_point(axes[3:])
    if center is None:
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
    center = _meeting_point(axes[4:])
    links = np.diff(axes[1:4, 3:], axis=0)
    if center is None or any(
        np.linalg.norm(_across(axes[1, :3], link)) < _SHORT for link in links
    ):
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


def _meeting_point(axes: np.ndarray) -> np.ndarray | None:
    """Return the point through which all axes pass; None when there is none."""
    planes = [np.eye(3) - np.outer(axis[:3], axis[:3]) for axis in axes]
    sides = [plane @ axis[3:] for plane, axis in zip(planes, axes, strict=True)]
    point = np.linalg.solve(sum(planes, np.zeros((3, 3))), sum(sides, np.zeros(3)))
    misses = [np.linalg.norm(_across(axis[:3], point - axis[3:])) for axis in axes]
    return point if max(misses) <= _NEAR else None


def _across(direction: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the part of a vector that is perpendicular to a direction."""
    return vector - (direction @ vector) * direction


def _are_parallel(axis: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.linalg.norm(np.cross(axis[:3], other[:3])) < _PARALLEL)
