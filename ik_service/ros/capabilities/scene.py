"""Known world of a node: its topics and services, the monitored scene, and markers."""

from __future__ import annotations

from dataclasses import replace

from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene

from ik_service.common.fault_logger import FaultLogger
from ik_service.ros.capabilities.capability import Capability, NodeParts
from ik_service.ros.markers.world_markers import WorldMarkerPublisher
from ik_service.ros.services.planning_scene import (
    ApplySceneHandler,
    GetSceneHandler,
    MonitoredScenePublisher,
    WorldTopics,
)

_APPLY, _GET = 'apply_planning_scene', 'get_planning_scene'


class SceneCapability(Capability):
    """
    Topics and services that change and report the known world, and its markers.

    :param parts: the parts of the node.
    """

    def __init__(self, parts: NodeParts) -> None:
        node, measured, collisions = parts.node, parts.measured, parts.collisions
        warn = node.get_logger().warning
        remarks = FaultLogger(lambda text: warn(f'{_APPLY}: {text}'))
        applying = ApplySceneHandler(replace(parts.context(_APPLY), on_refused=remarks.report))
        getting = GetSceneHandler(parts.context(_GET))
        self.services = {_APPLY: (ApplyPlanningScene, applying), _GET: (GetPlanningScene, getting)}
        WorldTopics(node, collisions.known, measured, parts.on_error, parts.wake)
        self._measured, self._known = measured, collisions.known
        self._listeners: dict[WorldMarkerPublisher | MonitoredScenePublisher, int] = {
            WorldMarkerPublisher(node, collisions): 0,
            MonitoredScenePublisher(node, collisions): 0,
        }
        parts.watches.add(self._watch)

    def _watch(self, _now: float) -> None:
        """Publish what has changed, to those who listen; notice that the arm has moved."""
        measured = self._measured()
        if measured is None:
            return
        if self._known.settings.posture is not None:
            self._known.drop_posture(measured)
        for published, before in self._listeners.items():
            self._listeners[published] = now = published.publisher.get_subscription_count()
            if now:
                published.update(measured, anew=now > before)
