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
        self, owner: str, kind: str, body: int, T: np.ndarray, meets_world: bool = True
    ) -> Iterator[Part]:
        """
        Yield the shapes as parts of a body.

        :param owner: name of the link or object.
        :param kind: what that is.
        :param body: index of the rigid body.
        :param T: (4, 4) T_body_object [m].
        :param meets_world: whether they are checked against objects of the world.
        """
        for shape, outline, T_shape in self._prepared:
            yield Part(owner, kind, shape, outline, body, T @ T_shape, meets_world)

    @cached_property
    def _prepared(self) -> tuple[tuple[CoalShape, Outline, np.ndarray], ...]:
        return tuple(
            (coal_shape(piece), outline_of(piece), T)
            for shape, T in self.shapes
            for piece in pieces_of(shape)
        )
