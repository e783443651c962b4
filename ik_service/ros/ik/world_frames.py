"""Objects of the world as frames, from the topic ``collision_object``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from geometry_msgs.msg import Pose
from moveit_msgs.msg import CollisionObject
import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ik_service.arm.arm import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.frames import FrameResolver, Frames

TOPIC = 'collision_object'
_DEPTH = 100
_MOST_SUBFRAMES = 100  # of an object
_IDENTITY = Pose()


class WorldFrames:
    """
    Frames of the objects of the world and of their subframes, as ``object/subframe``.

    An object stays where it was put: a link in whose frame it is given counts where it is measured
    to be at that moment. Its shapes are not looked at. A faulty message is ignored and logged.

    :param node: the node that subscribes.
    :param frames: frames of requests, to which those of objects are added.
    :param measured: returns the measured state; None while there is no arm.
    """

    def __init__(
        self, node: Node, frames: Frames, measured: Callable[[], MeasuredState | None]
    ) -> None:
        self._frames = frames
        self._measured = measured
        self._ignored = FaultLogger(node.get_logger().warning)
        self._names: dict[str, list[str]] = {}
        node.create_subscription(
            CollisionObject,
            TOPIC,
            self._on_object,
            _DEPTH,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )

    def _on_object(self, message: CollisionObject) -> None:
        try:
            self._take(message)
        except IkServiceError as error:
            self._ignored.report(f'{TOPIC} {quote(message.id)} ignored: {error}')
            return
        self._ignored.clear()

    def _take(self, message: CollisionObject) -> None:
        operation = message.operation
        if operation == CollisionObject.REMOVE:
            for name in [message.id] if message.id else list(self._names):
                self._remove(name)
        elif operation not in _OPERATIONS:
            raise ArgumentError('operation', 'has to be ADD, REMOVE, APPEND or MOVE')
        elif operation == CollisionObject.MOVE and message.id not in self._names:
            raise ArgumentError('id', 'names no object that could be moved')
        elif operation != CollisionObject.APPEND or message.id not in self._names:
            self._put(message)

    def _put(self, message: CollisionObject) -> None:
        """Register the frame of an object, and those of its subframes unless it only moves."""
        T = matrix_from_pose(_pose_of(message), 'pose')
        subframes = list(_subframes(message))
        parent, T_parent_object = self._placed(message.header.frame_id, T)
        self._frames.register(message.id, parent, T_parent_object)
        if message.operation != CollisionObject.MOVE:
            for name in self._names.pop(message.id, ()):
                self._frames.remove(name)
        names = self._names.setdefault(message.id, [])
        for name, T_object_subframe in subframes:
            self._frames.register(name, message.id, T_object_subframe)
            names.append(name)

    def _placed(self, frame_id: str, T: np.ndarray) -> tuple[str, np.ndarray]:
        """Return the frame in which an object stays, and its pose there."""
        measured, frame = self._measured(), frame_id.lstrip('/')
        if not frame:
            return '', T
        if measured is None:
            raise ArgumentError('frame_id', 'cannot be looked up, as there is no robot yet')
        resolver = FrameResolver(measured, measured.posture(), self._frames)
        if not measured.arm.has_link(frame):
            resolver.frame_from_root(frame)  # refuses one that is not known
            return frame, T
        return '', resolver.in_base(measured.arm.root_link, frame, T)

    def _remove(self, name: str) -> None:
        for registered in (*self._names.pop(name, ()), name):
            self._frames.remove(registered)


_OPERATIONS = (CollisionObject.ADD, CollisionObject.APPEND, CollisionObject.MOVE)


def _pose_of(message: CollisionObject) -> Pose:
    """Return the pose of an object: that of its only shape where it has none of its own."""
    shapes = [*message.primitive_poses, *message.mesh_poses, *message.plane_poses]
    if len(shapes) == 1 and message.pose == _IDENTITY:
        return shapes[0]
    return message.pose


def _subframes(message: CollisionObject) -> Iterator[tuple[str, np.ndarray]]:
    """Yield names and poses of the subframes of an object."""
    names, poses = message.subframe_names, message.subframe_poses
    if len(names) != len(poses) or len(names) > _MOST_SUBFRAMES:
        raise ArgumentError(
            'subframe_names',
            f'are {len(names)}, and subframe_poses {len(poses)}; they have to be as many, and at '
            f'most {_MOST_SUBFRAMES}',
        )
    for name, pose in zip(names, poses, strict=True):
        yield f'{message.id}/{name}', matrix_from_pose(pose, f'subframe {quote(name)}')
