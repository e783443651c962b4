"""Parts that collide: one shape of a link, of an object or of an attached object each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.collision.outline import Outline, outline_of, pieces_of
from ik_service.collision.shapes import coal_place, coal_shape, CoalPlace, CoalShape, PlacedShape
from ik_service.kinematics.pose_error import frame_of

LINK, ATTACHED, OBJECT = 'link', 'attached', 'object'


@dataclass(frozen=True, eq=False)
class Part:
    """
    Part of a body.

    :ivar owner: name of the link or object that it belongs to.
    :ivar kind: ``link``, ``attached`` or ``object``.
    :ivar shape: as Coal has it.
    :ivar body: index of the rigid body that it moves with; 0 for a part that never moves.
    :ivar T_body_part: (4, 4) its pose in the frame of that body [m].
    :ivar meets_world: whether it is checked against objects of the world.
    :ivar meets_links: whether it is checked against other parts of the robot.
    :ivar margin: distance within which it counts as in contact [m].
    """

    owner: str
    kind: str
    shape: CoalShape
    shape_outline: Outline
    body: int
    T_body_part: np.ndarray
    meets_world: bool = True
    meets_links: bool = True
    margin: float = 0.0

    @cached_property
    def place(self) -> CoalPlace:
        """Its pose in the frame of its body, as Coal has it."""
        return coal_place(self.T_body_part)

    @cached_property
    def frame(self) -> np.ndarray:
        """(12,) its frame in that of its body."""
        return frame_of(self.T_body_part)

    @cached_property
    def outline(self) -> np.ndarray:
        """(17,) its outline in the frame of its body."""
        row = np.empty(17)
        row[:12] = frame_of(self.T_body_part @ self.shape_outline.T_shape_outline)
        row[12:] = self.shape_outline.sizes
        return row

    @cached_property
    def sphere(self) -> np.ndarray:
        """(4,) centre in the frame of its body and radius of a sphere around it [m]."""
        row = np.empty(4)
        row[:3] = self.outline[9:12]
        row[3] = self.shape_outline.radius
        return row

    @cached_property
    def covers(self) -> np.ndarray:
        """(k, 4) spheres that cover a shape its outline does not fit, in its body's frame [m]."""
        if not len(self.shape_outline.covers):
            return self.shape_outline.covers
        covers = self.shape_outline.covers.copy()
        covers[:, :3] = covers[:, :3] @ self.T_body_part[:3, :3].T + self.T_body_part[:3, 3]
        return covers


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """
    Point where two bodies touch.

    :ivar body_a: name of one body: a link, an object or an attached object.
    :ivar body_b: name of the other one.
    :ivar kind_a: ``link``, ``object`` or ``attached``.
    :ivar kind_b: the same of the other one.
    :ivar position: (3,) the point, in the frame of the root link [m].
    :ivar normal: (3,) unit vector from the first body towards the second, in that frame.
    :ivar depth: how far they penetrate each other [m].
    """

    body_a: str
    body_b: str
    kind_a: str
    kind_b: str
    position: np.ndarray
    normal: np.ndarray
    depth: float


@dataclass(frozen=True, eq=False)
class Solid:
    """
    Shapes of an object, whose preparation copies of the object share.

    :ivar shapes: the shapes with their poses.
    """

    shapes: tuple[PlacedShape, ...]

    def prepare(self) -> None:
        """Prepare the data of a check now; for large meshes that takes seconds."""
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
        :param kind: the kind of that owner.
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
