"""Robot and world as they are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
import math
from operator import is_

import numpy as np

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.collision.kernels import FREE
from ik_service.collision.part import ATTACHED, ContactPoint, LINK, Part
from ik_service.collision.rules import AllowedCollisions, LinkPadding
from ik_service.collision.scene_arrays import (
    grown,
    LineJoints,
    robot_arrays,
    RobotArrays,
    with_parts,
    world_arrays,
    WorldArrays,
)
from ik_service.collision.shapes import CoalContact
from ik_service.collision.workspace import Workspace
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.exceptions import CollisionObjectError, UnknownLinkError

Pair = tuple[str, str]

_CLOSE = 0.01  # distance of postures [m] of which many can be judged together


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


class _RuledRobot:
    """
    Links under the rules of a world: the pairs of them that are checked, and their sizes.

    A link that is padded or scaled has a part more for checks against objects of the world.
    """

    def __init__(
        self, model: CheckedRobot, allowed: AllowedCollisions, padding: LinkPadding
    ) -> None:
        self.rules = allowed, padding
        self._model, self._allowed, self._padding = model, allowed, padding

    def may_touch(self, a: Part, b: Part) -> bool:
        """Return whether two parts of different bodies may touch."""
        said = self._allowed.allows(a.owner, b.owner)
        if said is not None:
            return said
        if a.kind == b.kind == LINK:
            return frozenset((a.owner, b.owner)) in self._model.disabled_pairs
        unchecked = self._model.unchecked_links
        return any(part.kind == LINK and part.owner in unchecked for part in (a, b))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the links; first those that the robot has itself."""
        if not any(self.rules):
            return self._model.parts
        # A part that may touch objects is left out near one, as that depends on the object.
        parts = [
            replace(
                part,
                meets_world=(part.meets_world or bool(self._allowed))
                and not self._padding.changes(part.owner),
            )
            for part in self._model.parts
        ]
        return (*parts, *self._padded())

    @cached_property
    def arrays(self) -> RobotArrays:
        """The same for the kernels, with the pairs that are checked."""
        if not any(self.rules):
            return self._model.arrays
        model = self._model
        of = {part.owner: part for part in model.parts}
        checked = [(a, b) for a, b in model.loose_links if not self.may_touch(of[a], of[b])]
        return robot_arrays(model.bodies.arrays, self.parts, model.pairs_of(checked))

    def _padded(self) -> Iterator[Part]:
        bodies, unchecked = self._model.bodies, self._model.unchecked_links
        for link, solids in self._model.solids.items():
            if not self._padding.changes(link):
                continue
            body, T = bodies.body_of[link], bodies.T_body_link[link]
            meets_world = link not in unchecked or bool(self._allowed)
            margin = self._padding.padding.get(link, 0.0)
            for solid in solids:
                scaled = self._padding.scaled(link, solid)
                yield from scaled.parts(link, LINK, body, T, meets_world, False, margin)


