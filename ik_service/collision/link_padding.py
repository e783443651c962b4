"""Padding and scale of links: how far the robot has to stay from the objects of the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ik_service.collision.shapes import Capsule, Cone, FARTHEST, Mesh, Plane, Shape
from ik_service.collision.solid import Solid
from ik_service.common.quoting import quote, safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.solvers.regions import Box, Cylinder, Sphere

LARGEST = 1_000.0
"""Largest padding [m] and scale."""
SMALLEST_SCALE = 1e-3
"""Smallest scale; a link of no size would be checked with nothing."""


@dataclass(frozen=True)
class LinkPadding:
    """
    Padding and scale of links, for checks against objects of the world. Immutable.

    As in MoveIt, links are checked against each other as they are, and what a link carries is
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
            object.__setattr__(self, name, MappingProxyType(kept))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only mappings cannot be pickled.
        return type(self), (dict(self.padding), dict(self.scale))

    def __bool__(self) -> bool:
        return bool(self.padding or self.scale)

    def changes(self, link: str) -> bool:
        """
        Return whether a link is checked with another shape against objects of the world.

        :param link: its name.
        """
        return link in self.padding or link in self.scale

    def with_link(
        self, link: str, padding: float | None = None, scale: float | None = None
    ) -> LinkPadding:
        """
        Return a copy with other values for a link.

        :param link: its name.
        :param padding: [m]; None leaves it.
        :param scale: None leaves it.
        :raises ArgumentError: a value is not finite or out of range; names the link.
        """
        return LinkPadding(
            self.padding if padding is None else {**self.padding, link: padding},
            self.scale if scale is None else {**self.scale, link: scale},
        )

    def scaled(self, link: str, solid: Solid) -> Solid:
        """
        Return the shapes of a link, or of what it carries, in their larger or smaller size.

        :param link: name of the link.
        :param solid: the shapes.
        """
        scale = self.scale.get(link, 1.0)
        if scale == 1.0:
            return solid
        return Solid(tuple((_scaled(shape, scale), T) for shape, T in solid.shapes))


NO_PADDING = LinkPadding()
"""All links as they are."""


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
    if not isinstance(value, (int, float)) or not least <= value <= LARGEST:
        raise ArgumentError(
            f'{name} of {quote(link)}',
            f'has to be from {least:g} to {LARGEST:g}, not {safe_repr(value)}',
        )
    return float(value)
