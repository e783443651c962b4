"""Changes of a world by messages of MoveIt: add, append, move and remove, attach and detach."""

from __future__ import annotations

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.collision.part import Solid
from ik_service.collision.shapes import PlacedShape
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.quoting import quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, UnknownLinkError, UnknownObjectError
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.object_messages import (
    has_pose,
    moved_shape_poses,
    object_of,
    object_pose,
    shapes_of,
)


class Placing:
    """
    Poses of frames in those of links.

    :param arm: the arm; None before there is one, when only the root link's frame is known.
    :param posture: (m,) its full posture [rad] or [m]; joints that mimic others follow them.
    """

    def __init__(self, arm: Arm | None, posture: np.ndarray, frames: Frames) -> None:
        self._arm = arm
        self._posture = arm.postures.complete(posture.copy()) if arm else posture
        self._frames = frames

    def in_root(self, frame_id: str, T: np.ndarray) -> np.ndarray:
        """
        Return a pose that is given in some frame in that of the root link.

        :param frame_id: the frame: empty for the root link, a link, an object, or one of tf.
        :param T: (4, 4) T_frame_pose [m].
        :returns: (4, 4) T_root_pose [m].
        :raises RequestError: there is no such frame.
        :raises ArgumentError: there is no arm yet.
        """
        return T if not frame_id.lstrip('/') else self.in_link('', frame_id, T)

    def in_link(self, link: str, frame_id: str, T: np.ndarray) -> np.ndarray:
        """
        Return a pose that is given in some frame in that of a link.

        :param link: the link; empty for the root link.
        :param frame_id: the frame, and T, the pose in it: as for :meth:`in_root`.
        :returns: (4, 4) T_link_pose [m].
        :raises RequestError: there is no such frame.
        :raises UnknownLinkError: there is no such link.
        :raises ArgumentError: there is no arm yet.
        """
        if self._arm is None:
            raise ArgumentError('frame_id', 'cannot be looked up, as there is no robot yet')
        near, T_near_frame = self._frames.locate(self._arm, frame_id.lstrip('/'))
        return self._between(link or self._arm.root_link, near) @ T_near_frame @ T

    def check_link(self, link: str) -> None:
        """Refuse a link that there is not, by an UnknownLinkError, or any without an arm."""
        if self._arm is None:
            raise ArgumentError('link_name', 'cannot be looked up, as there is no robot yet')
        if not self._arm.has_link(link):
            raise UnknownLinkError(link, self._arm.robot.links)

    def check_name(self, name: str) -> None:
        """Refuse a name of an object that is that of a link, by an ArgumentError."""
        if self._arm is not None and self._arm.has_link(name):
            raise ArgumentError('id', 'is the name of a link of the robot')

    def _between(self, link: str, other: str) -> np.ndarray:
        """Return (4, 4) T_link_other, without rounding where the two are one rigid body."""
        assert self._arm is not None
        frames = self._arm.link_frames
        fixed = frames.beside(link).get(other)
        if fixed is not None:
            return fixed
        T_root_link = frames.root_from_link(link, self._posture)
        return inverse_transform(T_root_link) @ frames.root_from_link(other, self._posture)


ADD, REMOVE, APPEND, MOVE = (
    int.from_bytes(operation, 'little')
    for operation in (
        CollisionObject.ADD, CollisionObject.REMOVE, CollisionObject.APPEND, CollisionObject.MOVE,
    )
)  # fmt: skip
_OPERATIONS = f'{ADD} (ADD), {REMOVE} (REMOVE), {APPEND} (APPEND)'


def operation_of(message: CollisionObject) -> int:
    """Return the operation on an object; rclpy gives a byte as ``bytes``, our reader a number."""
    value = message.operation
    return int.from_bytes(value, 'little') if isinstance(value, bytes) else int(value)


def changed_world(world: World, message: CollisionObject, placing: Placing) -> World:
    """Return the world after a message of ``collision_object``; raises IkServiceError."""
    operation, name = operation_of(message), message.id
    if operation == REMOVE:
        if not name:
            return world.with_all({}, world.attached)
        _check_detached(world, name, 'REMOVE')
        return world.without(name)
    if operation == MOVE:
        return _moved(world, message, placing)
    if operation == APPEND and name in world.objects:
        old = world.objects[name]
        return world.with_object(old.with_shapes(_more_shapes(message, old.pose, '', placing)))
    if operation not in (ADD, APPEND):
        raise ArgumentError(
            'operation', f'is {operation}; it has to be {_OPERATIONS} or {MOVE} (MOVE)'
        )
    if name and message.header.frame_id.lstrip('/') == name:
        raise ArgumentError('frame_id', 'is the object itself, which can only be moved in it')
    T, shapes = object_of(message)
    pose = placing.in_root(message.header.frame_id, T)
    return world.with_object(WorldObject(name, shapes, pose))


