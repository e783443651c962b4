"""Rules of a world as immutable values: which bodies may touch, and padding and scale of links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.part import Solid
from ik_service.collision.shapes import Capsule, Cone, FARTHEST, Mesh, Plane, Shape
from ik_service.common.arguments import single_number
from ik_service.common.quoting import quote, safe_repr
from ik_service.common.read_only import PicklableValue, read_only
from ik_service.exceptions import ArgumentError
from ik_service.model.geometry.solids import Box, Cylinder, Sphere

MOST_NAMES = 2_000  # names of a matrix, at most; it has their square of entries
LONGEST_NAME = 1_000  # characters of a name, at most

_UNSET, _CHECKED, _ALLOWED = -1, 0, 1  # entries of the matrix


@dataclass(frozen=True, eq=False)
class AllowedCollisions(PicklableValue):
    """
    Which bodies may touch, beside the pairs that the robot itself disables. Immutable.

    Names are those of links, objects and attached objects, whether there are such bodies or not.
    An entry of a pair counts before the defaults of its two names; where both have a default, the
    pair may touch only if both say so. A pair with neither is checked, unless it is one of the
    robot's own: the SRDF's, or those that are found where it disables none.

    :ivar names: the n names that have entries.
    :ivar values: (n, n) symmetric entries: 1 may touch, 0 is checked, −1 has no entry. Read-only.
    :ivar defaults: by name whether it may touch all others. Read-only.
    """

    names: tuple[str, ...] = ()
    values: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int8))
    defaults: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
        object.__setattr__(self, 'defaults', read_only(self.defaults))

    @classmethod
    def of_matrix(
        cls,
        names: Sequence[str],
        enabled: ArrayLike,
        default_names: Sequence[str] = (),
        default_values: Sequence[bool] = (),
    ) -> AllowedCollisions:
        """
        Return the rules of a whole matrix, every pair of whose names has an entry.

        As in MoveIt, of two entries for a pair that contradict each other the one in the row of
        the first name counts.

        :param names: the n names.
        :param enabled: (n, n) whether the pair of a row and a column may touch.
        :param default_names: names with a default.
        :param default_values: whether each of these may touch all others.
        :raises ArgumentError: a size is wrong, or a name is empty, too long or comes twice.
        """
        _check_names(names, 'entry_names')
        _check_names(default_names, 'default_entry_names')
        rows = np.asarray(enabled)
        count = len(names)
        if rows.shape != (count, count):
            raise ArgumentError(
                'entry_values', f'has shape {rows.shape}, has to be {(count, count)}'
            )
        if len(default_names) != len(default_values):
            raise ArgumentError(
                'default_entry_values',
                f'are {len(default_values)}, but default_entry_names {len(default_names)}',
            )
        upper = np.triu(rows.astype(bool), 1).astype(np.int8)
        defaults = dict(zip(default_names, map(bool, default_values), strict=True))
        return cls(tuple(names), upper + upper.T, defaults)

    def __bool__(self) -> bool:
        return bool(self.names or self.defaults)

    def allows(self, first: str, second: str) -> bool | None:
        """Return whether two bodies may touch; None where nothing is said about them."""
        i, j = self._index.get(first), self._index.get(second)
        if i is not None and j is not None and i != j:
            value = int(self.values[i, j])
            if value != _UNSET:
                return value == _ALLOWED
        one, other = self.defaults.get(first), self.defaults.get(second)
        if one is None:
            return other
        return one if other is None else one and other

    def with_pair(self, first: str, second: str, allowed: bool | None) -> AllowedCollisions:
        """
        Return a copy with another entry for a pair.

        :param allowed: whether they may touch; None for no entry.
        :raises ArgumentError: a name is empty or too long, both are the same, or there are too
            many names.
        """
        if first == second:
            raise ArgumentError('second', f'is {quote(first)} as well')
        names = tuple(dict.fromkeys((*self.names, first, second)))
        _check_names(names, 'names')
        values = np.full((len(names), len(names)), _UNSET, np.int8)
        count = len(self.names)
        values[:count, :count] = self.values
        i, j = names.index(first), names.index(second)
        values[i, j] = values[j, i] = _UNSET if allowed is None else int(bool(allowed))
        return AllowedCollisions(names, values, self.defaults)

    def with_default(self, name: str, allowed: bool | None) -> AllowedCollisions:
        """
        Return a copy with another default for a name.

        :param allowed: whether it may touch all others; None for no default.
        :raises ArgumentError: the name is empty or too long, or there are too many.
        """
        defaults = {**self.defaults, name: bool(allowed)}
        _check_names([*defaults], 'names')
        if allowed is None:
            del defaults[name]
        return AllowedCollisions(self.names, self.values, defaults)

    def without(self, names: Iterable[str]) -> AllowedCollisions:
        """Return a copy that says nothing about some names, or itself where it does not now."""
        gone = {*names} & {*self.names, *self.defaults}
        if not gone:
            return self
        kept = [i for i, name in enumerate(self.names) if name not in gone]
        return AllowedCollisions(
            tuple(self.names[i] for i in kept),
            self.values[np.ix_(kept, kept)],
            {name: value for name, value in self.defaults.items() if name not in gone},
        )

    def resolved(self, names: Sequence[str], own: np.ndarray) -> np.ndarray:
        """
        Return which pairs of names may touch, with those of the robot.

        :param names: the n names.
        :param own: (n, n) bool, the rules where none are given here.
        :returns: (n, n) bool; True on the diagonal.
        """
        found = own.copy()
        default = np.array([self.defaults.get(name, _UNSET) for name in names], np.int8)
        set_, open_ = default != _UNSET, default != _CHECKED
        either = set_[:, None] | set_[None, :]
        found[either] = (open_[:, None] & open_[None, :])[either]
        rows = [self._index.get(name, -1) for name in names]
        known = [i for i, row in enumerate(rows) if row >= 0]
        entries = self.values[np.ix_([rows[i] for i in known], [rows[i] for i in known])]
        block = found[np.ix_(known, known)]
        found[np.ix_(known, known)] = np.where(entries == _UNSET, block, entries == _ALLOWED)
        np.fill_diagonal(found, True)
        return found

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}


NOTHING_ALLOWED = AllowedCollisions()  # the matrix that says nothing: the robot's own pairs count


def _check_names(names: Sequence[str], argument: str) -> None:
    if len(names) > MOST_NAMES:
        raise ArgumentError(argument, f'are {len(names)}, at most {MOST_NAMES} are taken')
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise ArgumentError(
                argument,
                f'have to be names of 1 to {LONGEST_NAME} characters, not {safe_repr(name)}',
            )
        if name in seen:
            raise ArgumentError(argument, f'name {quote(name)} twice')
        seen.add(name)


LARGEST = 1_000.0  # largest padding [m] and scale
SMALLEST_SCALE = 1e-3  # smallest scale; a link of no size would be checked with nothing


@dataclass(frozen=True)
class LinkPadding(PicklableValue):
    """
    Padding and scale of links, for checks against objects of the world. Immutable.

    As in MoveIt, links are checked against each other as they are, and objects attached to one are
    padded and scaled like the link.

    :ivar padding: by link the distance within which it counts as in contact [m], at least 0.
    :ivar scale: by link the factor by which its shapes are larger.
    :raises ArgumentError: a value is not finite or out of range; names the link.
    """

    padding: Mapping[str, float] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least, neutral in (('padding', 0.0, 0.0), ('scale', SMALLEST_SCALE, 1.0)):
            values = {
                link: _number(name, link, value, least)
                for link, value in getattr(self, name).items()
            }
            kept = {link: value for link, value in values.items() if value != neutral}
            object.__setattr__(self, name, read_only(kept))

    def __bool__(self) -> bool:
        return bool(self.padding or self.scale)

    def changes(self, link: str) -> bool:
        """Return whether a link is checked with another shape against objects of the world."""
        return link in self.padding or link in self.scale

    def with_link(
        self, link: str, padding: float | None = None, scale: float | None = None
    ) -> LinkPadding:
        """
        Return a copy with other values for a link.

        :param padding: [m]; None leaves it.
        :param scale: None leaves it.
        :raises ArgumentError: a value is not finite or out of range; names the link.
        """
        return LinkPadding(
            self.padding if padding is None else {**self.padding, link: padding},
            self.scale if scale is None else {**self.scale, link: scale},
        )

    def scaled(self, link: str, solid: Solid) -> Solid:
        """Return the shapes of a link, or of objects attached to it, in their size for checks."""
        scale = self.scale.get(link, 1.0)
        if scale == 1.0:
            return solid
        return Solid(tuple((_scaled(shape, scale), T) for shape, T in solid.shapes))


NO_PADDING = LinkPadding()  # all links as they are


def _scaled(shape: Shape, scale: float) -> Shape:
    """Return a shape that is larger about its origin; a mesh about the mean of its vertices."""
    if isinstance(shape, Box):
        x, y, z = (scale * length for length in shape.size)
        return Box((x, y, z))
    if isinstance(shape, Sphere):
        return Sphere(scale * shape.radius)
    if isinstance(shape, Cylinder):
        return Cylinder(scale * shape.radius, scale * shape.height)
    if isinstance(shape, Capsule):
        return Capsule(scale * shape.radius, scale * shape.length)
    if isinstance(shape, Cone):
        return Cone(scale * shape.radius, scale * shape.height)
    if isinstance(shape, Plane):
        return shape
    centre = shape.vertices.mean(axis=0)
    vertices = np.clip(centre + scale * (shape.vertices - centre), -FARTHEST, FARTHEST)
    return Mesh(vertices, shape.triangles)


def _number(name: str, link: str, value: float, least: float) -> float:
    argument = f'{name} of {quote(link)}'
    number = single_number(value, argument)
    if not least <= number <= LARGEST:
        raise ArgumentError(
            argument, f'has to be from {least:g} to {LARGEST:g}, not {safe_repr(value)}'
        )
    return number
