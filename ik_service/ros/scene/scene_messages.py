"""The known world as messages of a scene, which can be applied again and change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, TransformStamped, Vector3
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    ObjectColor,
    PlanningScene,
    PlanningSceneComponents,
    RobotState,
)
import numpy as np
from shape_msgs.msg import Mesh as MeshMessage
from shape_msgs.msg import MeshTriangle, SolidPrimitive
from shape_msgs.msg import Plane as PlaneMessage
from std_msgs.msg import ColorRGBA

from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.checked_robot import given_pairs, RigidBodies
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.shapes import Cone, Mesh, PlacedShape, Plane, Shape
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.exceptions import CollisionObjectError
from ik_service.model.geometry.link_geometry import read_collision_geometry
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.robot import Robot
from ik_service.ros.common.conversions import pose_from_matrix, write_solution
from ik_service.ros.scene.world_draft import NO_RECORD, Record, SceneSettings

ALL = (1 << 10) - 1  # every component of a scene
_C = PlanningSceneComponents


@dataclass(frozen=True)
class KnownScene:
    """
    Known scene at one moment.

    :ivar world: the objects, and the pairs that may touch.
    :ivar records: further data of the objects, by name.
    """

    measured: MeasuredState
    world: World
    records: Mapping[str, Record]
    settings: SceneSettings
    checker: CollisionChecker | None

    def message(self, components: int, stamp: Time) -> PlanningScene:
        """
        Return the scene as a message; a whole one with all components.

        :param components: which are asked for, as bits of ``PlanningSceneComponents``; 0 for all.
        """
        wanted = components or ALL
        scene = PlanningScene()
        if wanted & _C.SCENE_SETTINGS:
            scene.name = self.settings.name
            scene.robot_model_name = self.measured.arm.robot.name
        if wanted & (_C.ROBOT_STATE | _C.ROBOT_STATE_ATTACHED_OBJECTS):
            attached = bool(wanted & _C.ROBOT_STATE_ATTACHED_OBJECTS)
            scene.robot_state = self.state(stamp, attached)
        if wanted & _C.TRANSFORMS:
            scene.fixed_frame_transforms = self._transforms(stamp)
        if wanted & _C.ALLOWED_COLLISION_MATRIX:
            scene.allowed_collision_matrix = self.matrix()
        if wanted & _C.LINK_PADDING_AND_SCALING:
            padding, scale = self.world.padding.padding, self.world.padding.scale
            scene.link_padding = [
                LinkPadding(link_name=link, padding=padding.get(link, 0.0)) for link in self._links
            ]
            scene.link_scale = [
                LinkScale(link_name=link, scale=scale.get(link, 1.0)) for link in self._links
            ]
        if wanted & _C.OBJECT_COLORS:
            scene.object_colors = [
                ObjectColor(id=name, color=ColorRGBA(r=r, g=g, b=b, a=a))
                for name, (r, g, b, a) in self.world.colors.items()
            ]
        if wanted & (_C.WORLD_OBJECT_NAMES | _C.WORLD_OBJECT_GEOMETRY):
            shapes = bool(wanted & _C.WORLD_OBJECT_GEOMETRY)
            scene.world.collision_objects = [
                self._object(body, shapes) for body in self.world.objects.values()
            ]
        return scene

    def state(self, stamp: Time, attached: bool = True) -> RobotState:
        """Return the state of the robot in the scene, with its attached objects or without."""
        state, arm = RobotState(), self.measured.arm
        write_solution(state, arm, self.settings.posture_of(self.measured), stamp)
        if attached:
            state.attached_collision_objects = [
                self._attached(held) for held in self.world.attached.values()
            ]
        return state

    def matrix(self) -> AllowedCollisionMatrix:
        """Return which bodies may touch, with the pairs that the robot itself disables."""
        allowed, robot = self.world.allowed, self.measured.arm.robot
        names = [*dict.fromkeys((*self._links, *allowed.names))]
        table = allowed.resolved(names, _own_pairs(robot, names, self.checker))
        np.fill_diagonal(table, False)  # as MoveIt has it; nothing touches itself
        unchecked = dict.fromkeys(robot.semantics.unchecked_links, True)
        defaults = {**unchecked, **allowed.defaults}
        return AllowedCollisionMatrix(
            entry_names=names,
            entry_values=[AllowedCollisionEntry(enabled=row) for row in table.tolist()],
            default_entry_names=[*defaults],
            default_entry_values=[*defaults.values()],
        )

    @cached_property
    def _links(self) -> tuple[str, ...]:
        """The links that have collision geometry, or are named with padding or scale."""
        parts = read_collision_geometry(self.measured.arm.robot.description)
        padding = self.world.padding
        named = (*(part.link for part in parts), *padding.padding, *padding.scale)
        return tuple(dict.fromkeys(named))

    def _transforms(self, stamp: Time) -> list[TransformStamped]:
        messages = []
        for frame, T in self.settings.fixed.items():
            message = TransformStamped(child_frame_id=frame)
            message.header.frame_id, message.header.stamp = self.measured.arm.root_link, stamp
            pose = pose_from_matrix(T)
            at = pose.position
            message.transform.translation = Vector3(x=at.x, y=at.y, z=at.z)
            message.transform.rotation = pose.orientation
            messages.append(message)
        return messages

    def _object(self, body: WorldObject, shapes: bool) -> CollisionObject:
        record = self.records.get(body.name, NO_RECORD)
        if not shapes:
            message = CollisionObject(id=body.name, operation=CollisionObject.ADD)
            message.type.key, message.type.db = record.kind
            return message
        frame, T = record.anchor or (self.measured.arm.root_link, body.pose)
        return _object_message(body, frame, T, record)

    def _attached(self, held: AttachedObject) -> AttachedCollisionObject:
        record = self.records.get(held.name, NO_RECORD)
        return AttachedCollisionObject(
            link_name=held.link,
            object=_object_message(held, held.link, held.pose, record),
            touch_links=[*held.touch_links],
        )


def _object_message(
    body: WorldObject | AttachedObject, frame: str, T: np.ndarray, record: Record
) -> CollisionObject:
    message = CollisionObject(id=body.name, pose=pose_from_matrix(T))
    message.header.frame_id = frame
    message.type.key, message.type.db = record.kind
    if len(body.shapes) == 1 and np.array_equal(T, np.eye(4)):
        # Who reads it takes the pose of the only shape for that of the object, if this is not set.
        message.pose.orientation.w = -1.0
    _write_shapes(message, body.shapes, body.name)
    message.subframe_names = [*record.subframes]
    message.subframe_poses = [pose_from_matrix(T) for T in record.subframes.values()]
    return message


def _write_shapes(message: CollisionObject, shapes: tuple[PlacedShape, ...], name: str) -> None:
    for shape, T in shapes:
        pose = pose_from_matrix(T)
        if isinstance(shape, Mesh):
            message.meshes.append(_mesh_message(shape))
            message.mesh_poses.append(pose)
        elif isinstance(shape, Plane):
            message.planes.append(PlaneMessage(coef=[*shape.coefficients]))
            message.plane_poses.append(pose)
        else:
            message.primitives.append(_primitive(shape, name))
            message.primitive_poses.append(pose)


def _primitive(shape: Shape, name: str) -> SolidPrimitive:
    if isinstance(shape, Box):
        return SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[*shape.size])
    if isinstance(shape, Sphere):
        return SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[shape.radius])
    if isinstance(shape, (Cylinder, Cone)):
        kind = SolidPrimitive.CONE if isinstance(shape, Cone) else SolidPrimitive.CYLINDER
        return SolidPrimitive(type=kind, dimensions=[shape.height, shape.radius])
    raise CollisionObjectError(name, 'shapes', f'a {type(shape).__name__} has no message')


def _mesh_message(mesh: Mesh) -> MeshMessage:
    return MeshMessage(
        vertices=[Point(x=x, y=y, z=z) for x, y, z in mesh.vertices.tolist()],
        triangles=[MeshTriangle(vertex_indices=corner) for corner in mesh.triangles.tolist()],
    )


def _own_pairs(robot: Robot, names: Sequence[str], checker: CollisionChecker | None) -> np.ndarray:
    """
    Return which pairs of bodies are not checked where no matrix says anything about them.

    :param checker: its checker; without one the pairs of the SRDF count.
    :returns: (n, n) bool; True on the diagonal and for links that no joint moves against each
        other.
    """
    semantics = robot.semantics
    pairs = checker.disabled_pairs if checker else given_pairs(semantics, robot.links) or {}
    body_of = RigidBodies(robot, robot.independent_joint_names).body_of
    table = np.eye(len(names), dtype=bool)
    for i, name in enumerate(names):
        if name in semantics.unchecked_links:
            table[i, :] = table[:, i] = True
    for i, j in combinations(range(len(names)), 2):
        a, b = names[i], names[j]
        if a in body_of and b in body_of:
            same = body_of[a] == body_of[b]
            table[i, j] = table[j, i] = same or frozenset((a, b)) in pairs
    return table