class Scene:
    """
    Robot and one snapshot of the world, prepared when it is first checked. Immutable.

    :param model: the robot.
    :param before: another scene of the robot; data prepared of the same objects are taken over.
    :raises UnknownLinkError: an object is attached to a link that there is not.
    :raises CollisionObjectError: an object has the name of a link.
    """

    def __init__(self, model: CheckedRobot, world: World, before: Scene | None = None) -> None:
        self.model = model
        self.world: World = world
        self._placed = _PlacedObjects(world.objects)
        if before is not None and before.world.objects is world.objects:
            self._placed = before._placed
        self._ruled = _RuledRobot(model, world.allowed, world.padding)
        if before is not None and all(map(is_, before._ruled.rules, self._ruled.rules)):
            self._ruled = before._ruled
        self._filters = bool(world.allowed)
        self._has_rules = bool(world.allowed or world.padding)
        links = model.bodies.body_of
        for other in world.attached.values():
            if other.link not in links:
                raise UnknownLinkError(other.link, model.robot.links)
        for name in (*_shared(world.objects, links), *_shared(world.attached, links)):
            raise CollisionObjectError(name, 'name', 'a link of the robot has this name')

    def first_contact(self, workspace: Workspace) -> Pair | None:
        """Return the names of two bodies that collide in a thread's posture; None for none."""
        return self._first_of(workspace, workspace.near_pairs(self.robot, self._world))

    def _first_of(self, workspace: Workspace, near: list[list[int]]) -> Pair | None:
        """Return the names of the first of some pairs that are near that collides."""
        if self._still_pairs:
            i, j = self._still_pairs[0]
            return self._parts[i].owner, self._parts[j].owner
        # The second also regards bodies that may touch, and margins.
        touch = workspace.is_within if self._has_rules else workspace.collides
        for i, j in self._checked(near):
            a, b = self._parts[i], self._parts[j]
            place_b = workspace.place(j) if j < self._moving else b.place
            if touch(a, workspace.place(i), b, place_b):
                return a.owner, b.owner
        return None

    def contacts(self, workspace: Workspace) -> tuple[Pair, ...]:
        """Return the names of all pairs of bodies that collide, in the order of their parts."""
        found = ((a.owner, b.owner) for a, b, _ in self._collisions(workspace))
        return tuple(dict.fromkeys(found))

    def contact_points(self, workspace: Workspace) -> tuple[ContactPoint, ...]:
        """Return a point for each pair of parts that collide, in the order of the parts."""
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

    def colliding(self, postures: np.ndarray, step: float = math.inf) -> np.ndarray:
        """
        Return of many postures whether something collides.

        :param postures: (N, m) positions of all independent joints [rad] or [m].
        :param step: how far any point of the robot is in a posture from where it was in the one
            before, at most [m]; inf for postures that have nothing to do with each other.
        :returns: (N,) of bool.
        """
        found = np.ones(len(postures), bool)
        if self._still_pairs:
            return found
        workspace, world = self.model.workspace, self._world
        if step <= _CLOSE:
            # Where parts that are grown by the step are free, so are those of both neighbours.
            middles = np.ascontiguousarray(postures[1::3])
            near = workspace.rows_with_near_pairs(grown(self.robot, step), world, middles)
            near = np.repeat(near, 3)[: len(postures)]
            found[: len(near)] = near
        rows = np.flatnonzero(found)
        found[rows] = workspace.rows_with_near_pairs(self.robot, world, postures[rows])
        for row in np.flatnonzero(found).tolist():
            workspace.posture[:] = postures[row]
            found[row] = self.first_contact(workspace) is not None
        return found

    def line_is_free(self, line: LineJoints, corners: np.ndarray, step: float) -> tuple[bool, int]:
        """
        Return whether nothing collides on a straight motion, and how many postures were checked.

        :param line: the joints that move.
        :param corners: (2, n) the first posture, which is not checked, and the last, or (3, n)
            those of a parabola with the corner between them [rad] or [m].
        :param step: motion of the robot between the postures that are checked, at most [m].
        """
        if self._still_pairs:
            return False, 1
        workspace, robot, world = self.model.workspace, self.robot, self._world
        place, count, certain = -1, 0, not self._filters
        while True:
            place, looked = workspace.near_on_line(
                robot, world, line, corners, step, place + 1, certain
            )
            count += looked
            if place < 0:
                return place == FREE, count
            if self._first_of(workspace, workspace.near_pair()) or self.first_contact(workspace):
                return False, count

    @cached_property
    def of_motion(self) -> Scene:
        """The same without contacts of parts that never move: those that no motion changes."""
        scene = copy(self)
        scene._still_pairs = []
        return scene

    def _collisions(self, workspace: Workspace) -> Iterator[tuple[Part, Part, CoalContact]]:
        """Yield the pairs of parts that collide, and where."""
        near = self._checked(workspace.near_pairs(self.robot, self._world))
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
        near = self._checked(workspace.near_pairs(self.robot, self._world, still=True))
        pairs = ((i, j, self._parts[i], self._parts[j]) for i, j in near)
        return [(i, j) for i, j, a, b in pairs if workspace.is_within(a, a.place, b, b.place)]

    def _checked(self, near: list[list[int]]) -> list[list[int]]:
        """Return the near pairs that may not touch; those of the robot are chosen before."""
        if not self._filters:
            return near
        parts, first = self._parts, self._moving
        return [
            [i, j] for i, j in near if j < first or not self._ruled.may_touch(parts[i], parts[j])
        ]

    @cached_property
    def _attached(self) -> tuple[Part, ...]:
        return tuple(
            part for other in self.world.attached.values() for part in self._parts_of(other)
        )

    def _parts_of(self, held: AttachedObject) -> Iterator[Part]:
        """Yield the parts of an attached object; one on a padded link has some for the world."""
        bodies, padding = self.model.bodies, self.world.padding
        T = bodies.T_body_link[held.link] @ held.pose
        body, padded = bodies.body_of[held.link], padding.changes(held.link)
        yield from held.solid.parts(held.name, ATTACHED, body, T, meets_world=not padded)
        if padded:
            margin = padding.padding.get(held.link, 0.0)
            scaled = padding.scaled(held.link, held.solid)
            yield from scaled.parts(held.name, ATTACHED, body, T, True, False, margin)

    @cached_property
    def _moving(self) -> int:
        """Number of the parts of the robot with attached objects."""
        return len(self._ruled.parts) + len(self._attached)

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """All parts: of links, of attached objects, of objects of the world."""
        return (*self._ruled.parts, *self._attached, *self._placed.parts)

    @cached_property
    def robot(self) -> RobotArrays:
        """The robot with attached objects, as the kernels take it."""
        if not self._attached:
            return self._ruled.arrays
        pairs = np.array([*self._pairs_of_attached()], np.int64).reshape(-1, 2)
        return with_parts(self._ruled.arrays, self._attached, pairs)

    @property
    def _world(self) -> WorldArrays:
        return self._placed.arrays

    def _pairs_of_attached(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of attached parts with links and with each other."""
        first = len(self._ruled.parts)
        parts = (*self._ruled.parts, *self._attached)
        for j, part in enumerate(self._attached, first):
            if not part.meets_links:
                continue
            touched = self.world.attached[part.owner].touch_links
            for i, other in enumerate(parts[:j]):
                if other.body == part.body or not other.meets_links:
                    continue
                if other.kind == LINK and other.owner in touched:
                    continue
                if not self._ruled.may_touch(other, part):
                    yield i, j


def _shared(names: Mapping[str, object], links: dict[str, int]) -> list[str]:
    """Return the names of links that objects have as well."""
    return [link for link in links if link in names]
