"""Shapes of an object, prepared for checks when they are first checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.collision.coal_shapes import coal_shape, CoalShape
from ik_service.collision.mesh_pieces import pieces_of
from ik_service.collision.outline import Outline, outline_of
from ik_service.collision.part import Part
from ik_service.collision.shapes import PlacedShape


@dataclass(frozen=True, eq=False)
class Solid:
    """
    Shapes of an object, whose preparation copies of the object share.

    :ivar shapes: the shapes with their poses.
    """

    shapes: tuple[PlacedShape, ...]

    def prepare(self) -> None:
        """Prepare what a check needs now; for large meshes that takes seconds."""
        _ = self._prepared

    def parts(
        self,
        owner: str,
        kind: str,
        body: int,
        T: np.ndarray,
        meets_world: bool = True,
        meets_links: bool = True,
        margin: float = 0.0,
    ) -> Iterator[Part]:
        """
        Yield the shapes as parts of a body.

        :param owner: name of the link or object.
        :param kind: what that is.
        :param body: index of the rigid body.
        :param T: (4, 4) T_body_object [m].
        :param meets_world: whether they are checked against objects of the world.
        :param meets_links: whether they are checked against other parts of the robot.
        :param margin: distance within which they count as in contact [m].
        """
        for shape, outline, T_shape in self._prepared:
            grown, T_part = outline.grown(margin), T @ T_shape
            yield Part(owner, kind, shape, grown, body, T_part, meets_world, meets_links, margin)

    @cached_property
    def _prepared(self) -> tuple[tuple[CoalShape, Outline, np.ndarray], ...]:
        return tuple(
            (coal_shape(piece), outline_of(piece), T)
            for shape, T in self.shapes
            for piece in pieces_of(shape)
        )
