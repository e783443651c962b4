"""Robot and world as they are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.collision.coal_shapes import load_coal
from ik_service.collision.part import ATTACHED, ContactPoint, OBJECT, Part
from ik_service.collision.rigid_bodies import matrix_of
from ik_service.collision.world import AttachedObject, World
from ik_service.exceptions import CollisionObjectError, UnknownLinkError

Pair = tuple[str, str]


class Scene:
    """
    Robot and one snapshot of the world, prepared for checks. Immutable.

    :param model: the robot.
    :param world: the world.
    :raises UnknownLinkError: an object is attached to a link that there is not.
    :raises CollisionObjectError: an object has the name of a link.
    """

    def __init__(self, model: CheckedRobot, world: World) -> None:
        self.model = model
        self.world = world
        self._check_names()
        attached = [part for other in world.attached.values() for part in self._parts_on(other)]
        placed = [part for other in world.objects.values() for part in _parts_in_world(other)]
        self._parts = (*model.parts, *attached, *placed)
        self._pairs = [*model.pairs, *self._pairs_of_attached(attached), *self._pairs_of(placed)]

    def first_contact(self, q: np.ndarray) -> Pair | None:
        """Return the names of two bodies that collide; None where nothing does."""
        return next(((a.owner, b.owner) for a, b, _ in self._collisions(q, False)), None)

    def contacts(self, q: np.ndarray) -> tuple[Pair, ...]:
        """Return the names of all pairs of bodies that collide."""
        return tuple(dict.fromkeys((a.owner, b.owner) for a, b, _ in self._collisions(q, False)))

    def contact_points(self, q: np.ndarray) -> tuple[ContactPoint, ...]:
        """Return a point for each pair of parts that collide."""
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
            for a, b, contact in self._collisions(q, True)
        )

    def _collisions(self, q: np.ndarray, points: bool) -> Iterator[tuple[Part, Part, object]]:
        coal = load_coal()
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        request.enable_contact = points
        frames = self.model.bodies.frames(q)
        places = []
        for part in self._parts:
            T = matrix_of(frames[part.body]) @ part.T_body_part
            places.append(coal.Transform3s(T[:3, :3], T[:3, 3]))
        for i, j in self._pairs:
            a, b = self._parts[i], self._parts[j]
            result.clear()
            if coal.collide(a.shape, places[i], b.shape, places[j], request, result):
                yield a, b, result.getContact(0)

    def _parts_on(self, other: AttachedObject) -> Iterator[Part]:
        bodies = self.model.bodies
        T_body_object = bodies.T_body_link[other.link] @ other.pose
        for part in other.solid.parts:
            T = T_body_object @ part.T_object_part
            yield Part(other.name, ATTACHED, part.shape, bodies.body_of[other.link], T)

    def _pairs_of_attached(self, attached: list[Part]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of attached parts with links, then those among themselves."""
        first = len(self.model.parts)
        for j, part in enumerate(attached, first):
            touched = self.world.attached[part.owner].touch_links
            for i, other in enumerate(self.model.parts):
                apart = other.body != part.body and other.owner not in touched
                if apart and other.owner not in self.model.unchecked_links:
                    yield i, j
        for j, part in enumerate(attached, first):
            for i, other in enumerate(attached[: j - first], first):
                if other.body != part.body:
                    yield i, j

    def _pairs_of(self, placed: list[Part]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of all that may move with the objects of the world."""
        first = len(self._parts) - len(placed)
        for i, other in enumerate(self._parts[:first]):
            if other.kind == ATTACHED or other.owner not in self.model.unchecked_links:
                yield from ((i, j) for j in range(first, len(self._parts)))

    def _check_names(self) -> None:
        links = self.model.bodies.body_of
        for other in self.world.attached.values():
            if other.link not in links:
                raise UnknownLinkError(other.link, self.model.robot.links)
        for name in _names_among((*self.world.objects, *self.world.attached), links):
            raise CollisionObjectError(name, 'name', 'a link of the robot has this name')


def _names_among(names: Iterable[str], links: Iterable[str]) -> list[str]:
    return sorted({*names}.intersection(links))


def _parts_in_world(other: object) -> Iterator[Part]:
    for part in other.solid.parts:
        yield Part(other.name, OBJECT, part.shape, 0, other.pose @ part.T_object_part)
