"""Known world of a node, as MoveIt has it: its topics and services, and the monitored scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
import operator
import time

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, PlanningScene
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.exceptions import IkServiceError
from ik_service.ros.capabilities.capability import Capability, NodeParts
from ik_service.ros.common.cdr import read_message
from ik_service.ros.common.input_topics import InputTopic
from ik_service.ros.common.publishers import listener_ids
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.markers.world_markers import WorldMarkerPublisher
from ik_service.ros.requests.service_handler import ServiceHandler
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.known_world import KnownWorld
from ik_service.ros.scene.scene_changes import apply_scene
from ik_service.ros.scene.scene_messages import ALL, KnownScene


def known_scene(collisions: CollisionWorld, measured: MeasuredState) -> KnownScene:
    """Return the known scene at this moment."""
    world, records, settings = collisions.known.snapshot()
    checker = collisions.prepared_checker(measured.arm)
    return KnownScene(measured, world, records, settings, checker)


class ApplySceneHandler(ServiceHandler):
    """
    Handler of ``apply_planning_scene``.

    A scene is taken as a whole or not at all, and every request that follows the answer sees it.
    The answer has no field for a reason, which is logged.
    """

    def _answer(
        self,
        request: ApplyPlanningScene.Request,
        measured: MeasuredState,
        response: ApplyPlanningScene.Response,
    ) -> str:
        try:
            remarks = self._collisions.known.edit(partial(apply_scene, request.scene), measured)
        except IkServiceError as error:
            self.statistics.refuse(str(error))
            self._on_refused(f'the scene is not taken: {error}')
            return 'refused'
        for remark in remarks:
            self._on_refused(remark)
        response.success = True
        return 'applied'


class GetSceneHandler(ServiceHandler):
    """Handler of ``get_planning_scene``."""

    def _answer(
        self,
        request: GetPlanningScene.Request,
        measured: MeasuredState,
        response: GetPlanningScene.Response,
    ) -> str:
        scene = known_scene(self._collisions, measured)
        stamp = self._clock.now().to_msg()
        response.scene = scene.message(request.components.components, stamp)
        return 'answered'


TOPIC = 'monitored_planning_scene'

_SHARE = 0.1  # of the time that may be spent on scenes, so that a large world is sent less often


class MonitoredScenePublisher:
    """
    Publisher of ``monitored_planning_scene``.

    A whole scene when the world has changed or somebody new listens; where only the arm has moved,
    its state as a difference.

    :ivar publisher: of the messages; :meth:`update` is called while somebody listens.
    """

    def __init__(self, node: Node, collisions: CollisionWorld) -> None:
        self._node, self._collisions = node, collisions
        self.publisher = node.create_publisher(PlanningScene, TOPIC, MARKERS_QOS)
        self._sent: tuple[object, ...] = ()
        self._posture = b''
        self._next = 0.0

    def update(self, measured: MeasuredState, anew: bool) -> None:
        """Publish changes; a whole scene `anew` where somebody has begun to listen."""
        if anew:
            self._sent = ()
        began = time.monotonic()
        if began < self._next:
            return
        known = self._collisions.known
        present = measured.arm, known.world, known.settings
        posture = measured.posture().tobytes()
        same = len(self._sent) == len(present) and all(map(operator.is_, self._sent, present))
        if same and posture == self._posture:
            return
        scene = known_scene(self._collisions, measured)
        stamp = self._node.get_clock().now().to_msg()
        if same:
            message = PlanningScene(is_diff=True, robot_state=scene.state(stamp, attached=False))
            message.robot_state.is_diff = True
        else:
            message = scene.message(ALL, stamp)
        self.publisher.publish(message)
        self._sent, self._posture = present, posture
        self._next = began + (time.monotonic() - began) / _SHARE


_DEPTH = 1000  # messages that may wait, as a scene is often published at once


class WorldTopics:
    """Subscriptions that change the known world; faulty messages are ignored and logged."""

    def __init__(
        self,
        node: Node,
        known: KnownWorld,
        measured: Callable[[], MeasuredState | None],
        on_error: Callable[[Exception], object] = lambda error: None,
    ) -> None:
        self._node, self._measured = node, measured
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
        self, kind: type, topic: str, name_of: Callable[..., str], take: Callable[..., list[str]]
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

        InputTopic(self._node, kind, topic, on_message, _DEPTH, self._group, raw=True)


_APPLY, _GET = 'apply_planning_scene', 'get_planning_scene'


class SceneCapability(Capability):
    """Topics and services that change and report the known world, and its markers."""

    def __init__(self, parts: NodeParts) -> None:
        node, measured, collisions = parts.node, parts.measured, parts.collisions
        warn = node.get_logger().warning
        remarks = FaultLogger(lambda text: warn(f'{_APPLY}: {text}'))
        applying = ApplySceneHandler(replace(parts.context(_APPLY), on_refused=remarks.report))
        getting = GetSceneHandler(parts.context(_GET))
        self.services = {_APPLY: (ApplyPlanningScene, applying), _GET: (GetPlanningScene, getting)}
        WorldTopics(node, collisions.known, measured, parts.on_error)
        self._measured, self._known = measured, collisions.known
        self._markers = WorldMarkerPublisher(node, collisions)
        self._listeners: dict[WorldMarkerPublisher | MonitoredScenePublisher, frozenset[bytes]] = {
            self._markers: frozenset(),
            MonitoredScenePublisher(node, collisions): frozenset(),
        }
        self._listening = partial(listener_ids, node)
        self._watches = parts.watches
        self._watches.add(self._watch)

    def end(self) -> None:
        """Delete the markers."""
        self._watches.discard(self._watch)
        self._markers.end()

    def _watch(self, _now: float) -> None:
        """Publish what has changed, to those who listen; notice that the arm has moved."""
        measured = self._measured()
        if measured is None:
            return
        if self._known.settings.posture is not None:
            self._known.drop_posture(measured)
        for published, before in self._listeners.items():
            self._listeners[published] = now = self._listening(published.publisher)
            if now:
                published.update(measured, anew=not now <= before)
