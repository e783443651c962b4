"""
Tolerances of links: the tasks that they make of poses, and their tests of joint paths.

A constraint on a link that is rigidly attached to the one that is placed loosens that pose: the
orientation, or the position, need only be within the tolerance. A constraint on another link is a
task beside the pose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
import math
from typing import TypeVar

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.common.quoting import quote
from ik_service.common.transforms import rigid_transform
from ik_service.exceptions import ConstraintError
from ik_service.kinematics.tree import Tip
from ik_service.model.geometry.solids import Region, Sphere
from ik_service.solvers.collision_test import Bodies, CollisionTest
from ik_service.solvers.task import Task

_ANYWHERE = Sphere(math.inf)
_ANY_ORIENTATION = (math.inf, math.inf, math.inf)
_EXACT = Sphere(0.0)
_MOST_TASKS = 64
SLACK = 1e-6
"""By how much a pose may exceed a tolerance, as numbers that a client has rounded do [m, rad]."""


@dataclass(frozen=True)
class OrientationBound:
    """
    Tolerances of the orientation of a link.

    :ivar field: field of the request, for messages.
    :ivar rotation: (3, 3) R_base_link that the tolerances are about.
    :ivar tolerances: about x, y and z of that orientation [rad].
    :ivar parameterization: 'rotation_vector' or 'euler_xyz'.
    """

    field: str
    link: str
    rotation: np.ndarray
    tolerances: tuple[float, float, float]
    parameterization: str


@dataclass(frozen=True)
class PositionBound:
    """
    Regions in one of which a point of a link has to be.

    :ivar field: field of the request, for messages.
    :ivar point: (3,) the point in the link's frame [m].
    :ivar regions: shapes and their poses (4, 4) T_base_shape.
    """

    field: str
    link: str
    point: np.ndarray
    regions: tuple[tuple[Region, np.ndarray], ...]


AttachedTo = Callable[[str], Mapping[str, np.ndarray]]
"""Of a link: those rigidly attached to it, with (4, 4) T_link_other [m] of each."""
Bound = OrientationBound | PositionBound
AnyBound = TypeVar('AnyBound', OrientationBound, PositionBound)
Tasks = Mapping[Tip, np.ndarray | Task]  # poses and tasks by the link that they place


def tasks_beside(
    bounds: Sequence[Bound], placed: frozenset[str], attached_to: AttachedTo
) -> list[Tasks]:
    """
    Return the tasks for the links that are not placed by a pose.

    :param placed: links that a pose places, with all that are rigidly attached to them.
    :param attached_to: returns the links that are rigidly attached to one, with their poses there.
    :returns: alternatives, one for each choice among the regions of each constraint.
    :raises ConstraintError: two of a kind for one link, or too many alternatives.
    """
    others = [bound for bound in bounds if bound.link not in placed]
    families: dict[frozenset[str], list[Bound]] = {}
    for bound in others:
        families.setdefault(frozenset(attached_to(bound.link)), []).append(bound)
    alternatives = [_tasks_of(family, None, attached_to) for family in families.values()]
    return combinations(alternatives)


def loosened(
    link: str, T_base_link: np.ndarray, bounds: Sequence[Bound], attached_to: AttachedTo
) -> list[Tasks]:
    """
    Return the tasks that a pose becomes by the constraints on its link, one for each region.

    :param link: the link that the pose places.
    :param T_base_link: (4, 4) the pose.
    :param bounds: the constraints; those of links that are not attached to it are left out.
    :param attached_to: returns the links that are rigidly attached to one, with their poses there.
    :returns: alternatives; none without a constraint on the link.
    :raises ConstraintError: two of a kind, or the pose is not within one.
    """
    attached = attached_to(link)
    own = [bound for bound in bounds if bound.link in attached]
    if not own:
        return []
    for bound in own:
        _check_within(bound, T_base_link @ attached[bound.link])
    return _tasks_of(own, (link, T_base_link), attached_to)


def _tasks_of(
    bounds: Sequence[Bound], pose: tuple[str, np.ndarray] | None, attached_to: AttachedTo
) -> list[Tasks]:
    """Return the tasks for constraints on rigidly attached links, and for the pose of one."""
    orientation = _only([b for b in bounds if isinstance(b, OrientationBound)])
    position = _only([b for b in bounds if isinstance(b, PositionBound)])
    link = orientation.link if orientation else pose[0] if pose else bounds[0].link
    offsets = attached_to(link)
    target = np.eye(4)
    tolerances, parameterization = _ANY_ORIENTATION, 'rotation_vector'
    if pose is not None:
        target = pose[1] @ np.linalg.inv(offsets[pose[0]])
        tolerances = (0.0, 0.0, 0.0)
    if orientation is not None:
        target = rigid_transform(orientation.rotation, target[:3, 3])
        tolerances, parameterization = orientation.tolerances, orientation.parameterization
    if position is not None:
        point = (offsets[position.link] @ np.append(position.point, 1.0))[:3]
        regions = position.regions
    elif pose is not None:
        point = offsets[pose[0]][:3, 3]
        regions = ((_EXACT, pose[1]),)
    else:
        point, regions = np.zeros(3), ((_ANYWHERE, np.eye(4)),)
    return [
        {link: Task(target, region, T_base_region, tuple(point), tolerances, parameterization)}
        for region, T_base_region in regions
    ]


def _only(bounds: Sequence[AnyBound]) -> AnyBound | None:
    """Return the only constraint of a kind; None where there is none."""
    if len(bounds) > 1:
        first, second = bounds[:2]
        raise ConstraintError(
            f'{first.field} and {second.field} are both for {first.link!r}, or a link rigidly '
            'attached to it; one of a kind is supported for a link'
        )
    return bounds[0] if bounds else None


def beyond(bound: Bound, T_base_link: np.ndarray) -> tuple[float, str]:
    """Return by how much (4, 4) T_base_link is outside a constraint, and the unit."""
    if isinstance(bound, OrientationBound):
        target = rigid_transform(bound.rotation, T_base_link[:3, 3])
        task = Task(target, None, None, (0.0, 0.0, 0.0), bound.tolerances, bound.parameterization)
        return task.violation(T_base_link)[1], 'rad'
    point = tuple(bound.point)
    return min(
        Task(T_base_link, region, T, point, _ANY_ORIENTATION).violation(T_base_link)[0]
        for region, T in bound.regions
    ), 'm'


def _check_within(bound: Bound, T_base_link: np.ndarray) -> None:
    """Refuse a pose that is not within the tolerances of a constraint on its link."""
    excess, unit = beyond(bound, T_base_link)
    if excess > SLACK:
        raise ConstraintError(
            f'{bound.field} and the pose contradict each other: the pose lies {excess:.3g} {unit} '
            'outside the tolerance'
        )


def check_still(bound: Bound, T_base_link: np.ndarray) -> None:
    """
    Refuse a constraint on a link that no joint of the group moves, unless it holds already.

    :param bound: the constraint.
    :param T_base_link: (4, 4) where the link is.
    :raises ConstraintError: it does not hold.
    """
    excess, unit = beyond(bound, T_base_link)
    if excess > SLACK:
        raise ConstraintError(
            f'{bound.field} is for {quote(bound.link)}, which the group does not move, and which '
            f'is {excess:.3g} {unit} outside'
        )


def combinations(alternatives: Sequence[Sequence[Tasks]]) -> list[Tasks]:
    """
    Return all choices of one alternative each, merged.

    :raises ConstraintError: they are too many, or two are for one link, and one would be lost.
    """
    count = math.prod(len(choices) for choices in alternatives)
    if count > _MOST_TASKS:
        raise ConstraintError(
            f'position_constraints allow {count} combinations of regions, more than the '
            f'{_MOST_TASKS} that are tried'
        )
    merged: list[Tasks] = []
    for chosen in product(*alternatives):
        tasks: dict[Tip, np.ndarray | Task] = {}
        for part in chosen:
            for tip in tasks.keys() & part.keys():
                link = quote(tip if isinstance(tip, str) else tip[1])
                raise ConstraintError(
                    f'constraints on {link}, or a link rigidly attached to it, are not supported '
                    'beside poses of two such links'
                )
            tasks.update(part)
        merged.append(tasks)
    return merged


class BoundTest:
    """
    Test of constraints on links, which a path search takes like a test of collisions.

    :param base_link: link in whose frame the constraints are given.
    :param bounds: the constraints.
    :param posture: (m,) full posture [rad] or [m], where the other joints are.
    :param indices: (n,) where the joints of the path stand in it.
    """

    def __init__(
        self,
        arm: Arm,
        base_link: str,
        bounds: Sequence[Bound],
        posture: np.ndarray,
        indices: np.ndarray,
    ) -> None:
        self._arm, self._base_link, self._bounds = arm, base_link, bounds
        self._posture, self._indices = posture.copy(), indices

    def first_contact(self, q: np.ndarray) -> Bodies | None:
        """Return field and link of a constraint that does not hold at q (n,); None for none."""
        posture = self._posture.copy()
        posture[self._indices] = q
        self._arm.postures.complete(posture)
        for bound in self._bounds:
            T = self._arm.pose_of(bound.link, self._base_link, posture)
            if beyond(bound, T)[0] > SLACK:
                return bound.field, bound.link
        return None

    def colliding(self, Q: np.ndarray, threads: int = 1) -> np.ndarray:
        """Return at which (N,) of joint vectors (N, n) some constraint does not hold."""
        return np.array([self.first_contact(q) is not None for q in Q], bool)


class AllTests:
    """Several tests as one."""

    def __init__(self, tests: Sequence[CollisionTest]) -> None:
        self._tests = tests

    def first_contact(self, q: np.ndarray) -> Bodies | None:
        """Return the contact of the first test that finds one at q (n,) [rad] or [m]."""
        found = (test.first_contact(q) for test in self._tests)
        return next((bodies for bodies in found if bodies is not None), None)

    def colliding(self, Q: np.ndarray, threads: int = 1) -> np.ndarray:
        """Return in which (N,) of joint vectors (N, n) some test finds something."""
        found = np.zeros(len(Q), bool)
        for test in self._tests:
            left = ~found
            found[left] = test.colliding(Q[left], threads)
        return found