def attached_world(world: World, message: AttachedCollisionObject, placing: Placing) -> World:
    """
    Return the world that a message of ``attached_collision_object`` makes of another.

    :param message: the message; of an object without shapes, one of the world is attached.
    :raises IkServiceError: the message is faulty, or does not go with the world.
    """
    operation, name = operation_of(message.object), message.object.id
    if operation == REMOVE:
        return _detached(world, message, placing)
    if operation not in (ADD, APPEND):
        raise ArgumentError(
            'object.operation', f'is {operation}; of an attached object it has to be {_OPERATIONS}'
        )
    placing.check_link(message.link_name)
    if operation == APPEND and name in world.attached:
        return world.with_attached(_appended(world.attached[name], message, placing))
    T, shapes = object_of(message.object)
    body: Solid | list[PlacedShape] = shapes
    if shapes:
        pose = placing.in_link(message.link_name, message.object.header.frame_id, T)
    elif name in world.objects:
        pose = placing.in_link(message.link_name, '', world.objects[name].pose)
        body = world.objects[name].solid
    else:
        reason = f'has no shapes, and the world has no object {quote(name)} to be attached'
        if name in world.attached:
            reason = f'is attached to {quote(world.attached[name].link)} already; detach it first'
        raise ArgumentError('object', reason)
    return world.with_attached(
        AttachedObject(name, body, message.link_name, message.touch_links, pose)
    )


def _check_detached(world: World, name: str, operation: str) -> None:
    if name in world.attached:
        raise ArgumentError(
            'operation',
            f'cannot be {operation} for an object that is attached to '
            f'{quote(world.attached[name].link)}; detach it first',
        )


def _moved(world: World, message: CollisionObject, placing: Placing) -> World:
    _check_detached(world, message.id, 'MOVE')
    old = world.objects.get(message.id)
    if old is None:
        raise UnknownObjectError(message.id, world.objects)
    pose = placing.in_root(message.header.frame_id, object_pose(message.pose))
    poses = moved_shape_poses(message, len(old.shapes))
    if not poses:
        return world.moved(message.id, pose)
    shapes = [(shape, T) for (shape, _), T in zip(old.shapes, poses, strict=True)]
    return world.with_object(WorldObject(message.id, shapes, pose))


def _appended(
    old: AttachedObject, message: AttachedCollisionObject, placing: Placing
) -> AttachedObject:
    if message.link_name != old.link:
        raise ArgumentError(
            'link_name',
            f'is {quote(message.link_name)}, but the object is attached to {quote(old.link)}',
        )
    shapes = (*old.shapes, *_more_shapes(message.object, old.pose, old.link, placing))
    touch_links = (*old.touch_links, *message.touch_links)
    return AttachedObject(old.name, shapes, old.link, tuple(dict.fromkeys(touch_links)), old.pose)


def _detached(world: World, message: AttachedCollisionObject, placing: Placing) -> World:
    """Put an attached object back into the world where it is; all of a link without a name."""
    name, link = message.object.id, message.link_name
    if name and name not in world.attached:
        raise UnknownObjectError(name, world.attached)
    if name and link and world.attached[name].link != link:
        raise ArgumentError(
            'link_name',
            f'is {quote(link)}, but the object is attached to {quote(world.attached[name].link)}',
        )
    leaving = [
        held
        for held in world.attached.values()
        if name in ('', held.name) and link in ('', held.link)
    ]
    objects = dict(world.objects)
    for held in leaving:
        pose = placing.in_root(held.link, held.pose)
        objects[held.name] = WorldObject(held.name, held.solid, pose)
    names = {held.name for held in leaving}
    kept = {k: held for k, held in world.attached.items() if k not in names}
    return world.with_all(objects, kept)


def _more_shapes(
    message: CollisionObject, T_link_old: np.ndarray, link: str, placing: Placing
) -> list[PlacedShape]:
    """Return the shapes that are appended to an object, in the frame of that object."""
    shapes = shapes_of(message)
    if not has_pose(message):
        return shapes
    frame, T = message.header.frame_id, object_pose(message.pose)
    T_link_new = placing.in_link(link, frame, T) if link else placing.in_root(frame, T)
    T_old_new = inverse_transform(T_link_old) @ T_link_new
    return [(shape, T_old_new @ T_object_shape) for shape, T_object_shape in shapes]
