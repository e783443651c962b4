"""Picture of the known world and of collisions, from the markers that the IK node publishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.exceptions import IkServiceError
from ik_service.extras.viewer.scene.parts import DrawnMesh, DrawnPart
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.markers.world_markers import ATTACHED, CONTACTS, LINKS, OBJECTS, REMARKS

MOST_MARKERS = 2000
"""Markers of an array that are read; whoever publishes sends no more than a quarter of them."""


class WorldPictureError(IkServiceError):
    """Error about a marker that cannot be shown."""


@dataclass(frozen=True, eq=False)
class WorldPicture:
    """World and collisions as the node knows them; objects of the world are parts of the root."""

    parts: tuple[DrawnPart, ...] = ()
    colliding_links: frozenset[str] = frozenset()
    contacts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


NO_WORLD = WorldPicture()


def read_world_picture(array: MarkerArray) -> WorldPicture:
    """Read the markers of ``world_markers``; WorldPictureError or RequestError for wrong ones."""
    markers = [m for m in array.markers[:MOST_MARKERS] if m.action == Marker.ADD]

    def texts(namespace: str) -> tuple[str, ...]:
        return tuple(marker.text for marker in markers if marker.ns == namespace)

    return WorldPicture(
        tuple(_part(marker) for marker in markers if marker.ns in (OBJECTS, ATTACHED)),
        frozenset(marker.header.frame_id for marker in markers if marker.ns == LINKS),
        texts(CONTACTS),
        texts(REMARKS),
    )


def _part(marker: Marker) -> DrawnPart:
    scale, color = marker.scale, marker.color
    size = (scale.x, scale.y, scale.z)
    if not (np.isfinite(size).all() and min(size) > 0.0):
        raise _error(marker, f'scale {size} is no size')
    r, g, b, a = np.clip(np.nan_to_num([color.r, color.g, color.b, color.a]), 0.0, 1.0).tolist()
    T = matrix_from_pose(marker.pose)
    opacity = a if a < 1.0 else None
    return DrawnPart(marker.header.frame_id, _geometry(marker, size), T, (r, g, b), opacity)


def _geometry(
    marker: Marker, size: tuple[float, float, float]
) -> Box | Cylinder | Sphere | DrawnMesh:
    if marker.type == Marker.CUBE:
        return Box(size)
    if marker.type == Marker.SPHERE:
        return Sphere(size[0] / 2)
    if marker.type == Marker.CYLINDER:
        return Cylinder(size[0] / 2, size[2])
    if marker.type == Marker.TRIANGLE_LIST:
        return _mesh(marker, size)
    raise _error(marker, f'type {marker.type} is not known')


def _mesh(marker: Marker, size: Sequence[float]) -> DrawnMesh:
    corners = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3) * size
    if not len(corners) or len(corners) % 3 or not np.isfinite(corners).all():
        raise _error(marker, f'{len(corners)} points make no triangles')
    faces = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
    return DrawnMesh(corners.astype(np.float32), faces)


def _error(marker: Marker, reason: str) -> WorldPictureError:
    return WorldPictureError(f'marker {marker.id} of {marker.ns}: {reason}')
