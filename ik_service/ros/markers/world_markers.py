"""
Marker messages of the known world and of collisions, for RViz, Foxglove and the page.

Every array is complete: it begins by deleting all markers, so that a viewer that has missed the
arrays before shows the same as all others. Shapes moving with a link are given in its frame,
and move without further messages; the frame of a marker of :data:`LINKS` is a link in contact.

RViz has no cones and capsules: they are drawn as triangles, as meshes are. A plane is drawn as a
square plate, and a shape beyond the budget of triangles as its bounding box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.arm.arm import Arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.shapes import Box, Capsule, Cone, Mesh, Plane, Shape, Sphere
from ik_service.collision.world import Color, World
from ik_service.common.transforms import rigid_transform
from ik_service.drawing.revolved_surface import capsule_surface, cone_surface
from ik_service.model.geometry.link_geometry import (
    CollisionGeometry,
    Geometry,
    MeshFile,
    read_collision_geometry,
)
from ik_service.model.geometry.mesh_files import MeshError, MeshFiles
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.markers.marker_messages import color_message, locked_marker, point
from ik_service.ros.scene.collision_world import CollisionWorld

AnyShape = Shape | Geometry  # shape of an object, or of a link as the URDF describes it
_Triangulated = Capsule | Cone | Mesh

PLATE = (4.0, 4.0, 0.002)  # size of the plate that a plane is drawn as [m]

_THINNEST = 1e-6  # size of a plate: viewers refuse 0 [m]


@dataclass
class TriangleBudget:
    """Number of triangles that an array of markers may still hold."""

    left: int

    def take(self, count: int) -> bool:
        """Take triangles if there are as many left; return whether they were taken."""
        if count > self.left:
            return False
        self.left -= count
        return True


def fill_marker(marker: Marker, shape: AnyShape, T: np.ndarray, budget: TriangleBudget) -> bool:
    """Give a marker a shape and its pose T (4, 4); return False for a mesh, drawn as a box."""
    if isinstance(shape, _Triangulated):
        return _as_triangles(marker, shape, T, budget)
    if isinstance(shape, MeshFile):
        _solid(marker, Marker.MESH_RESOURCE, shape.scale, T)
        marker.mesh_resource = shape.filename
    elif isinstance(shape, Box):
        _solid(marker, Marker.CUBE, shape.size, T)
    elif isinstance(shape, Sphere):
        _solid(marker, Marker.SPHERE, 3 * (2.0 * shape.radius,), T)
    elif isinstance(shape, Plane):
        _solid(marker, Marker.CUBE, PLATE, T @ _plate_pose(shape))
    else:
        width = 2.0 * shape.radius
        _solid(marker, Marker.CYLINDER, (width, width, shape.height), T)
    return True


def _as_triangles(
    marker: Marker, shape: _Triangulated, T: np.ndarray, budget: TriangleBudget
) -> bool:
    """Draw a shape as triangles, or as its bounding box when there are too many of them."""
    vertices, triangles = _triangles(shape)
    if not budget.take(len(triangles)):
        lowest, highest = vertices.min(axis=0), vertices.max(axis=0)
        middle = T @ rigid_transform(None, (lowest + highest) / 2)
        _solid(marker, Marker.CUBE, (highest - lowest).tolist(), middle)
        return False
    _solid(marker, Marker.TRIANGLE_LIST, (1.0, 1.0, 1.0), T)
    corners = vertices[triangles].reshape(-1, 3)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in corners.tolist()]
    return True


def _solid(marker: Marker, kind: int, size: Sequence[float], T: np.ndarray) -> None:
    x, y, z = (length or _THINNEST for length in size)
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


TOPIC = 'world_markers'

OBJECTS, ATTACHED, LINKS = 'objects', 'attached', 'colliding_links'
"""Namespaces of the shapes: of objects of the world, of attached ones, and of links in contact."""

CONTACTS, REMARKS = 'contacts', 'remarks'
"""Namespaces of texts: a pair of bodies in contact each, and remarks on things not shown."""

MOST_SHAPES = 500  # largest number of shapes that are shown

MOST_TRIANGLES = 5000
"""Largest number of triangles of all shapes together; meshes beyond it are shown as boxes."""

MOST_CONTACTS = 20  # largest number of pairs in contact that are named

_COLORS = {OBJECTS: (0.77, 0.68, 0.54), ATTACHED: (0.36, 0.55, 0.62)}
_COLLIDING_COLOR, _REMARK_COLOR = (0.88, 0.16, 0.13), (0.90, 0.47, 0.0)
_PLANE_OPACITY, _LINK_OPACITY = 0.35, 0.5
_LEAST_OPACITY = 0.1  # of an object with a colour of its own, which shall be seen in contact
_GROWTH = 1.02  # of the shapes of links, which would flicker inside the visible ones
_TEXT_HEIGHT = 0.04  # [m]
_IDENTITY = np.eye(4)
_MOST_NAMES = 3  # of bodies in a remark


@dataclass(frozen=True)
class WorldScene:
    """
    Contents of the markers.

    :ivar root_link: the robot's root link, whose frame the objects are in.
    :ivar links: shapes of the links in contact.
    """

    root_link: str
    world: World
    contacts: Sequence[tuple[str, str]] = ()
    links: Sequence[CollisionGeometry] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class _Part:
    """Shape of a body at its pose: poses are (4, 4) [m]."""

    body: str
    namespace: str
    frame: str
    T_frame_body: np.ndarray
    shape: AnyShape
    T_body_shape: np.ndarray


def world_marker_array(scene: WorldScene, stamp: Time) -> MarkerArray:
    """Return the markers of a scene."""
    colliding = frozenset(name for pair in scene.contacts for name in pair)
    parts, remarks = [*_parts(scene)], [*scene.remarks]
    if len(parts) > MOST_SHAPES:
        remarks.append(f'{MOST_SHAPES} of {len(parts)} shapes are shown')
        parts = sorted(parts, key=lambda part: part.body not in colliding)[:MOST_SHAPES]
    shapes, boxed = _shapes(parts, colliding, scene.world.colors, stamp)
    if boxed:
        names = ', '.join(boxed[:_MOST_NAMES]) + (' and others' if boxed[_MOST_NAMES:] else '')
        remarks.append(f'shown as boxes, for their many triangles: {names}')
    texts = [*_contacts(scene, stamp), *_remarks(scene.root_link, remarks, stamp)]
    return MarkerArray(markers=[_clear(scene, stamp), *shapes, *texts])


def _clear(scene: WorldScene, stamp: Time) -> Marker:
    return Marker(header=Header(frame_id=scene.root_link, stamp=stamp), action=Marker.DELETEALL)


def _parts(scene: WorldScene) -> Iterator[_Part]:
    for part in scene.links:
        if part.geometry is not None:
            geometry, T_link_geometry = part.geometry, part.T_link_geometry
            yield _Part(part.link, LINKS, part.link, _IDENTITY, geometry, T_link_geometry)
    for name, held in scene.world.attached.items():
        for shape, T_object_shape in held.shapes:
            yield _Part(name, ATTACHED, held.link, held.pose, shape, T_object_shape)
    for name, body in scene.world.objects.items():
        for shape, T_object_shape in body.shapes:
            yield _Part(name, OBJECTS, scene.root_link, body.pose, shape, T_object_shape)


def _shapes(
    parts: Sequence[_Part], colliding: frozenset[str], colors: Mapping[str, Color], stamp: Time
) -> tuple[list[Marker], list[str]]:
    """Return the markers, and the names of the bodies with a mesh that is shown as a box."""
    markers: list[Marker] = []
    boxed: list[str] = []
    budget, numbers = TriangleBudget(MOST_TRIANGLES), Counter[str]()
    for part in parts:
        marker = _marker(part.frame, part.namespace, numbers[part.namespace], stamp)
        numbers[part.namespace] += 1
        T_frame_shape = part.T_frame_body @ part.T_body_shape
        if not fill_marker(marker, part.shape, T_frame_shape, budget):
            boxed.append(part.body)
        _paint(marker, part, part.body in colliding, colors.get(part.body))
        markers.append(marker)
    return markers, [*dict.fromkeys(boxed)]


def _paint(marker: Marker, part: _Part, is_colliding: bool, own: Color | None) -> None:
    color, opacity = _COLORS.get(part.namespace, _COLLIDING_COLOR), 1.0
    if own is not None:
        color, opacity = own[:3], max(own[3], _LEAST_OPACITY)
    elif isinstance(part.shape, Plane):
        opacity = _PLANE_OPACITY
    if part.namespace == LINKS:
        opacity = _LINK_OPACITY
        for axis in ('x', 'y', 'z'):
            setattr(marker.scale, axis, _GROWTH * getattr(marker.scale, axis))
    if is_colliding:
        color = _COLLIDING_COLOR
    marker.color = color_message(color, opacity)


def _contacts(scene: WorldScene, stamp: Time) -> Iterator[Marker]:
    """Yield a text for each pair in contact, above its first body."""
    lines = Counter[str]()
    for number, (first, second) in enumerate(scene.contacts[:MOST_CONTACTS]):
        frame, position = _place(scene, first)
        lines[first] += 1
        marker = _marker(frame, CONTACTS, number, stamp)
        marker.color = color_message(_COLLIDING_COLOR, 1.0)
        _write(marker, f'{first} with {second}', position, lines[first])
        yield marker


def _place(scene: WorldScene, body: str) -> tuple[str, np.ndarray]:
    """Return the frame that a body is in, and its position there (3,) [m]."""
    if body in scene.world.attached:
        attached = scene.world.attached[body]
        return attached.link, attached.pose[:3, 3]
    if body in scene.world.objects:
        return scene.root_link, scene.world.objects[body].pose[:3, 3]
    return body, np.zeros(3)


def _remarks(root_link: str, remarks: Sequence[str], stamp: Time) -> Iterator[Marker]:
    for number, remark in enumerate(remarks):
        marker = _marker(root_link, REMARKS, number, stamp)
        marker.color = color_message(_REMARK_COLOR, 1.0)
        _write(marker, remark, np.zeros(3), -number - 1)
        yield marker


def _write(marker: Marker, text: str, position: np.ndarray, line: int) -> None:
    """Make a marker a text, so many lines above a position (3,) [m]."""
    marker.type, marker.text, marker.scale.z = Marker.TEXT_VIEW_FACING, text, _TEXT_HEIGHT
    marker.pose.position = point(position)
    marker.pose.position.z += 1.5 * _TEXT_HEIGHT * line


def _marker(frame: str, namespace: str, number: int, stamp: Time) -> Marker:
    return locked_marker(Header(frame_id=frame, stamp=stamp), namespace, number, Marker.CUBE)


Pairs = tuple[tuple[str, str], ...]

_PACKAGE = 'package://'
_PLACEHOLDER = Sphere(0.05)


class WorldMarkerPublisher:
    """Publisher of ``world_markers``; :meth:`update` is called while somebody listens."""

    def __init__(self, node: Node, collisions: CollisionWorld) -> None:
        self._node, self._collisions = node, collisions
        self.publisher = node.create_publisher(MarkerArray, TOPIC, MARKERS_QOS)
        self._arm: Arm | None = None
        self._geometry: list[CollisionGeometry] = []  # of the links, mesh files as URLs
        self._seen: tuple[object, ...] = ()
        self._scene: WorldScene | None = None

    def update(self, measured: MeasuredState, anew: bool) -> None:
        """Publish changes; everything `anew` where somebody has begun to listen."""
        scene = self._present(measured)
        if scene is not self._scene or anew:
            self._scene = scene
            self.publisher.publish(world_marker_array(scene, self._now()))

    def end(self) -> None:
        """Delete the markers, which viewers would show on."""
        if self._scene is not None:
            self.publisher.publish(MarkerArray(markers=[_clear(self._scene, self._now())]))

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()

    def _present(self, measured: MeasuredState) -> WorldScene:
        """Return the scene of now; the last one where nothing has changed."""
        checker, fault = self._collisions.checker(), self._collisions.fault
        world = self._collisions.known.world
        known = (measured.arm, checker, fault, world)
        q = measured.posture() if measured.joints() is not None else None
        seen = (known, None if q is None else q.tobytes())
        if self._scene is not None and seen == self._seen:
            return self._scene
        contacts: Pairs = ()
        if checker is not None and q is not None:
            contacts = checker.contacts(measured.arm.postures.by_name(q))
        last, self._seen = self._seen, seen
        if self._scene is not None and (known, contacts) == (last[0], self._scene.contacts):
            return self._scene
        return self._make(measured.arm, checker, fault, world, contacts)

    def _make(
        self, arm: Arm, checker: CollisionChecker | None, fault: str, world: World, contacts: Pairs
    ) -> WorldScene:
        if arm is not self._arm:
            files = MeshFiles(arm.robot.source, arm.robot.package_dirs)
            parts = read_collision_geometry(arm.robot.description)
            self._geometry = [replace(p, geometry=_located(p.geometry, files)) for p in parts]
            self._arm = arm
        links = {name for pair in contacts for name in pair}
        shapes = [part for part in self._geometry if part.link in links]
        remarks = []
        if fault and (world.objects or world.attached):
            what = 'collisions are not checked' if checker is None else 'collisions'
            remarks.append(f'{what}: {fault}')
        return WorldScene(arm.root_link, world, contacts, shapes, remarks)


def _located(geometry: Geometry | None, files: MeshFiles) -> Geometry | None:
    """Return geometry that names a mesh as RViz finds it; a small ball for one that is missing."""
    if not isinstance(geometry, MeshFile) or geometry.filename.startswith(_PACKAGE):
        return geometry
    try:
        return replace(geometry, filename=files.find(geometry.filename).as_uri())
    except MeshError:
        return _PLACEHOLDER
