"""Robot and world as they are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.collision.coal_shapes import CoalContact
from ik_service.collision.part import ATTACHED, ContactPoint, Part
from ik_service.collision.scene_arrays import RobotArrays, with_parts, world_arrays, WorldArrays
from ik_service.collision.workspace import Workspace
from ik_service.collision.world import World, WorldObject
from ik_service.exceptions import CollisionObjectError, UnknownLinkError

Pair = tuple[str, str]


class _PlacedObjects:
    """Objects of the world, prepared when they are first checked."""

    def __init__(self, objects: Mapping[str, WorldObject]) -> None:
        self._objects = objects

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Their shapes."""
        return tuple(part for other in self._objects.values() for part in other.parts)

    @cached_property
    def arrays(self) -> WorldArrays:
        """The same for the kernels."""
        return world_arrays(self.parts)


class Scene:
    """
    Robot and one snapshot of the world, prepared when it is first checked. Immutable.

    :param model: the robot.
    :param world: the world.
    :param before: another scene of the robot; what is prepared of the same objects is taken over.
    :raises UnknownLinkError: an object is attached to a link that there is not.
    :raises CollisionObjectError: an object has the name of a link.
    """

    def __init__(self, model: CheckedRobot, world: World, before: Scene | None = None) -> None:
        self.model = model
        self.world: World = world
        self._placed = _PlacedObjects(world.objects)
        if before is not None and before.world.objects is world.objects:
            self._placed = before._placed
        links = model.bodies.body_of
        for other in world.attached.values():
            if other.link not in links:
                raise UnknownLinkError(other.link, model.robot.links)
        for name in (*_shared(world.objects, links), *_shared(world.attached, links)):
            raise CollisionObjectError(name, 'name', 'a link of the robot has this name')

    def first_contact(self, workspace: Workspace) -> Pair | None:
        """
        Return the names of two bodies that collide; None where nothing does.

        :param workspace: the memory of this thread, with the posture.
        :raises ArgumentError: a position is not finite.
        """
        near = workspace.near_pairs(self.robot, self._world)
        if self._still_pairs:
            i, j = self._still_pairs[0]
            return self._parts[i].owner, self._parts[j].owner
        for i, j in near:
            a, b = self._parts[i], self._parts[j]
            place_b = workspace.place(j) if j < self._moving else b.place
            if workspace.collides(a, workspace.place(i), b, place_b):
                return a.owner, b.owner
        return None

    def contacts(self, workspace: Workspace) -> tuple[Pair, ...]:
        """
        Return the names of all pairs of bodies that collide, in the order of their parts.

        :param workspace: the memory of this thread, with the posture.
        :raises ArgumentError: a position is not finite.
        """
        found = ((a.owner, b.owner) for a, b, _ in self._collisions(workspace))
        return tuple(dict.fromkeys(found))

    def contact_points(self, workspace: Workspace) -> tuple[ContactPoint, ...]:
        """
        Return a point for each pair of parts that collide, in the order of the parts.

        :param workspace: the memory of this thread, with the posture.
        :raises ArgumentError: a position is not finite.
        """
        return tuple(
            ContactPoint(
                a.owner,
                b.owner,
                a.kind,
                b.kind,
                np.array(contact.pos),
                np.array(contact.normal),
                max(0.0, -float(contact.penetration_depth)),
            )
            for a, b, contact in self._collisions(workspace)
        )

    def colliding(self, postures: np.ndarray) -> np.ndarray:
        """
        Return of many postures whether something collides.

        :param postures: (N, m) positions of all independent joints [rad] or [m].
        :returns: (N,) of bool.
        """
        if self._still_pairs:
            return np.ones(len(postures), bool)
        workspace = self.model.workspace
        found = workspace.rows_with_near_pairs(self.robot, self._world, postures)
        for row in np.flatnonzero(found).tolist():
            workspace.posture[:] = postures[row]
            found[row] = self.first_contact(workspace) is not None
        return found

    def some_collide(self, postures: np.ndarray) -> bool:
        """
        Return whether something collides in one of many postures, at least.

        :param postures: (N, m) positions of all independent joints [rad] or [m].
        """
        if self._still_pairs:
            return len(postures) > 0
        workspace = self.model.workspace
        near = workspace.rows_with_near_pairs(self.robot, self._world, postures)
        for row in near.nonzero()[0].tolist():
            workspace.posture[:] = postures[row]
            if self.first_contact(workspace) is not None:
                return True
        return False

    def _collisions(self, workspace: Workspace) -> Iterator[tuple[Part, Part, CoalContact]]:
        """Yield the pairs of parts that collide, and where."""
        near = workspace.near_pairs(self.robot, self._world)
        for i, j in sorted([*self._still_pairs, *map(tuple, near)]):
            a, b = self._parts[i], self._parts[j]
            place_a = workspace.place(i) if a.body else a.place
            place_b = workspace.place(j) if b.body else b.place
            contact = workspace.contact(a, place_a, b, place_b)
            if contact is not None:
                yield a, b, contact

    @cached_property
    def _still_pairs(self) -> list[tuple[int, int]]:
        """The pairs that collide in every posture: parts that never move, with objects."""
        workspace = self.model.workspace
        near = workspace.near_pairs(self.robot, self._world, still=True)
        pairs = ((i, j, self._parts[i], self._parts[j]) for i, j in near)
        return [(i, j) for i, j, a, b in pairs if workspace.collides(a, a.place, b, b.place)]

    @cached_property
    def _attached(self) -> tuple[Part, ...]:
        bodies = self.model.bodies
        return tuple(
            part
            for other in self.world.attached.values()
            for part in other.solid.parts(
                other.name,
                ATTACHED,
                bodies.body_of[other.link],
                bodies.T_body_link[other.link] @ other.pose,
            )
        )

    @cached_property
    def _moving(self) -> int:
        """Number of the parts of the robot with what it carries."""
        return len(self.model.parts) + len(self._attached)

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """All parts: of links, of attached objects, of objects of the world."""
        return (*self.model.parts, *self._attached, *self._placed.parts)

    @cached_property
    def robot(self) -> RobotArrays:
        """The robot with what it carries, as the kernels take it."""
        if not self._attached:
            return self.model.arrays
        return with_parts(self.model.arrays, self._attached, [*self._pairs_of_attached()])

    @property
    def _world(self) -> WorldArrays:
        return self._placed.arrays

    def _pairs_of_attached(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of attached parts with links and with each other."""
        first = len(self.model.parts)
        parts = (*self.model.parts, *self._attached)
        for j, part in enumerate(self._attached, first):
            touched = self.world.attached[part.owner].touch_links
            for i, other in enumerate(parts[:j]):
                if other.body == part.body:
                    continue
                if other.kind == ATTACHED or (other.meets_world and other.owner not in touched):
                    yield i, j


def _shared(names: Mapping[str, object], links: dict[str, int]) -> list[str]:
    """Return the names of links that objects have as well."""
    return [link for link in links if link in names]
