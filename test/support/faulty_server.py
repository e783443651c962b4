"""A compute_ik and compute_fk server inside the test, right but for defects that can be chosen."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
import itertools
import threading

from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetPlanningScene,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
)
import rclpy
from rclpy.executors import SingleThreadedExecutor

from ik_service.extras.conformance.connection import Connection
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.scene.scene_services import ApplySceneHandler, GetSceneHandler
from support.arm_helpers import FixedClock, Server

_numbers = itertools.count(1)


class SilenceError(Exception):
    """Request that is not to be answered."""


class FaultyServer:
    """
    Right handlers, with a defect between them and their clients.

    ``defect(ik, request)`` answers a request of compute_ik with the help of ``ik``, which answers
    rightly; ``defect_fk`` likewise. It may raise :class:`SilenceError`.
    """

    def __init__(self, context, arm, namespace):
        self._handlers = Server(arm)
        self.defect = lambda ik, request: ik(request)
        self.defect_fk = lambda fk, request: fk(request)
        self.node = rclpy.create_node('faulty_server', context=context, namespace=namespace)
        self.services = [
            self.node.create_service(
                GetPositionIK, 'compute_ik', self._ik, qos_profile=SERVICE_QOS
            ),
            self.node.create_service(
                GetPositionFK, 'compute_fk', self._fk, qos_profile=SERVICE_QOS
            ),
        ]

    def check_validity(self, valid):
        """Offer check_state_validity; ``valid(request)`` returns the verdict and the contacts."""

        def answer(request, response):
            response.valid, response.contacts = valid(request)
            return response

        service = self.node.create_service(GetStateValidity, 'check_state_validity', answer)
        self.services.append(service)

    def plan_paths(self, defect=lambda plan, request: plan(request)):
        """Offer compute_cartesian_path; ``defect(plan, request)`` answers."""

        def answer(request, response):
            return defect(self._handlers.plan, request)

        service = self.node.create_service(
            GetCartesianPath, 'compute_cartesian_path', answer, qos_profile=SERVICE_QOS
        )
        self.services.append(service)

    def serve_scenes(
        self,
        defect_apply=lambda apply, request: apply(request),
        defect_get=lambda get, request: get(request),
    ):
        """Check collisions, and offer the services of scenes; defects as of the others."""
        self._handlers.check_collisions()
        around = FixedClock(), self._handlers.frames, print, print, self._handlers.collisions
        applying, getting = ApplySceneHandler(*around), GetSceneHandler(*around)
        applying.measured = getting.measured = self._handlers.measured

        def apply(request):
            return applying.handle(request, ApplyPlanningScene.Response())

        def get(request):
            return getting.handle(request, GetPlanningScene.Response())

        for kind, name, defect, answer in (
            (ApplyPlanningScene, 'apply_planning_scene', defect_apply, apply),
            (GetPlanningScene, 'get_planning_scene', defect_get, get),
        ):
            on_request = partial(_with_defect, defect, answer)
            self.services.append(
                self.node.create_service(kind, name, on_request, qos_profile=SERVICE_QOS)
            )

    def vanish(self):
        for service in self.services:
            self.node.destroy_service(service)
        self.services = []

    def _ik(self, request, response):
        return self.defect(self._handlers.solve, request)

    def _fk(self, request, response):
        return self.defect_fk(self._handlers.place, request)


def _with_defect(defect, answer, request, response):
    return defect(answer, request)


@contextmanager
def faulty_server(context, arm, patience, namespace=None):
    """A :class:`FaultyServer` and a :class:`Connection` to it, both of which spin."""
    namespace = namespace or f'/faulty_{next(_numbers)}'
    server = FaultyServer(context, arm, namespace)
    client = rclpy.create_node('conformance_client', context=context, namespace=namespace)
    executors = []
    for node in (server.node, client):
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        executors.append(executor)
    ended = threading.Event()

    def spin(executor):
        while not ended.is_set():
            with suppress(SilenceError):
                executor.spin_once(0.05)

    threads = [threading.Thread(target=spin, args=(executor,)) for executor in executors]
    for thread in threads:
        thread.start()
    try:
        yield server, Connection(client, patience)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for executor in executors:
            executor.shutdown()
        for node in (server.node, client):
            node.destroy_node()
