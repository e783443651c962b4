"""Topics ``collision_object``, ``attached_collision_object`` and ``planning_scene``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ik_service.arm.arm import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.cdr import read_message
from ik_service.ros.common.input_topics import InputTopic
from ik_service.ros.scene.known_world import KnownWorld
from ik_service.ros.scene.scene_changes import apply_scene

_DEPTH = 1000  # messages that may wait, as a scene is often published at once


class WorldTopics:
    """
    Subscriptions that change the known world; faulty messages are ignored and logged.

    :param node: the node that subscribes.
    :param known: the known world.
    :param measured: returns the measured state; None while there is no arm.
    :param on_error: called with an unexpected exception.
    :param wake: lets the executors notice a new subscription.
    """

    def __init__(
        self,
        node: Node,
        known: KnownWorld,
        measured: Callable[[], MeasuredState | None],
        on_error: Callable[[Exception], object] = lambda error: None,
        wake: Callable[[], object] = lambda: None,
    ) -> None:
        self._node, self._wake = node, wake
        self._measured = measured
        self._on_error = on_error
        self._ignored = FaultLogger(node.get_logger().warning)
        self._remarks = FaultLogger(node.get_logger().warning)
        self._group = MutuallyExclusiveCallbackGroup()  # changes come one after the other
        self._subscribe(
            CollisionObject, 'collision_object', lambda message: message.id, known.change
        )
        self._subscribe(
            AttachedCollisionObject,
            'attached_collision_object',
            lambda message: message.object.id,
            known.attach,
        )
        self._subscribe(
            PlanningScene,
            'planning_scene',
            lambda message: message.name,
            lambda message, measured: known.edit(partial(apply_scene, message), measured),
        )

    def _subscribe(
        self,
        kind: type,
        topic: str,
        name_of: Callable[..., str],
        take: Callable[..., list[str]],
    ) -> None:
        def on_message(data: bytes, _: Mapping[str, int]) -> None:
            name = ''
            try:
                message = read_message(data, kind)
                name = name_of(message)
                remarks = take(message, self._measured())
            except IkServiceError as error:
                self._ignored.report(f'{topic} {quote(name)} ignored: {error}')
            except Exception as error:  # of whatever reads the message
                self._on_error(error)
            else:
                self._ignored.clear()
                for remark in remarks:
                    self._remarks.report(f'{topic} {quote(name)}: {remark}')

        InputTopic(self._node, kind, topic, on_message, _DEPTH, self._group, self._wake, raw=True)
