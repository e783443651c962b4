"""Handlers of the services ``apply_planning_scene`` and ``get_planning_scene``."""

from __future__ import annotations

from functools import partial

from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene

from ik_service.arm.arm import MeasuredState
from ik_service.exceptions import IkServiceError
from ik_service.ros.requests.service_handler import require_arm, WorldHandler
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.scene_changes import apply_scene
from ik_service.ros.scene.scene_messages import KnownScene


def known_scene(collisions: CollisionWorld, measured: MeasuredState) -> KnownScene:
    """
    Return what is known at this moment.

    :param collisions: the known world, and the checker of collisions.
    :param measured: the measured state.
    """
    world, records, settings = collisions.known.snapshot()
    checker = collisions.prepared_checker(measured.arm)
    return KnownScene(measured, world, records, settings, checker)


class ApplySceneHandler(WorldHandler):
    """
    Handler of ``apply_planning_scene``.

    A scene is taken as a whole or not at all, and every request that follows the answer sees it.
    The answer has no field for a reason, which is logged.

    Its parameters are those of :class:`~ik_service.ros.requests.service_handler.WorldHandler`.
    """

    def handle(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> ApplyPlanningScene.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """
        response.success = False
        try:
            measured = require_arm(self.measured)
            change = partial(apply_scene, request.scene)
            for remark in self._collisions.known.edit(change, measured):
                self._on_refused(remark)
            response.success, outcome = True, 'applied'
        except Exception as error:
            outcome = self._refused(error)
        self.statistics.add(outcome)
        return response

    def _refused(self, error: Exception) -> str:
        """Report why a scene is not taken; return the outcome for the statistics."""
        if isinstance(error, IkServiceError):
            self.statistics.refuse(str(error))
            self._on_refused(f'the scene is not taken: {error}')
            return 'refused'
        return self._code_and_message(error)[0].name


class GetSceneHandler(WorldHandler):
    """
    Handler of ``get_planning_scene``.

    Its parameters are those of :class:`~ik_service.ros.requests.service_handler.WorldHandler`.
    """

    def handle(
        self, request: GetPlanningScene.Request, response: GetPlanningScene.Response
    ) -> GetPlanningScene.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """
        try:
            scene = known_scene(self._collisions, require_arm(self.measured))
            stamp = self._clock.now().to_msg()
            response.scene = scene.message(request.components.components, stamp)
            outcome = 'answered'
        except Exception as error:
            outcome = self._code_and_message(error)[0].name
        self.statistics.add(outcome)
        return response
