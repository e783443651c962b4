"""Shapes as Coal has them, the collision library of Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_service.collision.shapes import Capsule, Cone, Mesh, Plane, Shape
from ik_service.exceptions import MissingExtraError
from ik_service.solvers.regions import Box, Cylinder, Sphere

CoalShape = Any
"""A ``coal.CollisionGeometry``; Coal has no types."""
CoalPlace = Any
"""A ``coal.Transform3s``."""
CoalContact = Any
"""A ``coal.Contact``."""


def load_coal() -> Any:  # noqa: ANN401 - a module without types
    """
    Return the module of Coal.

    :raises MissingExtraError: it is not installed.
    """
    try:
        import coal
    except ImportError as error:
        raise MissingExtraError('coal', 'collision') from error
    return coal


def coal_place(T: np.ndarray) -> CoalPlace:
    """
    Return a pose as Coal has it.

    :param T: (4, 4).
    """
    return load_coal().Transform3s(T[:3, :3], T[:3, 3])


def coal_shape(shape: Shape) -> CoalShape:
    """
    Return a shape as Coal has it.

    :param shape: the shape.
    """
    coal = load_coal()
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.height)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cone):
        return coal.Cone(shape.radius, shape.height)
    if isinstance(shape, Plane):
        return coal.Plane(np.array(shape.coefficients[:3]), -shape.coefficients[3])
    return _coal_mesh(shape)


def _coal_mesh(mesh: Mesh) -> CoalShape:
    model = load_coal().BVHModelOBBRSS()
    model.beginModel(len(mesh.triangles), len(mesh.vertices))
    model.addVertices(mesh.vertices)
    model.addTriangles(mesh.triangles)
    model.endModel()
    model.computeLocalAABB()
    return model
