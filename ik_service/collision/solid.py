"""Shapes of an object, prepared for checks when they are first checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.collision.coal_shapes import coal_shape, CoalShape
from ik_service.collision.shapes import PlacedShape


@dataclass(frozen=True, eq=False)
class SolidPart:
    """
    Shape prepared for checks.

    :ivar shape: as Coal has it.
    :ivar T_object_part: (4, 4) its pose in the object's frame [m].
    """

    shape: CoalShape
    T_object_part: np.ndarray


@dataclass(frozen=True, eq=False)
class Solid:
    """
    Shapes of an object, whose preparation copies of the object share.

    :ivar shapes: the shapes with their poses.
    """

    shapes: tuple[PlacedShape, ...]

    @cached_property
    def parts(self) -> tuple[SolidPart, ...]:
        """The prepared shapes."""
        return tuple(SolidPart(coal_shape(shape), T) for shape, T in self.shapes)
