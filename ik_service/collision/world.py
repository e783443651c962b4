"""The known world as an immutable value: objects, those that the robot carries, and rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.part import OBJECT, Part, Solid
from ik_service.collision.rules import (
    AllowedCollisions,
    LinkPadding,
    LONGEST_NAME,
    NO_PADDING,
    NOTHING_ALLOWED,
)
from ik_service.collision.shapes import checked_pose, Mesh, placed_shapes, PlacedShape, Shape
from ik_service.common.quoting import safe_repr
from ik_service.common.read_only import PicklableValue
from ik_service.exceptions import CollisionObjectError, UnknownObjectError

MOST_OBJECTS = 10_000  # objects of a world, at most; attached ones and others together
MOST_TRIANGLES = 5_000_000  # triangles of all meshes of a world, at most
Color = tuple[float, float, float, float]  # red, green, blue and opacity, each from 0 to 1

_Object = TypeVar('_Object', 'WorldObject', 'AttachedObject')


@dataclass(frozen=True, eq=False)
class WorldObject:
    """
    Object of the world.

    :ivar name: its name.
    :ivar shapes: its shapes, each with (4, 4) T_object_shape [m].
    :ivar pose: (4, 4) T_root_object, in the frame of the robot's root link [m].
    :raises CollisionObjectError: on construction, naming the field at fault.
    """

    name: str
    shapes: tuple[PlacedShape, ...]
    pose: np.ndarray
    solid: Solid = field(init=False, repr=False)

    def __init__(
        self, name: str, shapes: Shape | Iterable[object] | Solid, pose: ArrayLike | None = None
    ) -> None:
        _fill(self, name, shapes, pose)

    def __reduce__(self) -> tuple[object, ...]:
        # Data prepared for checks cannot be pickled.
        return type(self), (self.name, self.shapes, self.pose)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Its shapes, prepared for checks."""
        return tuple(self.solid.parts(self.name, OBJECT, 0, self.pose))

    def at(self, pose: ArrayLike) -> WorldObject:
        """
        Return a copy elsewhere.

        :param pose: (4, 4) T_root_object [m].
        :raises CollisionObjectError: it is no pose.
        """
        return _at(self, pose)

    def with_shapes(self, shapes: Shape | Iterable[object]) -> WorldObject:
        """
        Return a copy with further shapes.

        :param shapes: as for a new object, in the object's frame.
        :raises CollisionObjectError: naming the field at fault.
        """
        more = placed_shapes(self.name, shapes)
        return WorldObject(self.name, (*self.shapes, *more), self.pose)


@dataclass(frozen=True, eq=False)
class AttachedObject:
    """
    Object that moves with a link.

    :ivar name: its name.
    :ivar shapes: its shapes, each with (4, 4) T_object_shape [m].
    :ivar link: the link.
    :ivar touch_links: further links that it may touch; names of no link mean nothing.
    :ivar pose: (4, 4) T_link_object [m].
    :raises CollisionObjectError: on construction, naming the field at fault.
    """

    name: str
    shapes: tuple[PlacedShape, ...]
    link: str
    touch_links: tuple[str, ...]
    pose: np.ndarray
    solid: Solid = field(init=False, repr=False)

    def __init__(
        self,
        name: str,
        shapes: Shape | Iterable[object] | Solid,
        link: str,
        touch_links: Iterable[str] = (),
        pose: ArrayLike | None = None,
    ) -> None:
        touched = (touch_links,) if isinstance(touch_links, str) else tuple(touch_links)
        if not all(isinstance(entry, str) for entry in (link, *touched)):
            raise CollisionObjectError(name, 'link', 'has to be the name of a link')
        object.__setattr__(self, 'link', link)
        object.__setattr__(self, 'touch_links', touched)
        _fill(self, name, shapes, pose)

    def __reduce__(self) -> tuple[object, ...]:
        # As of a WorldObject.
        return type(self), (self.name, self.shapes, self.link, self.touch_links, self.pose)

    def at(self, pose: ArrayLike) -> AttachedObject:
        """Return a copy at (4, 4) T_link_object; raises CollisionObjectError if it is no pose."""
        return _at(self, pose)


