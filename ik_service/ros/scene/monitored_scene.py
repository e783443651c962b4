"""Publication of the known world as ``monitored_planning_scene``, which RViz shows."""

from __future__ import annotations

from collections.abc import Callable
import time

from moveit_msgs.msg import PlanningScene
from rclpy.node import Node

from ik_service.arm.arm import MeasuredState
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.scene_messages import ALL
from ik_service.ros.scene.scene_services import known_scene

TOPIC = 'monitored_planning_scene'

_SHARE = 0.1  # of the time that may be spent on scenes, so that a large world is sent less often


class MonitoredScenePublisher:
    """
    Publisher of ``monitored_planning_scene``.

    A whole scene when the world has changed or somebody new listens; where only the arm has moved,
    its state as a difference. While nobody listens it only notices that the arm moves.

    :param node: the node that publishes.
    :param measured: returns the measured state of the arm; None before there is one.
    :param collisions: the known world, and the checker of collisions.
    :param clock: returns the time by which the share of the work is bounded [s].
    """

    def __init__(
        self,
        node: Node,
        measured: Callable[[], MeasuredState | None],
        collisions: CollisionWorld,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node, self._measured, self._collisions = node, measured, collisions
        self._clock = clock
        self._publisher = node.create_publisher(PlanningScene, TOPIC, MARKERS_QOS)
        self._subscribers = 0
        self._sent: tuple[object, ...] = ()
        self._posture = b''
        self._next = 0.0

    def update(self, _now: float) -> None:
        """Publish what has changed."""
        subscribers = self._publisher.get_subscription_count()
        if subscribers > self._subscribers:
            self._sent = ()
        self._subscribers = subscribers
        measured, began = self._measured(), self._clock()
        if measured is not None:
            self._collisions.known.drop_posture(measured)
        if not subscribers or measured is None or began < self._next:
            return
        known = self._collisions.known
        present = measured.arm, known.world, known.settings
        posture = measured.posture().tobytes()
        if len(self._sent) == len(present) and all(
            a is b for a, b in zip(self._sent, present, strict=True)
        ):
            if posture == self._posture:
                return
            self._publish(measured, whole=False)
        else:
            self._publish(measured, whole=True)
        self._sent, self._posture = present, posture
        self._next = began + (self._clock() - began) / _SHARE

    def _publish(self, measured: MeasuredState, whole: bool) -> None:
        scene = known_scene(self._collisions, measured)
        stamp = self._node.get_clock().now().to_msg()
        if whole:
            message = scene.message(ALL, stamp)
        else:
            message = PlanningScene(is_diff=True, robot_state=scene.state(stamp, attached=False))
            message.robot_state.is_diff = True
        self._publisher.publish(message)
