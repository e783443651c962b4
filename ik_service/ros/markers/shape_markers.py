"""
Markers of collision shapes, for RViz, Foxglove and the page.

RViz has no cones and capsules: they are drawn as triangles, as meshes are. A plane is drawn as a
square plate, and what no triangles are left for in the budget as its bounding box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geometry_msgs.msg import Point, Vector3
import numpy as np
from visualization_msgs.msg import Marker

from ik_service.collision.shapes import Box, Capsule, Cone, Cylinder, Mesh, Plane, Shape, Sphere
from ik_service.common.revolved_surface import capsule_surface, cone_surface
from ik_service.common.transforms import rigid_transform
from ik_service.model import link_geometry
from ik_service.ros.common.conversions import pose_from_matrix

AnyShape = Shape | link_geometry.Geometry
"""Shape of an object, or of a link as the URDF describes it."""
_Triangulated = Capsule | link_geometry.Capsule | Cone | Mesh

PLATE = (4.0, 4.0, 0.002)
"""Size of the plate that a plane is drawn as [m]."""

_THINNEST = 1e-6  # side of a flat box: viewers refuse 0 [m]


@dataclass
class TriangleBudget:
    """
    Number of triangles that an array of markers may still hold.

    :ivar left: what is left of it.
    """

    left: int

    def take(self, count: int) -> bool:
        """
        Take triangles if there are as many left.

        :param count: how many.
        :returns: whether they were taken.
        """
        if count > self.left:
            return False
        self.left -= count
        return True


def fill_marker(marker: Marker, shape: AnyShape, T: np.ndarray, budget: TriangleBudget) -> bool:
    """
    Give a marker the type, the size and the pose of a shape.

    :param marker: the marker.
    :param shape: the shape.
    :param T: (4, 4) pose of the shape in the marker's frame [m].
    :param budget: triangles that may be used.
    :returns: whether the marker has this very shape: False for a mesh drawn as a box.
    """
    if isinstance(shape, _Triangulated):
        return _as_triangles(marker, shape, T, budget)
    if isinstance(shape, link_geometry.MeshFile):
        _solid(marker, Marker.MESH_RESOURCE, shape.scale, T)
        marker.mesh_resource = shape.filename
    elif isinstance(shape, Box | link_geometry.Box):
        _solid(marker, Marker.CUBE, shape.size, T)
    elif isinstance(shape, Sphere | link_geometry.Sphere):
        _solid(marker, Marker.SPHERE, 3 * (2.0 * shape.radius,), T)
    elif isinstance(shape, Plane):
        _solid(marker, Marker.CUBE, PLATE, T @ _plate_pose(shape))
    else:
        height = shape.height if isinstance(shape, Cylinder) else shape.length
        _solid(marker, Marker.CYLINDER, (2.0 * shape.radius, 2.0 * shape.radius, height), T)
    return True


def _as_triangles(
    marker: Marker, shape: _Triangulated, T: np.ndarray, budget: TriangleBudget
) -> bool:
    """Draw a shape as triangles, or as its bounding box when there are too many of them."""
    vertices, triangles = _triangles(shape)
    if not budget.take(len(triangles)):
        lowest, highest = vertices.min(axis=0), vertices.max(axis=0)
        middle = T @ rigid_transform(None, (lowest + highest) / 2)
        size = np.maximum(highest - lowest, _THINNEST)
        _solid(marker, Marker.CUBE, size.tolist(), middle)
        return False
    _solid(marker, Marker.TRIANGLE_LIST, (1.0, 1.0, 1.0), T)
    corners = vertices[triangles].reshape(-1, 3)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in corners.tolist()]
    return True


def _solid(marker: Marker, kind: int, size: Sequence[float], T: np.ndarray) -> None:
    x, y, z = size
    marker.type, marker.scale, marker.pose = kind, Vector3(x=x, y=y, z=z), pose_from_matrix(T)


def _triangles(shape: _Triangulated) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (V, 3) [m] and triangles (M, 3) of a shape."""
    if isinstance(shape, Mesh):
        return shape.vertices, shape.triangles
    if isinstance(shape, Cone):
        return cone_surface(shape.radius, shape.height)
    return capsule_surface(shape.radius, shape.length)


def _plate_pose(plane: Plane) -> np.ndarray:
    """Return the pose (4, 4) of the plate: about the point of the plane nearest to the origin."""
    *normal, offset = plane.coefficients
    z = np.array(normal)
    aside = np.eye(3)[int(np.argmin(np.abs(z)))]
    y = np.cross(z, aside)
    y /= np.linalg.norm(y)
    return rigid_transform(np.column_stack([np.cross(y, z), y, z]), -offset * z)
