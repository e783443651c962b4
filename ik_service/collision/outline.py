"""
Outlines of shapes: simple bodies around them, for the compiled part of checks.

An outline is a row of 17 numbers: its frame (x, y and z axes, then the origin), three half
extents, a rounding radius [m], and its kind. A rounded box is a box with a sphere rolled around
it, so spheres are rounded boxes without extents, and capsules those with one; a cylinder has its
radius, again its radius and half its height; a plane is at the origin of its frame, z is its
normal.

Large meshes are cut into pieces of neighbouring triangles: Coal keeps Python's lock while it
prepares a mesh, which would stop all threads for seconds, and with them the commands of an arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
import hashlib
import math

import numpy as np

from ik_service.collision.shapes import Capsule, Cone, Mesh, Plane, Shape
from ik_service.common.transforms import rigid_transform, rotation_from_z_to
from ik_service.model.geometry.solids import Box, Cylinder, Sphere

_SMALLEST, _MOST_PIECES = 1000, 64  # triangles of a piece; their pairs are the square of these


def pieces_of(shape: Shape) -> Iterator[Shape]:
    """Yield the pieces of a large mesh, or a shape as it is."""
    if not isinstance(shape, Mesh) or len(shape.triangles) <= _SMALLEST:
        yield shape
        return
    largest = max(_SMALLEST, -(-len(shape.triangles) // _MOST_PIECES))
    for cluster in clusters(shape.vertices[shape.triangles], largest):
        corners, triangles = np.unique(shape.triangles[cluster], return_inverse=True)
        yield Mesh(shape.vertices[corners], triangles.reshape(-1, 3))


def clusters(corners: np.ndarray, largest: int) -> Iterator[np.ndarray]:
    """
    Yield groups of neighbouring triangles: halves, halved again and again.

    :param corners: (m, 3, 3) corners of the triangles [m].
    :param largest: triangles of a group, at most.
    :returns: indices of the triangles of each group.
    """
    middles = corners.mean(axis=1)
    pending = [np.arange(len(corners))]
    while pending:
        group = pending.pop()
        if len(group) <= largest:
            yield group
            continue
        own = middles[group]
        axis = int(np.argmax(np.ptp(own, axis=0)))
        order = np.argpartition(own[:, axis], len(group) // 2)
        pending += [group[order[len(group) // 2 :]], group[order[: len(group) // 2]]]


ROUNDED_BOX, CYLINDER, PLANE = 0, 1, 2  # kinds of outlines in arrays
_MOST_COVERS = 32  # spheres that cover a mesh, but for rounding


@dataclass(frozen=True, eq=False)
class Outline:
    """
    Outline of a shape.

    :ivar T_shape_outline: (4, 4) its frame in that of the shape [m].
    :ivar sizes: (5,) half extents, rounding radius [m], and kind.
    :ivar radius: radius of a sphere about its origin that holds the shape [m]; inf for a plane.
    :ivar covers: (k, 4) centres in the shape's frame and radii of spheres that together hold a
        shape which the outline does not fit, such as a mesh [m]; none for others.
    :ivar surface: digest of a mesh; empty for other shapes.
    """

    T_shape_outline: np.ndarray
    sizes: tuple[float, float, float, float, int]
    radius: float
    covers: np.ndarray
    surface: bytes = b''

    def grown(self, margin: float) -> Outline:
        """Return the outline of all that lies within a distance [m] of the shape."""
        if margin == 0.0:
            return self
        x, y, z, rounding, kind = self.sizes
        if kind == CYLINDER:
            sizes = x + margin, y + margin, z + margin, rounding, kind
        else:
            sizes = x, y, z, rounding + margin, kind
        # The edges of a cylinder are rounded then, those of its outline are not.
        rounded = kind == CYLINDER and not len(self.covers)
        covers = _whole(self.radius) if rounded else self.covers.copy()
        covers[:, 3] += margin
        return replace(self, sizes=sizes, radius=self.radius + margin, covers=covers)


_NO_COVERS = np.empty((0, 4))


def _whole(radius: float) -> np.ndarray:
    """Return the cover of a shape by one sphere."""
    return np.array([[0.0, 0.0, 0.0, radius]])


def outline_of(shape: Shape) -> Outline:
    """Return the outline of a shape."""
    if isinstance(shape, Mesh):
        return _of_mesh(shape)
    T = np.eye(4)
    if isinstance(shape, Box):
        half = [value / 2 for value in shape.size]
        sizes, radius = (half[0], half[1], half[2], 0.0, ROUNDED_BOX), math.hypot(*half)
    elif isinstance(shape, Sphere):
        sizes, radius = (0.0, 0.0, 0.0, shape.radius, ROUNDED_BOX), shape.radius
    elif isinstance(shape, Capsule):
        r, h = shape.radius, shape.length / 2
        sizes, radius = (0.0, 0.0, h, r, ROUNDED_BOX), h + r
    elif isinstance(shape, (Cylinder, Cone)):
        r, h = shape.radius, shape.height / 2
        sizes, radius = (r, r, h, 0.0, CYLINDER), math.hypot(r, h)
    else:
        T, sizes, radius = _plane_frame(shape), (0.0, 0.0, 0.0, 0.0, PLANE), math.inf
    covers = _whole(radius) if isinstance(shape, Cone) else _NO_COVERS
    return Outline(T, sizes, radius, covers)


def _plane_frame(plane: Plane) -> np.ndarray:
    normal = np.array(plane.coefficients[:3])
    return rigid_transform(rotation_from_z_to(normal), -plane.coefficients[3] * normal)


def _of_mesh(mesh: Mesh) -> Outline:
    corners = mesh.vertices[mesh.triangles]  # (m, 3, 3)
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    centre, half = (low + high) / 2, (high - low) / 2
    radius = _radius(corners, centre)
    sizes = (half[0], half[1], half[2], 0.0, ROUNDED_BOX)
    surface = hashlib.sha256(corners.tobytes()).digest()
    return Outline(rigid_transform(position=centre), sizes, radius, _covers(corners), surface)


def _covers(corners: np.ndarray) -> np.ndarray:
    """Return spheres around parts of a mesh: its triangles, halved again and again."""
    rows = []
    for cluster in clusters(corners, -(-len(corners) // _MOST_COVERS)):
        own = corners[cluster]
        centre = (own.min(axis=(0, 1)) + own.max(axis=(0, 1))) / 2
        rows.append([*centre, _radius(own, centre)])
    return np.array(rows)


def _radius(corners: np.ndarray, centre: np.ndarray) -> float:
    return float(np.sqrt(np.square(corners - centre).sum(axis=-1).max()))
