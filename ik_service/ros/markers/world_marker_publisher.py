"""Publication of the known world and of the measured arm's collisions, as markers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.world import World
from ik_service.model.geometry.link_geometry import (
    CollisionGeometry,
    Geometry,
    MeshFile,
    read_collision_geometry,
    Sphere,
)
from ik_service.model.geometry.mesh_files import MeshError, MeshFiles
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.markers.world_markers import TOPIC, world_marker_array, WorldScene
from ik_service.ros.scene.collision_world import CollisionWorld

RATE = 10.0
"""Rate at which to look for changes [Hz]."""

Pairs = tuple[tuple[str, str], ...]

_PACKAGE = 'package://'
_PLACEHOLDER = Sphere(0.05)


class WorldMarkerPublisher:
    """
    Publisher of ``world_markers``.

    It does nothing while nobody listens.

    :param node: the node that publishes.
    :param measured: returns the measured state of the arm; None before there is one.
    :param collisions: the world, and the checker of the arm's collisions.
    """

    def __init__(
        self, node: Node, measured: Callable[[], MeasuredState | None], collisions: CollisionWorld
    ) -> None:
        self._node, self._measured, self._collisions = node, measured, collisions
        self._publisher = node.create_publisher(MarkerArray, TOPIC, MARKERS_QOS)
        self._subscribers = 0
        self._arm: Arm | None = None
        self._geometry: tuple[CollisionGeometry, ...] = ()
        self._seen: tuple[object, ...] = ()
        self._scene: WorldScene | None = None

    def update(self, _now: float) -> None:
        """Publish when something has changed, or there is a new subscriber."""
        subscribers, before = self._publisher.get_subscription_count(), self._subscribers
        self._subscribers = subscribers
        measured = self._measured()
        if not subscribers or measured is None:
            return
        scene = self._present(measured)
        if scene is not self._scene or subscribers > before:
            self._scene = scene
            now = self._node.get_clock().now().to_msg()
            self._publisher.publish(world_marker_array(scene, now))

    def _present(self, measured: MeasuredState) -> WorldScene:
        """Return the scene of now; the last one where nothing has changed."""
        checker, fault = self._collisions.checker(), self._collisions.fault
        around = (measured.arm, checker, fault, self._collisions.known.world)
        q = measured.posture() if measured.joints() is not None else None
        seen = (*around, None if q is None else q.tobytes())
        if self._scene is not None and seen == self._seen:
            return self._scene
        contacts: Pairs = ()
        if checker is not None and q is not None:
            contacts = checker.contacts(measured.arm.postures.by_name(q))
        last, self._seen = self._seen, seen
        if self._scene is not None and (around, contacts) == (last[:-1], self._scene.contacts):
            return self._scene
        return self._make(*around, contacts)

    def _make(
        self,
        arm: Arm,
        checker: CollisionChecker | None,
        fault: str,
        world: World,
        contacts: Pairs,
    ) -> WorldScene:
        if arm is not self._arm:
            self._arm, self._geometry = arm, _link_shapes(arm)
        links = {name for pair in contacts for name in pair}
        shapes = [part for part in self._geometry if part.link in links]
        remarks = []
        if fault and (world.objects or world.attached):
            what = 'collisions are not checked' if checker is None else 'collisions'
            remarks.append(f'{what}: {fault}')
        return WorldScene(arm.root_link, world, contacts, shapes, remarks)


def _link_shapes(arm: Arm) -> tuple[CollisionGeometry, ...]:
    """Return the collision geometry of an arm's links, its mesh files as URLs."""
    files = MeshFiles(arm.robot.source, arm.robot.package_dirs)
    parts = read_collision_geometry(arm.robot.description)
    return tuple(replace(part, geometry=_located(part.geometry, files)) for part in parts)


def _located(geometry: Geometry | None, files: MeshFiles) -> Geometry | None:
    """Return geometry that names a mesh as RViz finds it; a small ball for one that is missing."""
    if not isinstance(geometry, MeshFile) or geometry.filename.startswith(_PACKAGE):
        return geometry
    try:
        return replace(geometry, filename=files.find(geometry.filename).as_uri())
    except MeshError:
        return _PLACEHOLDER
