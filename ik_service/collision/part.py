"""Parts that collide: one shape of a link, of an object or of an attached object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.collision.coal_shapes import CoalShape

LINK, ATTACHED, OBJECT = 'link', 'attached', 'object'


@dataclass(frozen=True, eq=False)
class Part:
    """
    Part of a body.

    :ivar owner: name of the link or object that it belongs to.
    :ivar kind: ``link``, ``attached`` or ``object``.
    :ivar shape: as Coal has it.
    :ivar body: index of the rigid body that it moves with; 0 for what never moves.
    :ivar T_body_part: (4, 4) its pose in the frame of that body [m].
    """

    owner: str
    kind: str
    shape: CoalShape
    body: int
    T_body_part: np.ndarray


@dataclass(frozen=True)
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