@dataclass(frozen=True, eq=False)
class World(PicklableValue):
    """
    Objects around the robot and on it, and allowed contacts. Immutable: each change is a copy.

    Names of objects are unique among all of them.

    :ivar objects: objects of the world by name. Read-only.
    :ivar attached: attached objects by name. Read-only.
    :ivar allowed: bodies that may touch, beside the pairs that the robot itself disables.
    :ivar padding: padding and scale of the links.
    :ivar colors: red, green, blue and opacity, each from 0 to 1, by the name of an object or a
        link, for those who draw it. Read-only.
    """

    objects: Mapping[str, WorldObject] = field(default_factory=dict)
    attached: Mapping[str, AttachedObject] = field(default_factory=dict)
    allowed: AllowedCollisions = NOTHING_ALLOWED
    padding: LinkPadding = NO_PADDING
    colors: Mapping[str, Color] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ('objects', 'attached', 'colors'):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def with_all(
        self, objects: Mapping[str, WorldObject], attached: Mapping[str, AttachedObject]
    ) -> World:
        """Return a copy with other objects, and attached objects, by name in place of all."""
        return replace(self, objects=objects, attached=attached)

    def with_allowed(self, allowed: AllowedCollisions) -> World:
        """Return a copy with another matrix of allowed collisions."""
        return self._copy(allowed=allowed)

    def with_padding(self, padding: LinkPadding) -> World:
        """Return a copy with other padding and scale of all links."""
        return self._copy(padding=padding)

    def with_colors(self, colors: Mapping[str, Color]) -> World:
        """Return a copy with other colours, of all bodies that have one."""
        return self._copy(colors=MappingProxyType(dict(colors)))

    def _copy(self, **changed: object) -> World:
        """Return a copy with other fields, whose mappings nobody changes: without copying them."""
        world = object.__new__(type(self))
        world.__dict__.update(self.__dict__)
        if not changed.keys().isdisjoint(('objects', 'attached')):
            world.__dict__.pop('triangles', None)
        world.__dict__.update(changed)
        return world

    def with_object(self, new: WorldObject) -> World:
        """
        Return a copy with an object more; one of that name is replaced.

        :param new: the object.
        :raises CollisionObjectError: the world is full, or an attached object has that name.
        """
        if new.name in self.attached:
            link = self.attached[new.name].link
            raise CollisionObjectError(
                new.name, 'name', f'an object of that name is attached to {safe_repr(link)}'
            )
        return self._checked(self._copy(objects=_with(self.objects, new)), new)

    def with_attached(self, new: AttachedObject) -> World:
        """
        Return a copy with an attached object more; an object of that name is replaced.

        :param new: the object.
        :raises CollisionObjectError: the world is full.
        """
        objects = _without(self.objects, new.name)
        return self._checked(self._copy(objects=objects, attached=_with(self.attached, new)), new)

    def without(self, name: str) -> World:
        """Return a copy without an object, attached or not; raises UnknownObjectError for none."""
        self._find(name)
        objects, attached = _without(self.objects, name), _without(self.attached, name)
        return self._copy(objects=objects, attached=attached)

    def moved(self, name: str, pose: ArrayLike) -> World:
        """
        Return a copy with an object elsewhere.

        :param name: its name.
        :param pose: (4, 4) T_root_object; of an attached one T_link_object [m].
        :raises UnknownObjectError: there is none of that name.
        :raises CollisionObjectError: it is no pose.
        """
        moved = self._find(name).at(pose)
        if isinstance(moved, AttachedObject):
            return self._copy(attached=_with(self.attached, moved))
        return self._copy(objects=_with(self.objects, moved))

    @cached_property
    def triangles(self) -> int:
        """Number of the triangles of all meshes."""
        free, attached = map(_triangles, self.objects.values()), self.attached.values()
        return sum(free) + sum(map(_triangles, attached))

    def _find(self, name: str) -> WorldObject | AttachedObject:
        found = None
        if isinstance(name, str):
            found = self.objects.get(name) or self.attached.get(name)
        if found is None:
            raise UnknownObjectError(name, (*self.objects, *self.attached))
        return found

    def _checked(self, changed: World, new: WorldObject | AttachedObject) -> World:
        """Return a changed world, if it is not too large."""
        if len(changed.objects) + len(changed.attached) > MOST_OBJECTS:
            raise CollisionObjectError(
                new.name, 'name', f'there are {MOST_OBJECTS} objects, and no more are taken'
            )
        old = self.objects.get(new.name) or self.attached.get(new.name)
        count = self.triangles + _triangles(new) - (_triangles(old) if old else 0)
        if count > MOST_TRIANGLES:
            raise CollisionObjectError(
                new.name, 'shapes', f'more than {MOST_TRIANGLES} triangles in all'
            )
        changed.__dict__['triangles'] = count
        return changed


def _fill(new: WorldObject | AttachedObject, name: str, shapes: object, pose: object) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise CollisionObjectError(
            name, 'name', f'has to be a name of 1 to {LONGEST_NAME} characters'
        )
    # Data prepared by another object are taken over.
    solid = shapes if isinstance(shapes, Solid) else Solid(placed_shapes(name, shapes))
    object.__setattr__(new, 'name', name)
    object.__setattr__(new, 'shapes', solid.shapes)
    object.__setattr__(new, 'pose', checked_pose(name, pose))  # type: ignore[arg-type]
    object.__setattr__(new, 'solid', solid)


def _at(old: _Object, pose: ArrayLike) -> _Object:
    """Return a copy with another pose, which shares all that was prepared."""
    checked = checked_pose(old.name, pose)
    moved = object.__new__(type(old))
    moved.__dict__.update(old.__dict__)
    moved.__dict__['pose'] = checked
    moved.__dict__.pop('parts', None)
    return moved


def _with(objects: Mapping[str, _Object], new: _Object) -> Mapping[str, _Object]:
    # The operator is quicker for a proxy than a constructor or `**`.
    return MappingProxyType(cast(Any, objects) | {new.name: new})


def _without(objects: Mapping[str, _Object], name: str) -> Mapping[str, _Object]:
    if name not in objects:
        return objects
    left = cast(Any, objects) | {}
    del left[name]
    return MappingProxyType(left)


def _triangles(other: WorldObject | AttachedObject) -> int:
    return sum(len(shape.triangles) for shape, _ in other.shapes if isinstance(shape, Mesh))
