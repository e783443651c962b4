"""Collision geometry of a robot as parts of its rigid bodies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ik_service.collision.mesh_reader import MeshReader
from ik_service.collision.part import LINK, Part
from ik_service.collision.rigid_bodies import RigidBodies
from ik_service.collision.shapes import Capsule, Shape
from ik_service.collision.solid import Solid
from ik_service.exceptions import CollisionGeometryError
from ik_service.model.collision_geometry import CollisionGeometry, read_collision_geometry
from ik_service.model.link_geometry import Box as BoxElement
from ik_service.model.link_geometry import Capsule as CapsuleElement
from ik_service.model.link_geometry import Cylinder as CylinderElement
from ik_service.model.link_geometry import MeshFile
from ik_service.model.mesh_files import MeshError
from ik_service.model.part_names import named
from ik_service.robot import Robot
from ik_service.solvers.regions import Box, Cylinder, Sphere


def robot_parts(
    robot: Robot, bodies: RigidBodies, skip_faulty: bool
) -> tuple[tuple[Part, ...], Mapping[str, str], Mapping[str, tuple[Solid, ...]]]:
    """
    Return the collision geometry of a robot.

    :param robot: the robot.
    :param bodies: its rigid bodies.
    :param skip_faulty: whether what cannot be used is left out.
    :returns: the parts in document order; by link why something of it is left out; and by link
        its shapes in its frame.
    :raises CollisionGeometryError: an element is faulty or a mesh cannot be read, and it must not
        be left out.
    """
    unchecked = robot.semantics.unchecked_links
    reader = MeshReader(robot.source, robot.package_dirs)
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    solids: dict[str, tuple[Solid, ...]] = {}
    elements = read_collision_geometry(robot.description)
    if len(elements) != robot.description.shapes:
        raise CollisionGeometryError(
            robot.root_link,
            '',
            f'the description holds {robot.description.shapes} <collision> elements, of which '
            f'{len(elements)} can be read; without the others no posture can be called free',
        )
    unplaced = _unplaced_links(robot)
    for element in elements:
        if element.remark:
            continue
        try:
            if element.link not in bodies.body_of:
                raise CollisionGeometryError(element.link, '', 'it is no link of the robot')
            _check_place(element.link, unplaced)
            shape = _shape(element, reader)
        except CollisionGeometryError as error:
            if not skip_faulty:
                raise
            left_out.setdefault(element.link, error.reason)
            continue
        body = bodies.body_of[element.link]
        T_body_link = bodies.T_body_link[element.link]
        solid = Solid(((shape, element.T_link_geometry),))
        solids[element.link] = (*solids.get(element.link, ()), solid)
        checked = element.link not in unchecked
        parts += solid.parts(element.link, LINK, body, T_body_link, checked)
    return tuple(parts), MappingProxyType(left_out), MappingProxyType(solids)


def _unplaced_links(robot: Robot) -> dict[str, str]:
    """Return the links of which the description does not say where they are, and why."""
    found: dict[str, str] = {}
    for joint in robot.joints.values():
        if not joint.placed:
            pending = [joint.child]
            while pending:
                link = pending.pop()
                found.setdefault(link, f'{named("joint", joint.name)} {joint.fault}')
                pending += [below.child for below in robot.child_joints_of(link)]
    return found


def _check_place(link: str, unplaced: Mapping[str, str]) -> None:
    if link in unplaced:
        raise CollisionGeometryError(link, '', unplaced[link])


def _shape(element: CollisionGeometry, reader: MeshReader) -> Shape:
    geometry = element.geometry
    if geometry is None:
        raise CollisionGeometryError(element.link, '', element.fault)
    if isinstance(geometry, BoxElement):
        return Box(geometry.size)
    if isinstance(geometry, CapsuleElement):
        return Capsule(geometry.radius, geometry.length)
    if isinstance(geometry, CylinderElement):
        return Cylinder(geometry.radius, geometry.length)
    if isinstance(geometry, MeshFile):
        try:
            return reader.read(geometry)
        except MeshError as error:
            raise CollisionGeometryError(element.link, geometry.filename, str(error)) from error
    return Sphere(geometry.radius)
